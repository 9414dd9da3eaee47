"""Legacy constructors: torch.Tensor(2, 3), torch.FloatTensor([1, 2]), and Tensor subclasses."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core import accelerator, dtype as dt
from rushlight._engine.core.determinism import fill_unwritten
from rushlight._engine.core.device import CPU, device
from rushlight._engine.core.recording import constant
from rushlight._engine.core.size import Size
from rushlight._engine.tensors.construction.from_data import infer, is_sequence
from rushlight._engine.tensors.construction.interop import lifted
from rushlight._engine.tensors.tensor import Tensor, alias, wrap


def legacy_new(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """torch.Tensor(...): sizes give uninitialised memory, data a copy in the default dtype."""
    made = _make(dt.get_default_dtype(), args, kwargs, any_dtype=True, cls=cls)
    return made if cls in (Tensor, type(made)) else alias(made, cls=cls)


def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Tensor.new(...): like torch.Tensor(...), in this tensor's dtype and on its device, or another of its
    type (device=).
    """
    where = self.device
    if len(args) == 1 and isinstance(args[0], Tensor) and args[0].device != where:
        raise TypeError(f"expected a tensor on {where} (got one on {args[0].device}); move it with .to()")
    made = _make(self.dtype, args, kwargs, where=where)
    named = kwargs.get("device")
    there = where if named is None else device(named)
    return made if made.device == there else made.to(there)


def _make(
    of: dt.dtype,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    any_dtype: bool = False,
    where: device = CPU,
    cls: type = Tensor,
) -> Tensor:
    """A tensor of sizes or data, on the CPU; where: the device that a program may name.

    Of a tensor, a view of it that is in its graph, of the class `cls`.
    """
    args = _positional(args, kwargs, where)
    first = args[0] if args else Size((0,))
    if len(args) == 1 and isinstance(first, Tensor):
        if kwargs.get("device") is not None:
            way = "constructor of the form torch.Tensor" if any_dtype else "new of the form tensor.new"
            instead = "torch.tensor(...) or torch.as_tensor(...)" if any_dtype else "torch.as_tensor(...)"
            raise RuntimeError(
                f"Legacy tensor {way}(tensor, device=device) is not supported.  Use {instead} instead."
            )
        if first._kind.dtype is not of and not any_dtype:
            raise TypeError(f"expected a tensor of dtype {of} (got {first.dtype}); convert it with .to()")
        strange = getattr(first, "_prints_itself", False)  # sparse, nested, quantized, in a transform
        made: Tensor = alias(first) if strange else first.as_subclass(cls)
        return made
    if len(args) == 1 and hasattr(first, "untyped"):
        return wrap(np.empty(0, of.np)).set_(first)
    if isinstance(first, Size) or all(
        isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in args
    ):
        sizes = tuple(first) if isinstance(first, Size) else tuple(map(int, args))
        if any(n < 0 for n in sizes):
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: {list(sizes)}")
        return lifted(wrap(fill_unwritten(np.empty(sizes, of.np))))
    if len(args) > 1:
        raise TypeError(
            "new() received an invalid combination of arguments - got ("
            f"{', '.join(type(a).__name__ for a in args)}); expected sizes or one "
            "sequence: torch.tensor(data) is the modern spelling"
        )
    if not isinstance(first, (str, bytes)) and not is_sequence(first):
        raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
    return lifted(wrap(constant(infer(first, of))))


def _positional(args: tuple[Any, ...], kwargs: dict[str, Any], expected: device) -> tuple[Any, ...]:
    kwargs = dict(kwargs)
    where = kwargs.pop("device", None)
    if where is not None and device(where).type != expected.type:
        raise RuntimeError(
            f"legacy constructor expects device type: {expected.type} but device type: "
            f"{device(where).type} was passed; torch.tensor and torch.empty take any device"
        )
    for name in ("data", "other", "storage", "size"):
        if kwargs.get(name) is not None and not args:
            given = kwargs.pop(name)
            args = (Size(given) if name == "size" else given,)
    if kwargs:
        raise TypeError(
            "new() received an invalid combination of arguments - unexpected keywords "
            f"{sorted(kwargs)}; torch.tensor takes dtype, device and requires_grad"
        )
    return args


class _LegacyType(type):
    """torch.FloatTensor and its relatives, torch.cuda.FloatTensor: isinstance tests by dtype and device."""

    dtype: dt.dtype
    is_cuda = False

    def __instancecheck__(cls, instance: Any) -> bool:
        dense = isinstance(instance, Tensor) and not getattr(instance, "is_sparse", False)
        return dense and instance._kind.dtype is cls.dtype and instance.is_cuda == cls.is_cuda

    def __init__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> None:
        for base in bases:
            raise TypeError(f"type 'torch.{base.__name__}' is not an acceptable base type; use torch.Tensor")
        super().__init__(name, bases, space)

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        return _make(cls.dtype, args, kwargs)


class _CudaType(_LegacyType):
    """The same of a CUDA device. TypeError for a call where there is none."""

    is_cuda = True

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        if accelerator.platform() is None:
            raise TypeError(
                f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled."
            )
        where = kwargs.pop("device", None)
        return _make(cls.dtype, args, kwargs).cuda(where)


# By their names, as torch and torch.cuda have them.
CUDA_TYPES: dict[str, _CudaType] = {}
for _d in dt.ALL:
    if _d.legacy[0].isupper() and not _d.name.startswith(("float8", "complex", "uint16", "uint32", "uint64")):
        _name = f"{_d.legacy}Tensor"
        globals()[_name] = _LegacyType(_name, (), {"dtype": _d, "__module__": "torch"})
        CUDA_TYPES[_name] = _CudaType(_name, (), {"dtype": _d, "__module__": "torch.cuda"})
