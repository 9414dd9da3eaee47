"""Legacy constructors: torch.Tensor(2, 3), torch.FloatTensor([1, 2]), and Tensor subclasses."""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.tensor.tensor import Tensor, as_subclass, wrap


def legacy_new(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """torch.Tensor(...): sizes make uninitialised memory, data makes a copy in the default dtype."""
    made = _make(dt.get_default_dtype(), args, kwargs)
    return made if cls is Tensor else as_subclass(made, cls)


def _make(dtype: dt.dtype, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    from rushlight.tensor.construct import infer

    kwargs.pop("device", None)
    if kwargs.get("data") is not None:
        args = (kwargs["data"],)
    if not args:
        return wrap(np.empty((0,), dtype.np))
    first = args[0]
    if isinstance(first, Tensor) and len(args) == 1:
        return first.detach() if first._k.dtype is dtype else first.detach().to(dtype)
    if all(isinstance(n, (int, np.integer)) for n in args):
        return wrap(np.empty(args, dtype.np))
    if len(args) == 1 and type(first).__name__ == "Size":
        return wrap(np.empty(tuple(first), dtype.np))
    if len(args) == 1:
        return wrap(infer(first, dtype))
    raise TypeError("new() received an invalid combination of arguments - got ("
                    f"{', '.join(type(a).__name__ for a in args)}); expected sizes or one sequence: "
                    "torch.tensor(data) is the modern spelling")


class _LegacyType(type):
    """torch.FloatTensor and its relatives: isinstance tests by dtype."""

    dtype: dt.dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance._k.dtype is cls.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        return _make(cls.dtype, args, kwargs)


for _d in dt.ALL:
    if _d.legacy[0].isupper() and not _d.name.startswith(("float8", "complex", "uint16", "uint32",
                                                          "uint64")):
        _name = f"{_d.legacy}Tensor"
        globals()[_name] = _LegacyType(_name, (), {"dtype": _d})
        _storage = f"{_d.legacy}Storage"
        globals()[_storage] = type(_storage, (), {"dtype": _d})
