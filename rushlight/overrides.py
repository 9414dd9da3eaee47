"""torch.overrides: classes and modes that take functions over by __torch_function__.

A mode sees the ops of the table, called as functions, methods or operators; methods that are no ops (`item`,
`to`, `detach`, ...) run as ever.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rushlight.dispatch import state
from rushlight.dispatch.overrides import ask, foreign, public
from rushlight.tensor.tensor import Tensor

__all__ = ["BaseTorchFunctionMode", "TorchFunctionMode", "handle_torch_function", "has_torch_function",
           "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like"]


class TorchFunctionMode(state.Interpreter):
    """Subclass with `__torch_function__(self, func, types, args=(), kwargs=None)`, which answers for every op
    inside of `with mode:`; what it calls itself goes to the next mode."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def run(self, row: Any, call: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """What the mode makes of an op."""
        types = tuple(map(type, foreign(args, kwargs)))
        return self.__torch_function__(public(row, call), types, args, kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """Whether a class among these, or a mode, takes functions over."""
    return any(isinstance(mode, TorchFunctionMode) for mode in state.STACK.modes) or bool(
        foreign(relevant_args, {}))


has_torch_function_unary = has_torch_function_variadic
has_torch_function: Callable[[Iterable[Any]], bool] = lambda args: has_torch_function_variadic(*args)  # noqa: E731


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any,
                          **kwargs: Any) -> Any:
    """Let the innermost mode, else the classes among `relevant_args` answer for the call; TypeError if none
    does."""
    classes, modes = foreign(tuple(relevant_args), {}), state.STACK.modes
    if modes and isinstance(mode := modes[-1], TorchFunctionMode):
        modes.pop()  # what the mode calls goes to the next one
        try:
            found = mode.__torch_function__(public_api, tuple(map(type, classes)), args, kwargs)
        finally:
            modes.append(mode)
        if found is not NotImplemented:
            return found
    return ask(public_api, None, classes, args, kwargs)


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or an object with __torch_function__."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")
