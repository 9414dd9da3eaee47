"""Modules under activation checkpointing, or whose saved tensors wait elsewhere
(torch.distributed.algorithms._checkpoint.checkpoint_wrapper).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from typing import Any

from rushlight import nn
from rushlight.autograd.graph import save_on_cpu
from rushlight.distributed.fsdp.wrap import _Policy, _recursive_wrap, auto_wrap, lambda_auto_wrap_policy
from rushlight.utils.checkpoint import checkpoint

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = _CHECKPOINT_WRAPPED_MODULE + "."


class CheckpointImpl(Enum):
    """Which of checkpoint's two ways."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(nn.Module, ABC):
    """A module around another one, whose parameters and state dict have the names that they had without
    it.
    """

    def __init__(self, mod: nn.Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(self._post_state_dict_hook)
        self.register_load_state_dict_pre_hook(self._pre_load_state_dict_hook)

    @abstractmethod
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module inside."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(_CHECKPOINT_WRAPPED_MODULE), name)

    def __getitem__(self, key: Any) -> Any:
        return getattr(self, _CHECKPOINT_WRAPPED_MODULE)[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """As Module's, without the wrapper in the names."""
        for name, param in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), param

    @staticmethod
    def _post_state_dict_hook(module: Any, state_dict: Any, prefix: str, *args: Any) -> Any:
        _renamed(state_dict, f"{prefix}{_CHECKPOINT_PREFIX}", prefix)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(module: Any, state_dict: Any, prefix: str, *args: Any) -> None:
        _renamed(state_dict, prefix, f"{prefix}{_CHECKPOINT_PREFIX}")


def _renamed(state_dict: Any, old: str, new: str) -> None:
    """Keys that begin with `old` begin with `new` afterwards."""
    if old == new:
        return
    for key in [*state_dict]:
        if key.startswith(old):
            state_dict[new + key[len(old) :]] = state_dict.pop(key)


class OffloadWrapper(ActivationWrapper):
    """What the module saves for backward is kept in memory of its own."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """The module is computed again in backward. checkpoint_fn: in place of
    torch.utils.checkpoint.checkpoint.
    """

    def __init__(
        self,
        mod: nn.Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            self.checkpoint_fn: Callable[..., Any] = partial(
                checkpoint, use_reentrant=checkpoint_impl is CheckpointImpl.REENTRANT, **checkpoint_fn_kwargs
            )
        else:
            self.checkpoint_fn = partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        module = self._checkpoint_wrapped_module
        if self.checkpoint_impl is not CheckpointImpl.REENTRANT or not kwargs:
            return self.checkpoint_fn(module, *args, **kwargs)
        # The reentrant way takes no keywords: they go behind the arguments and are named again inside.
        names, many = [*kwargs], len(args)

        def called(*given: Any) -> Any:
            return module(*given[:many], **dict(zip(names, given[many:], strict=True)))

        return self.checkpoint_fn(called, *args, *kwargs.values())


def offload_wrapper(module: nn.Module) -> nn.Module:
    """The module in an OffloadWrapper."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: nn.Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> nn.Module:
    """The module in a CheckpointWrapper."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def _all(module: Any) -> bool:
    return True


def apply_activation_checkpointing(
    model: nn.Module,
    checkpoint_wrapper_fn: Callable[..., Any] = checkpoint_wrapper,
    check_fn: Callable[[Any], bool] = _all,
    auto_wrap_policy: Any = None,
) -> None:
    """Wrap submodules of a model in place: those that `check_fn` or the policy says."""
    if isinstance(auto_wrap_policy, _Policy):
        auto_wrap(model, auto_wrap_policy, checkpoint_wrapper_fn, set(), {})
        return
    _recursive_wrap(
        model,
        auto_wrap_policy or partial(lambda_auto_wrap_policy, lambda_fn=check_fn),
        checkpoint_wrapper_fn,
        set(),
        set(),
        only_wrap_children=True,
    )
