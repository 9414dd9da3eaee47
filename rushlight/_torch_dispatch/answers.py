"""Instances of classes with a `__torch_dispatch__` that answer for themselves how large they are, how they
lie in memory, and where: those that were made with `dispatch_sizes_strides_policy` and its like.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from rushlight._engine.core.size import Size
from rushlight._engine.dispatch import interpreters
from rushlight._engine.tensors.tensor import Tensor

_LAID = ("sym_stride", "is_contiguous", "is_strides_like_format", "is_non_overlapping_and_dense")
_SIZED = ("sym_size", "dim", "sym_numel", "numel", "sym_storage_offset")
_POLICIES = {None: (), "strides": _LAID, "sizes": (*_LAID, *_SIZED)}
_MAY_BE_NONE = frozenset(("dim", "device", "layout"))


def answers(
    made: Any, dispatch_sizes_strides_policy: str | None, dispatch_device: bool, dispatch_layout: bool
) -> None:
    """An instance that answers for itself from now on: its strides ("strides"), its sizes, too ("sizes"), its
    device, its layout.
    """
    if dispatch_sizes_strides_policy not in _POLICIES:
        raise RuntimeError(f"Unknown policy {dispatch_sizes_strides_policy}")
    asked = {*_POLICIES[dispatch_sizes_strides_policy]}
    asked |= {"device"} if dispatch_device else set()
    asked |= {"layout"} if dispatch_layout else set()
    if not asked:
        return
    made.__dict__["_answers"] = frozenset(asked)
    if "_answers" not in type(made).__dict__:
        type(made)._answers = frozenset()
        for name, method in _METHODS.items():
            if getattr(type(made), name) is getattr(Tensor, name):
                setattr(type(made), name, method)


def ask(t: Any, name: str, *args: Any, op: str | None = None) -> Any:
    """What an instance answers to one of aten's questions; None where it has no answer of its own."""
    held = getattr(t, "_answers", ())
    if name not in held or not interpreters.CLASSES.below:
        return None
    # What knows the ops imports this file.
    from rushlight import ops
    from rushlight._torch_dispatch.classes import Classes

    space = "prim" if name in ("device", "layout") else "aten"
    asked = getattr(getattr(getattr(ops, space), name), op or "default")
    found = Classes([t], told=f"torch.ops.{space}.{name}")(asked, (t, *args), {})
    if found is None and name in _MAY_BE_NONE:
        raise RuntimeError(f"{name} returned invalid type NoneType")
    return found


def _method(name: str, asked: str, change: Callable[[Any], Any] = lambda found: found) -> Any:
    plain: Any = getattr(Tensor, name)

    @wraps(plain)
    def method(self: Any) -> Any:
        found = ask(self, asked)
        return plain(self) if found is None else change(found)

    return method


def _attribute(name: str, asked: str, change: Callable[[Any], Any] = lambda found: found) -> Any:
    plain: Any = getattr(Tensor, name)

    def read(self: Any) -> Any:
        found = ask(self, asked)
        return plain.__get__(self) if found is None else change(found)

    return property(read, plain.fset, doc=plain.__doc__)


def _sizes(found: Any) -> Any:
    return tuple.__new__(Size, tuple(found))


def _several(name: str, asked: str, change: Callable[[Any], Any]) -> Any:
    plain: Any = getattr(Tensor, name)

    @wraps(plain)
    def method(self: Any, dim: int | None = None) -> Any:
        found = ask(self, asked)
        if found is None:
            return plain(self) if dim is None else plain(self, dim)
        return change(found) if dim is None else found[dim]

    return method


def _is_contiguous(self: Any, memory_format: Any = None) -> bool:
    """Whether the elements lie in the order of `memory_format` without gaps."""
    given = () if memory_format is None else (memory_format,)
    found = ask(self, "is_contiguous", *given, op="memory_format" if given else None)
    return bool(Tensor.is_contiguous(self, *given) if found is None else found)


def _data_ptr(self: Any) -> int:
    """The address of the first element."""
    ask(self, "numel")
    return int(Tensor.data_ptr(self))


_METHODS: dict[str, Any] = {
    "size": _several("size", "sym_size", _sizes),
    "stride": _several("stride", "sym_stride", tuple),
    "shape": _attribute("shape", "sym_size", _sizes),
    "ndim": _attribute("ndim", "dim"),
    "device": _attribute("device", "device"),
    "layout": _attribute("layout", "layout"),
    "is_cuda": _attribute("is_cuda", "device", lambda found: found.type == "cuda"),
    "is_cpu": _attribute("is_cpu", "device", lambda found: found.type == "cpu"),
    "is_meta": _attribute("is_meta", "device", lambda found: found.type == "meta"),
    "dim": _method("dim", "dim"),
    "ndimension": _method("ndimension", "dim"),
    "numel": _method("numel", "sym_numel"),
    "nelement": _method("nelement", "sym_numel"),
    "storage_offset": _method("storage_offset", "sym_storage_offset"),
    "is_contiguous": _is_contiguous,
    "data_ptr": _data_ptr,
}
