"""torch._subclasses.functional_tensor: functional tensors under the names of PyTorch's Python classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import tree_map
from rushlight._torch_dispatch import functionalization
from rushlight._torch_dispatch.functionalization import FunctionalTensorWrapper as FunctionalTensor
from rushlight.utils._python_dispatch import without

__all__ = ["FunctionalTensor", "FunctionalTensorMode", "disable_functional_mode", "dispatch_functionalize"]


class FunctionalTensorMode:
    """A context in which tensors that are made are functional ones, and their views views.

    In a block of another one it changes nothing. RuntimeError where functionalization is on otherwise.
    """

    def __init__(
        self, pre_dispatch: bool = False, export: bool = False, _allow_token_discovery: bool = False
    ) -> None:
        self.pre_dispatch, self.export = pre_dispatch, export
        self._allow_token_discovery = _allow_token_discovery
        self._began: list[bool] = []

    def __enter__(self) -> FunctionalTensorMode:
        on = functionalization.LOCAL.mode
        begins = on is None or not on.of_class
        if begins:
            functionalization._enable_functionalization(reapply_views=True)
            setattr(functionalization.LOCAL.mode, "of_class", True)
        self._began.append(begins)
        return self

    def __exit__(self, *error: object) -> None:
        if self._began.pop():
            functionalization._disable_functionalization()


@contextmanager
def disable_functional_mode() -> Iterator[None]:
    """A context in which functionalization, if it is on, is not."""
    mode = functionalization.LOCAL.mode
    if mode is None:
        yield
        return
    functionalization.LOCAL.mode = None
    try:
        with without(mode):
            yield
    finally:
        functionalization.LOCAL.mode = mode


def dispatch_functionalize(func: Callable[..., Any], mode: Any = None) -> Callable[..., Any]:
    """func without writes inside: it runs on functional tensors, and gives plain ones. What it writes into
    its arguments stays in there.
    """

    def inner(*args: Any, **kwargs: Any) -> Any:
        with FunctionalTensorMode() if mode is None else mode:
            args, kwargs = tree_map(_wrapped, (args, kwargs))
            return tree_map(functionalization.inner, func(*args, **kwargs))

    return inner


def _wrapped(value: Any) -> Any:
    plain = isinstance(value, torch.Tensor) and not isinstance(value, FunctionalTensor)
    return FunctionalTensor.to_functional(value) if plain else value
