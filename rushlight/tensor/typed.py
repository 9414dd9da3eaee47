"""torch.TypedStorage and torch.FloatStorage, DoubleStorage, ...: a storage with a dtype.

PyTorch has replaced them by UntypedStorage; its files still name them.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.device import device
from rushlight.tensor.untyped import UntypedStorage


class TypedStorage:
    """A flat run of elements of one dtype, over an UntypedStorage."""

    dtype: dt.dtype

    def __init__(self, size: Any = 0, *, wrap_storage: UntypedStorage | None = None,
                 dtype: dt.dtype | None = None, device: Any = None) -> None:
        """Room for `size` elements, or a sequence of them; device: "cpu" or "meta"."""
        self.dtype = dtype or getattr(type(self), "dtype", None) or dt.get_default_dtype()
        if wrap_storage is not None:
            self._untyped_storage = wrap_storage
            return
        many = size if isinstance(size, int) else len(size)
        self._untyped_storage = UntypedStorage(many * self.dtype.itemsize,
                                               device="cpu" if device is None else device)
        if not isinstance(size, int):
            self._elements()[:] = size

    @property
    def device(self) -> device:
        """Where the memory is."""
        return self._untyped_storage.device

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    def _elements(self) -> Any:
        step = self.dtype.itemsize
        flat = self._untyped_storage._bytes()
        return flat[:flat.size // step * step].view(self.dtype.np)

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first byte; 0 when empty."""
        return self._untyped_storage.data_ptr()

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def __getitem__(self, index: Any) -> Any:
        found = self._elements()[index]
        return found.item() if np.ndim(found) == 0 else found.tolist()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements()[index] = value
        self._untyped_storage._shared.version += 1

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return list(self._elements().tolist())

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, TypedStorage) and self.dtype is other.dtype
                and self._untyped_storage == other._untyped_storage)

    def __hash__(self) -> int:
        return hash(self._untyped_storage)

    def __repr__(self) -> str:
        values = "".join(f" {value}\n" for value in self.tolist())
        return (f"{values}[torch.storage.{type(self).__name__}(dtype={self.dtype}, device={self.device}) "
                f"of size {len(self)}]")


# The dtypes for which PyTorch's files have a storage class; the others go untyped.
NAMED = (dt.float32, dt.float64, dt.float16, dt.bfloat16, dt.complex64, dt.complex128, dt.uint8,
         dt.int8, dt.int16, dt.int32, dt.int64, dt.bool_)
BY_DTYPE: dict[dt.dtype, type[TypedStorage]] = {}
for _d in NAMED:
    BY_DTYPE[_d] = type(f"{_d.legacy}Storage", (TypedStorage,), {
        "dtype": _d, "__module__": __name__, "__doc__": f"A storage of {_d!r} elements."})
    globals()[f"{_d.legacy}Storage"] = BY_DTYPE[_d]
