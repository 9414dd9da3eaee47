"""Tensors around memory that others own, and others around ours: NumPy arrays and DLPack."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.services import service
from rushlight._engine.tensors.construction.from_data import share
from rushlight._engine.tensors.kind import CPU_KINDS, Kind
from rushlight._engine.tensors.storages.storage import INFERRING, Storage, fresh
from rushlight._engine.tensors.tensor import LISTENING, WRAPPED, Tensor, wrap

__all__ = ["from_dlpack"]  # what a star import of torch.utils.dlpack takes


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor that shares a NumPy array's memory: writes to either are seen in both.

    Raises TypeError for element types that no dtype has, ValueError for negative strides.
    """
    if type(ndarray) is np.ndarray:
        flags, of = ndarray.flags, _KINDS.get(id(ndarray.dtype))
        if of is not None and flags.c_contiguous and flags.writeable:
            return lifted(_lent(ndarray, of))
    beneath = tensor_beneath(ndarray)
    return lifted(_borrowed(share(ndarray))) if beneath is None else beneath


def tensor_beneath(array: Any) -> Tensor | None:
    """The tensor that an array of torch._numpy lies over, which is NumPy's only to isinstance()."""
    ours = isinstance(array, np.ndarray) and not issubclass(type(array), np.ndarray)
    return array.tensor if ours else None


def _borrowed(array: Any) -> Tensor:
    """A tensor around someone else's array; its storage begins where the array does."""
    array = np.asarray(array)
    return _lent(array, CPU_KINDS[array.dtype])


def _lent(array: Any, of: Kind) -> Tensor:
    t: Tensor = _new(Tensor)
    t._array = array
    t._kind = of
    t._grad_node = None
    t._output_nr = 0
    t._storage = s = Storage(0, array)
    if INFERRING:
        s.inference = fresh() is not None
    return t


def lifted(t: Tensor) -> Tensor:
    """A tensor that was made of Python's data, as a listener below autograd has it, if there is one."""
    if LISTENING not in WRAPPED:
        return t
    found: Tensor = service("data told below autograd")(t)
    return found


_new = object.__new__
# By the addresses of NumPy's own dtypes, of which there is one each: another that is equal (longlong is, to
# int64) is none that kernels know.
_KINDS = {id(of): k for of, k in CPU_KINDS.items()}


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares memory with any object that speaks DLPack (or a DLPack capsule).

    copy: True copies, False insists on sharing, None shares where it can.
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        ext_tensor = _Capsule(ext_tensor)
    if device is not None and str(device) not in ("cpu", "cpu:0"):
        raise RuntimeError(f"from_dlpack: expected device 'cpu', got '{device}'")
    narrow = _Disguised(ext_tensor)
    try:
        array = np.from_dlpack(narrow, copy=copy)
    except TypeError:
        array = np.from_dlpack(narrow)  # objects of before copy= was part of the protocol
    if isinstance(ext_tensor, _Capsule) and not array.flags.writeable:
        # NumPy cannot know of a bare capsule whether it may be written to; PyTorch writes.
        shown = {**array.__array_interface__, "data": (array.ctypes.data, False)}
        array = np.asarray(SimpleNamespace(__array_interface__=shown, kept=array))
    if narrow.dtype is not None:
        array = array.view(narrow.dtype.np)
    return wrap(array.copy()) if copy else _borrowed(array)


class _Capsule:
    """A bare DLPack capsule, as `to_dlpack` gives, in the protocol that NumPy reads."""

    def __init__(self, capsule: Any) -> None:
        if type(capsule).__name__ != "PyCapsule" or '"dltensor"' not in repr(capsule):
            raise RuntimeError(
                "from_dlpack received an invalid capsule. Note that DLTensor "
                "capsules can be consumed only once, so you might have already "
                f"constructed a tensor from it once. Got a {type(capsule).__name__}."
            )
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU


_CUDA = 2  # kDLCUDA
_CPU = (1, 0)  # kDLCPU, device 0
# DLDataTypeCode of the types that NumPy does not know, each with an unsigned integer of its size.
_CODES = {
    dt.bfloat16: 4,
    dt.float8_e4m3fn: 10,
    dt.float8_e4m3fnuz: 11,
    dt.float8_e5m2: 12,
    dt.float8_e5m2fnuz: 13,
}
_UNSIGNED = 1
_DTYPE_AT = 20  # DLTensor: data (8 bytes), device (8), ndim (4), then the type's code, bits and lanes


def _type_code(capsule: Any) -> Any:
    """The byte in a capsule's DLTensor that tells the kind of its elements, as a writable ctypes.c_uint8."""
    name = next((name for name in ("dltensor", "dltensor_versioned") if f'"{name}"' in repr(capsule)), None)
    if name is None:
        return None
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # A versioned one begins with its version, a context, a deleter and flags.
    start = 32 if name == "dltensor_versioned" else 0
    return ctypes.c_uint8.from_address(get(capsule, name.encode()) + start + _DTYPE_AT)


class _Disguised:
    """An object that speaks DLPack; NumPy is told that elements of types it lacks are unsigned integers.

    dtype: what they are in truth, once that has happened.
    """

    def __init__(self, of: Any) -> None:
        self.of = of
        self.dtype: dt.dtype | None = None

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.of.__dlpack__(**options)
        code = _type_code(capsule)
        if code is not None:
            self.dtype = next((of for of, known in _CODES.items() if known == code.value), None)
            code.value = code.value if self.dtype is None else _UNSIGNED
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        found: tuple[int, int] = self.of.__dlpack_device__()
        return found


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule on the tensor's memory, to be read once by any library's from_dlpack."""
    return dlpack(tensor)


def dlpack(
    self: Tensor,
    *,
    stream: Any = -1,
    max_version: Any = None,
    dl_device: Any = None,
    copy: bool | None = None,
) -> Any:
    """Tensor.__dlpack__: a capsule on this tensor's memory (a copy's with copy=True)."""
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self._kind.on_meta:
        raise BufferError("Can't export meta tensors: they have no memory")
    if self._kind.backend is not None:
        raise BufferError(
            "Can't export tensors of a simulated CUDA device: no other library reaches its memory; use .cpu()"
        )
    if self._kind.lazy:
        raise BufferError(
            f"Can't export tensors with the {'conjugate' if self._kind.conj else 'negative'} bit "
            "set: use tensor.resolve_conj().resolve_neg()"
        )
    if stream is not None and type(stream) is not int:
        raise TypeError(f"stream must be ``int`` or ``none``, not {type(stream).__name__}")
    if stream not in (None, -1):
        raise AssertionError(f"stream should be None on cpu, not {stream}")
    array = self._array.copy() if copy else self._array
    if self.dtype not in _CODES:
        return array.__dlpack__(max_version=max_version)
    capsule = array.view(f"u{array.itemsize}").__dlpack__(max_version=max_version)
    _type_code(capsule).value = _CODES[self.dtype]
    return capsule


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """Tensor.__dlpack_device__: (1, 0), the CPU; (2, n), a CUDA device."""
    return _CPU if self._kind.backend is None else (_CUDA, self.get_device())
