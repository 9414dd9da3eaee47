"""Conditions that programs state: `torch._check` and its kin for numbers, `torch._assert_async` for
tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.core.recording import TAPE
from rushlight._engine.lazy import package
from rushlight._engine.tensors.foreign import foreign, handed
from rushlight._engine.tensors.tensor import Tensor

_UNSAID = (
    "Expected {what} to be True, but got False. (Could this error message be improved? If so, please report "
    "an enhancement request to PyTorch.)"
)


def _assert(condition: Any, message: str) -> None:
    """assert, as a function that tracers may see."""
    if foreign(condition):
        handed(_assert, condition, message)
        return
    if not condition:
        raise AssertionError(message)


_assert.__module__ = package()


def _check_with(error_type: type[Exception], cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise error_type(message()) where `cond`, a bool, is False; TypeError where it is no bool."""
    if not isinstance(cond, bool):
        asserted = getattr(cond, "check", None)  # of a condition that a program asserts while it is exported
        if asserted is not None:
            asserted(message)
            return
        if isinstance(cond, Tensor):
            raise TypeError(
                "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() "
                "to assert that all elements are true."
            )
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if not issubclass(error_type, Exception) or issubclass(error_type, Warning):
        raise AssertionError(f"error_type must be a subclass of Exception but not Warning, got {error_type}")
    raise error_type(_said(message, "cond"))


def _said(message: Callable[[], Any] | None, what: str) -> str:
    if message is None:
        return _UNSAID.format(what=what)
    if not callable(message):
        raise TypeError("message must be a callable")
    return str(message())


def _check(cond: bool, message: Callable[[], Any] | None = None) -> None:
    """RuntimeError with what message() says where `cond` is False."""
    _check_with(RuntimeError, cond, message)


def _check_is_size(i: int, message: Callable[[], Any] | None = None, *, max: int | None = None) -> None:
    """RuntimeError unless 0 <= i, and i <= max if that is given. Deprecated: `_check(i >= 0)`."""
    warn(
        "_check_is_size will be removed in a future PyTorch release along with guard_size_oblivious.     "
        "Use _check(i >= 0) instead.",
        FutureWarning,
    )
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_index(cond: bool, message: Callable[[], Any] | None = None) -> None:
    """IndexError with what message() says where `cond` is False."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: Callable[[], Any] | None = None) -> None:
    """ValueError with what message() says where `cond` is False."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: Callable[[], Any] | None = None) -> None:
    """TypeError with what message() says where `cond` is False."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: Callable[[], Any] | None = None) -> None:
    """NotImplementedError with what message() says where `cond` is False."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all_with(
    error_type: type[Exception], cond: Tensor, message: Callable[[], Any] | None = None
) -> None:
    """Raise error_type(message()) unless all of a bool tensor are True; TypeError for other tensors."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype != torch.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all()), message)


def _check_tensor_all(cond: Tensor, message: Callable[[], Any] | None = None) -> None:
    """RuntimeError with what message() says unless all of a bool tensor are True."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert_async(input: Tensor, assert_msg: str | None = None) -> None:
    """RuntimeError where a tensor of one element is zero. PyTorch's name is about devices that run ahead; it
    raises at once here, as on PyTorch's CPU.
    """
    if input.device.type == "meta":
        return
    listener: Any = getattr(TAPE[-1], "to", None) if TAPE else None
    if listener is not None and not listener.depth:  # an op of the program that is exported
        aten: Any = torch.ops.aten
        form = aten._assert_async
        given = (input,) if assert_msg is None else (input, assert_msg)
        listener.told(form.default if assert_msg is None else form.msg, given, {})
        return
    if input.numel() != 1:
        bool(input)  # which raises, in PyTorch's words
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _functional_assert_async(input: Tensor, assert_msg: str, dep_token: Tensor) -> Tensor:
    """`_assert_async`, and the token that says what came before."""
    _assert_async(input, assert_msg)
    return dep_token.clone()


def _assert_scalar(self: Any, assert_msg: str) -> None:
    """RuntimeError with these words where a number is zero or False."""
    asserted = getattr(self, "check", None)  # of a condition that a program asserts while it is exported
    if asserted is not None:
        asserted(lambda: assert_msg)
    elif not self:
        raise RuntimeError(assert_msg)


def _assert_tensor_metadata(
    a: Tensor,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dtype: torch.dtype | None = None,
    *,
    device: Any = None,
    layout: Any = None,
) -> None:
    """RuntimeError where a tensor is not as said; what is None is not asked."""
    sized = (("sizes", size, a.shape), ("strides", stride, a.stride()))
    for what, wanted, found in sized:
        if wanted is not None and list(wanted) != list(found):
            raise RuntimeError(f"Tensor {what} mismatch! Expected: {list(wanted)}, Got: {list(found)}")
    if dtype is not None and a.dtype != dtype:
        raise RuntimeError(f"Tensor dtype mismatch! Expected: {dtype}, Got: {a.dtype}")
    if device is not None and a.device != torch.device(device):
        raise RuntimeError(f"Tensor device mismatch! Expected: {device}, Got: {a.device}")
    if layout is not None and a.layout != layout:
        raise RuntimeError(f"Tensor layout mismatch! Expected: {layout}, Got: {a.layout}")
