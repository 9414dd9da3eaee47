"""Questions about tensors, dtypes and shapes, asked as functions."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from rushlight._engine.core import accelerator, dtype as dt, layout, promotion
from rushlight._engine.core.device import Default, device as _device
from rushlight._engine.core.size import Size
from rushlight._engine.derive import cast
from rushlight._engine.lazy import package
from rushlight._engine.names.deprecations import deprecated
from rushlight._engine.tensors.foreign import foreign, handed, handed_on
from rushlight._engine.tensors.kind import available
from rushlight._engine.tensors.storages.typed import TypedStorage
from rushlight._engine.tensors.storages.untyped import UntypedStorage
from rushlight._engine.tensors.tensor import Tensor


def is_tensor(obj: Any) -> bool:
    """Whether obj is a Tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether obj is a storage."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


def _asked(name: str) -> Callable[..., Any]:
    def ask(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        if foreign(input):
            return handed(ask, input, *args, **kwargs)
        return getattr(input, name)(*args, **kwargs)

    ask.__name__ = ask.__qualname__ = name
    ask.__module__ = package()
    ask.__doc__ = getattr(Tensor, name).__doc__
    return ask


# Tensor's methods as functions.
numel, is_nonzero, get_device = map(_asked, ("numel", "is_nonzero", "get_device"))
is_floating_point, is_complex, is_signed = map(_asked, ("is_floating_point", "is_complex", "is_signed"))
is_inference, is_same_size = map(_asked, ("is_inference", "is_same_size"))
is_conj, is_neg = map(_asked, ("is_conj", "is_neg"))


def result_type(tensor1: Any, tensor2: Any) -> dt.dtype:
    """The dtype that an op on both would compute in."""
    if foreign(tensor1) or foreign(tensor2):
        made: dt.dtype = handed_on(result_type, (tensor1, tensor2), tensor1, tensor2)
        return made
    ranks = []
    for v in (tensor1, tensor2):
        if isinstance(v, Tensor):
            ranks.append((cast.DIMS if v.ndim else cast.ZERO, v.dtype))
        else:
            ranks.append(cast.rank_of_number(v))
    return cast.common_dtype(ranks)


def can_cast(from_: dt.dtype, to: dt.dtype) -> bool:
    """Whether values of one dtype may be written into a tensor of another."""
    if foreign(from_) or foreign(to):
        return handed_on(can_cast, (from_, to), from_, to)  # type: ignore[no-any-return]  # as the class answers
    return promotion.can_cast(dt.of_python(from_), dt.of_python(to))


for _function in (result_type, can_cast):  # graphs spell them so
    _function.__module__ = package()


def typename(obj: Any) -> str:
    """The type's name with its module."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    module = getattr(obj, "__module__", None)
    name = getattr(obj, "__qualname__", type(obj).__qualname__)
    return name if module in (None, "builtins") else f"{module}.{name}"


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to."""
    sizes = []
    for shape in shapes:
        size = layout.as_tuple(shape)
        if any(n < 0 for n in size):
            raise RuntimeError(
                f"Trying to create tensor with negative dimension ({min(size)}): ({min(size)})"
            )
        sizes.append(size)
    for index in range(1, len(sizes)):
        given = (shapes[index],) if isinstance(shapes[index], int) else shapes[index]
        _check_broadcastable(layout.broadcast_shapes(*sizes[:index]), sizes[index], index, given)
    return Size(layout.broadcast_shapes(*sizes))


def _check_broadcastable(common: tuple[int, ...], shape: tuple[int, ...], index: int, given: Any) -> None:
    for i in range(-1, -1 - min(len(common), len(shape)), -1):
        if common[i] != shape[i] and 1 not in (common[i], shape[i]):
            whole = [1] * (len(shape) - len(common)) + list(common)
            raise RuntimeError(
                f"Attempting to broadcast a dimension of length {shape[i]} at {i}! Mismatching argument at "
                f"index {index} had {given}; but expected shape should be broadcastable to {whole}"
            )


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype, and the device of new tensors, by a legacy type or its name.

    TypeError for another one, and for torch.cuda's where there is no device.
    """
    deprecated("set_default_tensor_type")
    name = t if isinstance(t, str) else f"torch.{'cuda.' * getattr(t, 'is_cuda', False)}{t.__name__}"
    on_cuda = name.startswith("torch.cuda.")
    if on_cuda and accelerator.platform() is None:
        raise TypeError(f"type {name} not available. Torch not compiled with CUDA enabled.")
    for d in dt.ALL:
        if name.replace("cuda.", "") == f"torch.{d.legacy}Tensor":
            dt.set_default_dtype(d)
            if on_cuda or Default.value.type == "cuda":
                set_default_device("cuda" if on_cuda else "cpu")
            return
    raise TypeError(f"invalid type object: only floating-point types are supported, got {t!r}")


def get_default_device() -> _device:
    """The device of new tensors."""
    return Default.value


def get_device_module(device: Any = None) -> Any:
    """torch.cpu, torch.cuda, ...: the module of a device; RuntimeError where it has none."""
    kind = _device("cpu" if device is None else device).type
    if kind not in ("cpu", "cuda", "mps", "xpu"):
        raise RuntimeError(
            f"Device '{device}' does not have a corresponding module registered as 'torch.{kind}'."
        )
    return import_module(f"rushlight.{kind}")


def set_default_device(device: Any) -> None:
    """Set the device of new tensors."""
    wanted = _device("cpu" if device is None else device)
    if wanted.type not in ("cpu", "meta"):
        available(wanted)
    Default.set(wanted)
