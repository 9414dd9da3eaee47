"""torch._custom_ops: ops by their names, and functions registered apart; torch.library is newer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight._custom_op.impl import (
    _custom_op_with_schema,
    _find_custom_op,
    checked_function,
    infer_schema,
    parse_qualname,
    validate_namespace,
)
from rushlight.library import get_ctx as get_ctx, register_fake

__all__ = ["custom_op", "get_ctx", "impl", "impl_abstract", "impl_backward", "impl_save_for_backward"]


def custom_op(qualname: str, func_or_schema: Callable[..., Any] | str | None = None) -> Any:
    """Define an op by a signature, or by that of a function, which is not called; a decorator without one."""
    validate_namespace(parse_qualname(qualname)[0])

    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        checked_function(func, qualname)
        _custom_op_with_schema(qualname, infer_schema(func, mutates_args=()))
        return func

    if func_or_schema is None:
        return inner
    if isinstance(func_or_schema, str):
        _custom_op_with_schema(qualname, func_or_schema)
        return None
    return inner(func_or_schema)


def impl(
    qualname: str, *, device_types: Any = ("cpu", "cuda"), func: Callable[..., Any] | None = None
) -> Any:
    """func computes the op for tensors of these devices; a decorator without func."""

    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        _find_custom_op(qualname, also_check_torch_library=True).impl(device_types, _stacklevel=3)(func)
        return func

    return inner if func is None else inner(func)


def impl_abstract(qualname: str, *, func: Callable[..., Any] | None = None) -> Any:
    """func gives the op's results for tensors without values; a decorator without func."""
    return register_fake(qualname, func)


def impl_save_for_backward(qualname: str, *, func: Callable[..., Any] | None = None) -> Any:
    """func(inputs, output) says what the function of impl_backward gets; a decorator without func."""

    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        found = _find_custom_op(qualname, also_check_torch_library=True)
        found.impl_save_for_backward(_stacklevel=3)(func)
        return func

    return inner if func is None else inner(func)


def impl_backward(
    qualname: str,
    output_differentiability: list[bool] | None = None,
    *,
    func: Callable[..., Any] | None = None,
) -> Any:
    """func(ctx, saved, *grads) gives a dict of gradients by arguments' names; a decorator without func."""

    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        found = _find_custom_op(qualname, also_check_torch_library=True)
        found.impl_backward(output_differentiability, _stacklevel=3)(func)
        return func

    return inner if func is None else inner(func)


def _destroy(qualname: str) -> None:
    """Take an op back."""
    _find_custom_op(qualname)._destroy()
