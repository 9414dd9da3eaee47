"""torch.autograd.forward_ad: dual numbers made by hand."""

from __future__ import annotations

from typing import Any, NamedTuple

from rushlight._engine.autograd.grad_mode import _Mode
from rushlight._engine.tensors.tensor import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]
_levels: list[Any] = []
_current_level = -1  # the level's number, as programs ask whether there is one


class UnpackedDualTensor(NamedTuple):
    """The parts of a dual tensor; the tangent is None where there is none."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begin a level of dual numbers; RuntimeError inside another one."""
    # few programs differentiate forwards
    from rushlight._engine.transforms.tangents import Forward

    if _levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    global _current_level
    level = Forward()
    level.by_hand = True
    _levels.append(level.__enter__())
    _current_level = 0
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: its dual tensors are their primals from now on."""
    if not _levels or level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. "
            "This is not supported."
        )
    global _current_level
    _levels.pop().__exit__()
    _current_level = -1


def _level(what: str) -> Any:
    if not _levels:
        raise RuntimeError(
            f"Trying to {what} but no dual level exists. Make sure to enter_dual_level() first."
        )
    return _levels[-1]


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Any:
    """`tensor` with a tangent of its shape and dtype: ops on it give results with tangents. Inside a level
    alone.

    RuntimeError outside every level, and where shapes differ; ValueError for integers.
    """
    # few programs differentiate forwards
    from rushlight.func.derivatives import make

    return make(tensor, tangent, _level("create a dual Tensor for forward AD"))


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """(primal, tangent) of a dual tensor; outside every level, and of other tensors, the tangent is None."""
    if not _levels or not _levels[-1].holds(tensor):
        return UnpackedDualTensor(tensor, None)
    dual: Any = tensor
    return UnpackedDualTensor(dual.value.view_as(dual.value), dual.tangent)


def _is_fwd_grad_enabled() -> bool:
    """Whether ops on dual tensors give dual tensors."""
    enabled: bool = _innermost().enabled
    return enabled


def _innermost() -> Any:
    # few programs differentiate forwards
    from rushlight._engine.transforms.tangents import innermost

    return innermost()


class _set_fwd_grad_enabled(_Mode):
    """Let ops on dual tensors give dual tensors, or not: at once, and as a context for its time."""

    __slots__ = ("before",)

    def __init__(self, mode: bool) -> None:
        there = _innermost()
        self.before, there.enabled = there.enabled, mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        _innermost().enabled = self.before


class dual_level(_Mode):
    """enter_dual_level() and exit_dual_level() as a context."""

    __slots__ = ()

    def __enter__(self) -> int:  # type: ignore[override]
        return enter_dual_level()

    def __exit__(self, *error: Any) -> None:
        exit_dual_level()
