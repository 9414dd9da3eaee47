"""torch.TypedStorage and torch.FloatStorage, DoubleStorage, ...: a storage with a dtype.

PyTorch has replaced them by UntypedStorage; its files still name them.
"""

from __future__ import annotations

import copy
import io
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.callers import warn
from rushlight._engine.core.conversion import convert
from rushlight._engine.core.device import device
from rushlight._engine.core.services import service
from rushlight._engine.lazy import package
from rushlight._engine.tensors.storages.untyped import UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]  # what a star import of torch.storage takes


class _OfDtype(type):
    """The class of torch.FloatStorage, torch.cuda.FloatStorage, ...: the storages of a dtype on a device."""

    dtype: dt.dtype
    _where: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """A TypedStorage of this dtype there."""
        if "wrap_storage" not in kwargs:
            kwargs.setdefault("device", cls._where)
        return TypedStorage(*args, dtype=cls.dtype, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        """Whether it is a storage of this dtype there."""
        return (
            isinstance(instance, TypedStorage)
            and instance.dtype is cls.dtype
            and instance.device.type == cls._where
        )


class TypedStorage:
    """A flat run of elements of one dtype, over an UntypedStorage."""

    __module__ = f"{package()}.storage"

    dtype: dt.dtype

    def __init__(
        self,
        size: Any = 0,
        *,
        wrap_storage: UntypedStorage | None = None,
        dtype: dt.dtype | None = None,
        device: Any = None,
        _internal: bool = False,
    ) -> None:
        """Memory for `size` elements, or a sequence of them; device: "cpu" or "meta"."""
        self.dtype = dtype or getattr(type(self), "dtype", None) or dt.get_default_dtype()
        if wrap_storage is not None:
            self._untyped_storage = wrap_storage
            return
        many = size if isinstance(size, int) else len(size)
        self._untyped_storage = UntypedStorage(
            many * self.dtype.itemsize, device="cpu" if device is None else device
        )
        if not isinstance(size, int) and self.device.type != "meta":
            self._elements()[:] = size

    @classmethod
    def from_buffer(cls, *args: Any, dtype: dt.dtype | None = None, device: Any = None, **kwargs: Any) -> Any:
        """A copy of a buffer's elements: (buffer, byte_order, count=-1, offset=0); see UntypedStorage's."""
        of = dtype or getattr(cls, "dtype", None) or dt.get_default_dtype()
        made = UntypedStorage.from_buffer(*args, dtype=of, **kwargs)
        plain: Any = cls  # UntypedStorage has this method from here
        return made if plain is UntypedStorage else TypedStorage(wrap_storage=made, dtype=of)

    @classmethod
    def _from_buffer(cls, *args: Any, **kwargs: Any) -> Any:
        found = cls.from_buffer(*args, **kwargs)
        return found.untyped() if cls is not TypedStorage else found

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """A storage of `size` elements over a mapped file; if `shared`, writes reach it."""
        of = getattr(cls, "dtype", None) or dt.get_default_dtype()
        made = UntypedStorage.from_file(filename, shared, size * of.itemsize)
        return TypedStorage(wrap_storage=made, dtype=of)

    def get_device(self) -> int:
        """The number of the GPU; -1 where it is in the CPU's memory."""
        return self._untyped_storage.get_device()

    def resizable(self) -> bool:
        """Whether its bytes may become more or fewer."""
        return self._untyped_storage.resizable()

    def resize_(self, size: int) -> None:
        """Make it `size` elements long; what is new is undefined."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def is_pinned(self, device: Any = None) -> bool:
        """Whether a GPU may read it at once."""
        return self._untyped_storage.is_pinned(device)

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        """A storage of the same elements on a device; itself where it is there."""
        where = str(device).partition(":")[0]
        if where == self.device.type:
            return self
        return self.cpu() if where == "cpu" else self.cuda(device)

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
        return flat[: flat.size // step * step].view(self.dtype.np)

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

    is_sparse = False

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a CUDA device's."""
        return self._untyped_storage.is_cuda

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """A copy on a CUDA device, the current one if None."""
        return TypedStorage(wrap_storage=self._untyped_storage.cuda(device, non_blocking), dtype=self.dtype)

    def data_ptr(self) -> int:
        """The address of the first byte; 0 when empty, or without memory."""
        return self._untyped_storage.data_ptr()

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of its class; or the elements converted, to a dtype, a class of storages or its name."""
        if dtype is None:
            home = "torch.cuda" if self.is_cuda else "torch"
            return f"{home}.{self.pickle_storage_type()}"
        if isinstance(dtype, str):
            dtype = _storage_type_to_dtype_map()[dtype.rpartition(".")[2]]
        return self._to(dtype if isinstance(dtype, dt.dtype) else dtype.dtype)

    def pickle_storage_type(self) -> str:
        """The name that files give to its class; KeyError for dtypes that have none."""
        return _dtype_to_storage_type_map()[self.dtype]

    def _to(self, of: dt.dtype) -> TypedStorage:
        made = TypedStorage(self.size(), dtype=of, device=self.device)
        if self.device.type != "meta":
            with np.errstate(all="ignore"):
                made._elements()[:] = convert(self._elements(), of.np)
        return made

    def _share_fd_cpu_(self) -> Any:
        self._untyped_storage._on_cpu("_share_fd_cpu_")
        return self.share_memory_()

    _share_filename_cpu_ = _share_fd_cpu_

    def _write_file(self, *args: Any) -> None:
        self._untyped_storage._write_file(*args)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._untyped_storage.nbytes()

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_from_bytes, (saved_bytes(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return TypedStorage(wrap_storage=copy.deepcopy(self._untyped_storage, memo), dtype=self.dtype)

    def clone(self) -> TypedStorage:
        """A storage with its own copy of the elements."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    def cpu(self) -> TypedStorage:
        """Itself where it is in the CPU's memory, else a copy there."""
        if self.device.type == "cpu":
            return self
        return TypedStorage(wrap_storage=self._untyped_storage.cpu(), dtype=self.dtype)

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element."""
        self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> TypedStorage:
        """Copy another storage's bytes, of the same number."""
        self._untyped_storage.copy_(source.untyped())
        return self

    def is_shared(self) -> bool:
        """Whether other processes can see the memory."""
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move the memory to where other processes can see it."""
        self._untyped_storage.share_memory_()
        return self

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def __getitem__(self, index: Any) -> Any:
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements()[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements()[index] = value
        self._untyped_storage._shared.version += 1

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        return list(self._elements().tolist())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TypedStorage)
            and self.dtype is other.dtype
            and self._untyped_storage == other._untyped_storage
        )

    def __hash__(self) -> int:
        return hash(self._untyped_storage)

    def __repr__(self) -> str:
        nowhere = self.device.type == "meta"
        values = "...\n" if nowhere else "".join(f" {value}\n" for value in self.tolist())
        return (
            f"{values}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) "
            f"of size {len(self)}]"
        )


# The dtypes for which PyTorch's files have a storage class; the others go untyped.
NAMED = (
    dt.float32,
    dt.float64,
    dt.float16,
    dt.bfloat16,
    dt.complex64,
    dt.complex128,
    dt.uint8,
    dt.int8,
    dt.int16,
    dt.int32,
    dt.int64,
    dt.bool_,
    *dt.QUANTIZED.values(),
)


_WARNED = {"always": False, "once": False}  # whether to tell each time; whether it has been told


def _get_always_warn_typed_storage_removal() -> bool:
    return _WARNED["always"]


def _set_always_warn_typed_storage_removal(always_warn: bool) -> None:
    if not isinstance(always_warn, bool):
        raise AssertionError(f"always_warn must be bool, got {type(always_warn).__name__}")
    _WARNED["always"] = always_warn


def warn_of_removal() -> None:
    """Warn, the first time or each, that storages with a dtype will go."""
    if _WARNED["once"] and not _WARNED["always"]:
        return
    _WARNED["once"] = True
    warn(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only "
        "storage class. This should only matter to you if you are using storages directly.  To access "
        "UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()",
        UserWarning,
    )


def saved_bytes(storage: Any) -> bytes:
    """The file that torch.save writes of a storage alone, in PyTorch's older format: what pickles hold."""
    file = io.BytesIO()
    service("save")(storage, file, _use_new_zipfile_serialization=False)
    return file.getvalue()


def _load_from_bytes(data: bytes) -> Any:
    """The storage of such a file."""
    return service("load")(io.BytesIO(data), weights_only=False)


_load_from_bytes.__module__ = f"{package()}.storage"
BY_DTYPE: dict[dt.dtype, type[TypedStorage]] = {}


def _class_of(of: dt.dtype, where: str, home: str) -> Any:
    facts = {"dtype": of, "_where": where, "__module__": home, "__doc__": f"A storage of {of!r} elements."}
    return _OfDtype(f"{of.legacy}Storage", (TypedStorage,), facts)


for _d in NAMED:
    BY_DTYPE[_d] = globals()[f"{_d.legacy}Storage"] = _class_of(_d, "cpu", package())
# By their names, as torch.cuda has them.
CUDA_STORAGES = {
    f"{_d.legacy}Storage": _class_of(_d, "cuda", "torch.cuda")
    for _d in NAMED
    if _d not in dt.QUANTIZED.values()
}


Storage = BY_DTYPE[dt.float32]


def _caster(of: dt.dtype) -> Any:
    def cast(self: TypedStorage) -> TypedStorage:
        return self._to(of)

    cast.__doc__ = f"The elements as {of!r}."
    return cast


for _d, _name in {
    dt.float32: "float",
    dt.float64: "double",
    dt.float16: "half",
    dt.bfloat16: "bfloat16",
    dt.complex64: "complex_float",
    dt.complex128: "complex_double",
    dt.uint8: "byte",
    dt.int8: "char",
    dt.int16: "short",
    dt.int32: "int",
    dt.int64: "long",
    dt.bool_: "bool",
}.items():
    setattr(TypedStorage, _name, _caster(_d))


def _dtype_to_storage_type_map() -> dict[dt.dtype, str]:
    """The names of the classes of storages, by dtype."""
    return {of: cls.__name__ for of, cls in BY_DTYPE.items()}


def _storage_type_to_dtype_map() -> dict[str, dt.dtype]:
    """Dtypes, by the names of the classes of storages."""
    return {name: of for of, name in _dtype_to_storage_type_map().items()}
