"""Which submodules become units of their own."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rushlight import nn


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Wraps every submodule."""
    return True


def lambda_auto_wrap_policy(
    module: Any, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[..., bool]
) -> bool:
    """Wraps modules of which `lambda_fn` is true."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Any, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type]
) -> bool:
    """Wraps modules of these classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def _or_policy(
    module: Any, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable[..., bool]]
) -> bool:
    """Wraps what any of the policies wraps."""
    return any(
        policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies
    )


def size_based_auto_wrap_policy(
    module: Any,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type] | None = None,
    exclude_wrap_modules: set[type] | None = None,
) -> bool:
    """Wraps modules that have `min_num_params` elements or more which no submodule's wrapper has."""
    leaves = {nn.MultiheadAttention} if force_leaf_modules is None else force_leaf_modules
    excluded = {nn.ModuleList, nn.ModuleDict} if exclude_wrap_modules is None else exclude_wrap_modules
    return nonwrapped_numel >= min_num_params and not isinstance(
        module, tuple(leaves if recurse else excluded)
    )


class _Policy(ABC):
    @abstractmethod
    def _run_policy(
        self, root_module: Any, ignored_modules: set[Any], root_kwargs: dict[str, Any]
    ) -> dict[Any, dict[str, Any]]:
        """The modules to wrap, each with the wrapper's options."""


class ModuleWrapPolicy(_Policy):
    """Wraps modules of these classes with the root's options."""

    def __init__(self, module_classes: Iterable[type]) -> None:
        self._module_classes = set(module_classes)

    def _run_policy(
        self, root_module: Any, ignored_modules: set[Any], root_kwargs: dict[str, Any]
    ) -> dict[Any, dict[str, Any]]:
        return {
            module: copy.copy(root_kwargs)
            for module in root_module.modules()
            if module not in ignored_modules and isinstance(module, tuple(self._module_classes))
        }

    def __call__(self, module: Any, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        """Whether to go into a module (`recurse`), or to wrap it: one of the classes."""
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes})"


class CustomPolicy(_Policy):
    """`lambda_fn(module)`: whether to wrap a module, or the options that differ from the root's."""

    def __init__(self, lambda_fn: Callable[[Any], Any]) -> None:
        self._lambda_fn = lambda_fn

    def _run_policy(
        self, root_module: Any, ignored_modules: set[Any], root_kwargs: dict[str, Any]
    ) -> dict[Any, dict[str, Any]]:
        found = {}
        for module in root_module.modules():
            answer = False if module in ignored_modules else self._lambda_fn(module)
            if not isinstance(answer, (dict, bool)):
                raise ValueError(
                    "The lambda_fn passed to CustomPolicy should return False/True or a kwarg "
                    f"dict, but it returned {answer}"
                )
            if answer:
                found[module] = {**root_kwargs, **(answer if isinstance(answer, dict) else {})}
        return found


def auto_wrap(
    root: Any, policy: Any, wrapper_cls: Callable[..., Any], ignored: set[Any], kwargs: dict[str, Any]
) -> None:
    """Wrap submodules of `root`, not itself, inner ones first; ValueError where one is wrapped already."""
    for name, module in root.named_modules():
        if isinstance(wrapper_cls, type) and isinstance(module, wrapper_cls):
            raise ValueError(
                "FSDP auto wrapping requires modules to not already have FSDP applied but found "
                f"{name} in\n{root}"
            )
    if not isinstance(policy, _Policy):
        _recursive_wrap(root, policy, wrapper_cls, ignored, set(), only_wrap_children=True, **kwargs)
        return
    chosen = policy._run_policy(root, ignored, kwargs)
    places = [(parent, name, child) for parent in root.modules() for name, child in parent.named_children()]
    for parent, name, child in reversed(places):
        if child in chosen:
            setattr(parent, name, wrapper_cls(child, **chosen[child]))


def _recursive_wrap(
    module: Any,
    auto_wrap_policy: Callable[..., bool],
    wrapper_cls: Callable[..., Any],
    ignored_modules: set[Any],
    ignored_params: set[Any],
    only_wrap_children: bool = False,
    **kwargs: Any,
) -> tuple[Any, int]:
    """(the module, wrapped where the policy says so; how many elements are wrapped in it)."""
    numel = sum(p.numel() for p in module.parameters() if p not in ignored_params)
    if not auto_wrap_policy(module=module, recurse=True, nonwrapped_numel=numel):
        return module, 0
    done = 0
    for name, child in module.named_children():
        if child not in ignored_modules:
            wrapped, count = _recursive_wrap(
                child, auto_wrap_policy, wrapper_cls, ignored_modules, ignored_params, **kwargs
            )
            setattr(module, name, wrapped)
            done += count
    if not only_wrap_children and auto_wrap_policy(
        module=module, recurse=False, nonwrapped_numel=numel - done
    ):
        return wrapper_cls(module, **kwargs), numel
    return module, done


_contexts: list[tuple[Callable[..., Any], dict[str, Any]]] = []


@contextmanager
def enable_wrap(*, wrapper_cls: Callable[..., Any], **wrapper_kwargs: Any) -> Iterator[None]:
    """In this context wrap() wraps, with these options. Contexts do not nest: NotImplementedError."""
    if _contexts:
        raise NotImplementedError(
            "You are already within an autowrap context and we currently do not supported nested autowrap."
        )
    _contexts.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _contexts.pop()


def wrap(module: Any, **wrap_overrides: Any) -> Any:
    """`module` wrapped as enable_wrap() says; outside of it, the module itself."""
    if not _contexts:
        return module
    wrapper_cls, kwargs = _contexts[0]
    return wrapper_cls(module, **{**kwargs, **wrap_overrides})
