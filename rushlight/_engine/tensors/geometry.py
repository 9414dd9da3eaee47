"""The part of Tensor that tells its shape and place in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from itertools import count, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, overload

from rushlight._engine.core import accelerator
from rushlight._engine.core.callers import warn
from rushlight._engine.core.errors import warn_once, wrap_dim
from rushlight._engine.core.layout import Ints, contiguous_strides, iteration_order
from rushlight._engine.core.services import service
from rushlight._engine.core.size import SIZES as _SIZES, Size, sized
from rushlight._engine.lazy import package
from rushlight._engine.tensors.of_class import Attribute, asking_its_own
from rushlight._engine.tensors.storages.storage import SHARED, address, owner, shared_at, storage

if TYPE_CHECKING:  # it imports this file
    from rushlight._engine.tensors.tensor import Tensor

    # A part of Tensor: its other parts are there, too.
    _Tensor = Tensor
else:
    _Tensor = object


_IDENTITIES = count(1)  # of tensors whose `_cdata` was asked for


@lru_cache(maxsize=1024)
def _in_elements(strides: Ints, itemsize: int) -> Ints:
    return tuple([s // itemsize for s in strides])


def _place(asked: str, dim: Any, ndim: int) -> int:
    """The dim whose size or stride is asked for, from 0 on."""
    if isinstance(dim, (bool, float, str)):
        raise TypeError(f"{asked}(): argument 'dim' (position 1) must be int, not {type(dim).__name__}")
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, ndim)


def page_locked(t: Any) -> bool:
    """Whether a tensor's memory is page-locked, by us or by cudaHostRegister."""
    if t._storage is not None and t._storage.pinned:
        return True
    return bool(accelerator.REGISTERED) and t.is_cpu and accelerator.is_registered(t.data_ptr())


class NamedConstant:
    """A named constant of the package's top level, which pickles as that name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class MemoryFormat(NamedConstant):
    """torch.contiguous_format, channels_last, ...: an order of dims in memory."""

    __slots__ = ()


class StorageLayout(NamedConstant):
    """torch.strided and its relatives."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        return service("layout of a name"), (repr(self),)


for _class, _name in ((MemoryFormat, "memory_format"), (StorageLayout, "layout")):
    _class.__module__, _class.__name__, _class.__qualname__ = package(), _name, _name
contiguous_format = MemoryFormat("contiguous_format")
preserve_format = MemoryFormat("preserve_format")
channels_last = MemoryFormat("channels_last")
channels_last_3d = MemoryFormat("channels_last_3d")
strided = StorageLayout("strided")
sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = map(
    StorageLayout, ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
)


def name_attributes(part: type) -> None:
    """Give the properties of a part of Tensor names."""
    for name, found in list(vars(part).items()):
        if type(found) is property:
            named = Attribute(found.fget, found.fset, found.fdel, found.__doc__)
            named.__set_name__(part, name)
            setattr(part, name, named)


def _forwarded(path: str, doc: str) -> Any:
    return Attribute(attrgetter(path), doc=doc)  # read in C


class Geometry(_Tensor):
    """Sizes, strides, offset, memory: everything that can be told without reading the data."""

    __slots__ = ()

    @property
    def shape(self) -> Size:
        """The sizes of all dims."""
        try:
            return _SIZES[self._geometry.shape]
        except KeyError:
            return sized(self._geometry.shape)

    dtype = _forwarded("_kind.dtype", "The element type.")
    device = _forwarded("_kind.device", "Where the memory is.")
    ndim = _forwarded("_geometry.ndim", "The number of dims.")
    itemsize = _forwarded("_kind.dtype.itemsize", "Bytes of one element.")
    is_meta = _forwarded("_kind.on_meta", "Whether the tensor has a shape and no data.")

    @property
    def layout(self) -> StorageLayout:
        """torch.strided."""
        return strided

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._geometry.size * self._kind.dtype.itemsize

    @overload
    def size(self, dim: None = None) -> Size: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self, dim: int | None = None) -> Any:
        """All sizes, or the size of one dim."""
        if dim is None:
            return _SIZES.get(self._geometry.shape) or sized(self._geometry.shape)
        return self._geometry.shape[_place("size", dim, self._geometry.ndim)]

    def dim(self) -> int:
        """The number of dims."""
        return self._geometry.ndim

    def numel(self) -> int:
        """The number of elements."""
        return self._geometry.size

    def ndimension(self) -> int:
        """The number of dims."""
        return self._geometry.ndim

    def nelement(self) -> int:
        """The number of elements."""
        return self._geometry.size

    @property
    def T(self) -> Tensor:
        """The dims reversed; meant for matrices."""
        if self._geometry.ndim == 2:
            return lookup_function("permute")(self, (1, 0))
        if self._geometry.ndim:
            warn_once(
                "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
                "deprecated and it will throw an error in a future release. Consider `x.mT` to "
                "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` "
                "to reverse the dimensions of a tensor."
            )
        return lookup_function("permute")(self, tuple(range(self._geometry.ndim))[::-1])

    @property
    def mT(self) -> Tensor:
        """The last two dims swapped."""
        return self._swapped("mT")

    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix."""
        if self._geometry.ndim not in (0, 2):
            raise RuntimeError(
                f"tensor.H is only supported on matrices (2-D tensors). Got {self._geometry.ndim}-D tensor."
            )
        return lookup_function("conj")(self.T)

    @property
    def mH(self) -> Tensor:
        """The last two dims swapped and conjugated."""
        return lookup_function("conj")(self._swapped("mH"))

    def _swapped(self, name: str) -> Tensor:
        if not self._geometry.ndim:
            warn(
                f"Tensor.{name} is deprecated on 0-D tensors. This function is the identity in these cases.",
                UserWarning,
            )
            return self
        if self._geometry.ndim < 2:
            raise RuntimeError(
                f"tensor.{name} is only supported on matrices or batches of matrices. "
                f"Got {self._geometry.ndim}-D tensor."
            )
        return lookup_function("transpose")(self, -2, -1)

    @property
    def real(self) -> Tensor:
        """The real part, as a view; a real tensor is returned as it is."""
        return lookup_function("real")(self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real.copy_(value)

    @property
    def imag(self) -> Tensor:
        """The imaginary part, as a view."""
        return lookup_function("imag")(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag.copy_(value)

    def element_size(self) -> int:
        """Bytes of one element."""
        return self._kind.dtype.itemsize

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, dim: int | None = None) -> Any:
        """Strides in elements: all, or of one dim."""
        a = self._geometry
        strides = _in_elements(a.strides, a.itemsize)
        if not any(strides) and not a.size:
            strides = contiguous_strides(a.shape)  # NumPy's empty arrays have none
        return strides if dim is None else strides[_place("stride", dim, a.ndim)]

    def storage_offset(self) -> int:
        """Elements from the start of the storage to the first element."""
        start = storage(self).bytes(self._memory)
        if not start.size:
            return 0
        return (address(self._memory) - address(start)) // self._geometry.itemsize

    def data_ptr(self) -> int:
        """The address of the first element; 0 for an empty tensor; on meta, where none is, as from 0 on."""
        if self._kind.device.type == "meta":
            return int(self.storage_offset() * self._geometry.itemsize)
        return address(self._memory) if self._geometry.size else 0

    @property
    def _cdata(self) -> int:
        """A number of what the tensor is made of: swap_tensors exchanges it, `.data =` leaves it."""
        # Among the attributes, which are exchanged, and from the first question on alone.
        return int(self.__dict__.setdefault("_cdata", next(_IDENTITIES)))

    @property
    def _version(self) -> int:
        if self._storage is not None and self._storage.inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._storage is None else self._storage.version

    def untyped_storage(self) -> Any:
        """The storage: the memory shared by all views of this tensor."""
        # What it needs, tensors.tensor, imports this file.
        from rushlight._engine.tensors.storages.untyped import UntypedStorage

        return UntypedStorage._of(self)

    def storage(self) -> Any:
        """The storage with this tensor's dtype; PyTorch advises untyped_storage()."""
        # What it needs, tensors.tensor, imports this file.
        from rushlight._engine.tensors.storages.typed import TypedStorage, warn_of_removal

        warn_of_removal()
        return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self._kind.dtype)

    def is_contiguous(self, memory_format: MemoryFormat = contiguous_format) -> bool:
        """Whether the elements lie in the order of `memory_format` without gaps."""
        a = self._geometry
        if memory_format is contiguous_format or memory_format is preserve_format:
            return a.flags.c_contiguous
        if a.ndim != (4 if memory_format is channels_last else 5):
            return False
        strides, step = self.stride(), 1
        for d in (1, *range(a.ndim - 1, 1, -1), 0):
            if a.shape[d] != 1 and strides[d] != step:
                return False
            step *= a.shape[d]
        return True

    def dim_order(self, *, ambiguity_check: Any = False) -> tuple[int, ...]:
        """The dims from the outermost to the innermost in memory.

        ambiguity_check: False by default; True, or a list of memory formats of which exactly one must fit: a
        RuntimeError where dims of size 1 or of equal strides leave the order open.
        """
        formats = [] if isinstance(ambiguity_check, bool) else ambiguity_check
        if not isinstance(formats, list) or not all(isinstance(f, MemoryFormat) for f in formats):
            raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
        strides = tuple(self.stride())
        several = 1 in self.shape or any(a == b for a, b in pairwise(strides))
        if several and ambiguity_check is not False and sum(map(self.is_contiguous, formats)) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the "
                "given memory formats."
            )
        return tuple(iteration_order(tuple(self.shape), (strides,)))

    def is_floating_point(self) -> bool:
        """Whether the dtype is a floating-point one."""
        return self._kind.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return self._kind.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether the dtype has negative numbers."""
        return self._kind.dtype.is_signed

    def get_device(self) -> int:
        """The number of the device; -1 for the CPU."""
        return -1 if self._kind.device.index is None else int(self._kind.device.index)

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a CUDA device's."""
        return self._kind.backend is not None

    @property
    def is_cpu(self) -> bool:
        """Whether the memory is the CPU's."""
        return self._kind.device.type == "cpu"

    def is_same_size(self, other: Tensor) -> bool:
        """Whether the shapes are equal. RuntimeError beside a nested tensor."""
        if other.is_nested:
            raise RuntimeError(
                "Expected both self and other to be nested tensors. Self is not nested. While Other is "
                "nested."
            )
        return bool(self._geometry.shape == other._geometry.shape)

    def storage_type(self) -> Any:
        """The class of this dtype's storages: torch.FloatStorage, ..."""
        # What it needs, tensors.tensor, imports this file.
        from rushlight._engine.tensors.storages.typed import CUDA_STORAGES, _dtype_to_storage_type_map

        name = _dtype_to_storage_type_map()[self._kind.dtype]
        return service("public name")(name) if self._kind.backend is None else CUDA_STORAGES[name]

    def is_set_to(self, other: Tensor) -> bool:
        """Whether both see the same memory in the same way."""
        ours = (self.data_ptr(), self.shape, self.stride(), self.storage_offset())
        theirs = (other.data_ptr(), other.shape, other.stride(), other.storage_offset())
        # Without elements there is no address: only a storage that both know tells.
        return ours == theirs and (
            bool(ours[0]) or (self._storage is not None and self._storage is other._storage)
        )

    def is_shared(self) -> bool:
        """Whether other processes can see the memory, after share_memory_() or a way through a queue."""
        own = (self._storage is not None and self._storage in SHARED) or self._kind.backend is not None
        return own or (bool(SHARED) and shared_at(owner(self._memory)) is not None)

    def is_conj(self) -> bool:
        """Whether it is a view that is conjugated when it is read."""
        return self._kind.conj

    def is_neg(self) -> bool:
        """Whether it is a view that is negated when it is read."""
        return self._kind.neg

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is page-locked, for copies to and from CUDA devices."""
        return page_locked(self)

    def is_inference(self) -> bool:
        """Whether it was made in inference mode."""
        return self._storage is not None and self._storage.inference

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The array API standard's functions for this tensor."""
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(f"array API version {api_version!r} is not known; up to '2024.12' are")
        return service("public name")("array_api")

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """The array API standard's name of `to(device)`."""
        return self.to(device)

    def __delitem__(self, index: Any) -> None:
        raise TypeError("Tensor does not support deleting items")

    @asking_its_own
    def __len__(self) -> int:
        if not self._geometry.ndim:
            raise TypeError("len() of a 0-d tensor")
        return int(self._geometry.shape[0])


@cache
def lookup_function(name: str) -> Callable[..., Tensor]:
    """The function of a row that gives a tensor, by its top-level name."""
    found: Callable[..., Tensor] | None = service("callable of a public name")("torch", name)
    if found is None:
        raise AttributeError(f"there is no row for torch.{name}")
    return found


for _name in (
    "sparse",
    "sparse_csr",
    "quantized",
    "mps",
    "xpu",
    "mkldnn",
    "nested",
    "xla",
    "hpu",
    "ipu",
    "mtia",
    "maia",
    "vulkan",
):
    setattr(Geometry, f"is_{_name}", property(lambda self: False))
