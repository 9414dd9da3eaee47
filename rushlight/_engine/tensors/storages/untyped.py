"""torch.UntypedStorage: the bytes behind a tensor, as an object."""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Iterator
from typing import Any
from weakref import ref

import numpy as np

from rushlight._engine.core.accelerator import is_away
from rushlight._engine.core.device import CPU, META, device as as_device
from rushlight._engine.core.dtype import bool_, uint8
from rushlight._engine.lazy import package
from rushlight._engine.tensors.kind import available, backend_of, kind
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.storages.storage import SHARED, Storage, address
from rushlight._engine.tensors.tensor import Tensor, storage


class UntypedStorage:
    """A flat run of bytes, shared by every tensor that views it.

    UntypedStorage(n): n bytes. UntypedStorage(sequence): these bytes. device: "cpu", or "meta" (no bytes).
    """

    __module__ = f"{package()}.storage"
    # _unreal: it is of a tensor that says it lies on a device, and has no memory.
    __slots__ = ("_shared", "_unreal", "_view", "device", "__dict__", "__weakref__")

    def __init__(self, size: Any = 0, *, device: Any = "cpu") -> None:
        where = kind(uint8, as_device(device)).device
        if where is META:
            self._hold(meta_array((size if isinstance(size, int) else len(size),), np.uint8, (1,)))
            self.device = where
            return
        flat = np.zeros(size, np.uint8) if isinstance(size, int) else np.array(size, np.uint8)
        self._hold(flat if where is CPU else UntypedStorage._over(flat).cuda(where)._bytes())

    def _hold(self, flat: np.ndarray[Any, Any]) -> None:
        self._shared, self._view, self.device = Storage(), flat, flat.device.where if is_away(flat) else CPU
        self._shared._bytes, self._unreal = flat, False
        self._known()

    def _known(self) -> None:
        """Who asks for the storage of this memory gets this object, with what a program gave it."""
        if self._shared.attributes is None:
            self._shared.attributes = self.__dict__
        else:
            self.__dict__ = self._shared.attributes
        self._shared.handle = ref(self)

    @classmethod
    def _of(cls, t: Tensor) -> UntypedStorage:
        memory = storage(t)
        found: UntypedStorage | None = memory.handle and memory.handle()
        if found is not None:
            return found
        made: UntypedStorage = object.__new__(cls)
        made._shared, made._view, made.device = memory, t._memory, t._kind.device
        made._unreal = t._kind.on_meta and made.device is not META and not hasattr(t, "fake_mode")
        made._known()
        return made

    @classmethod
    def _over(cls, flat: np.ndarray[Any, Any]) -> UntypedStorage:
        """A storage around bytes: a 1-d uint8 array."""
        made: UntypedStorage = object.__new__(cls)
        made._hold(flat)
        return made

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """A storage over a mapped file; if `shared`, writes reach it and it is made long enough."""
        with open(filename, "r+b" if shared else "rb") as file:
            length = os.fstat(file.fileno()).st_size
            if length < nbytes:
                if not shared:
                    raise RuntimeError(
                        f"unable to map file {filename}: expected at least {nbytes} bytes, got {length}"
                    )
                file.truncate(nbytes)
            if not (nbytes or length):
                return cls._over(np.empty(0, np.uint8))
            access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
            mapped = mmap.mmap(file.fileno(), nbytes or length, access=access)
        return cls._over(np.frombuffer(mapped, np.uint8))

    @classmethod
    def from_buffer(
        cls,
        buffer: Any,
        byte_order: str | None = None,
        count: int = -1,
        offset: int = 0,
        *,
        dtype: Any = None,
    ) -> UntypedStorage:
        """A copy of `count` elements (-1: all) of a buffer from byte `offset` on, turned to this machine's
        byte order from "little", "big" or "native", which elements of more than a byte need.

        ValueError where the buffer does not hold them, RuntimeError without the dtype or the order.
        """
        if dtype is None:
            raise RuntimeError("argument 'dtype' cannot be None")
        step = dtype.itemsize
        if byte_order is None and step > 1 and dtype is not bool_:
            raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
        if byte_order not in (None, "big", "little", "native"):
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
        whole = np.frombuffer(buffer, np.uint8)
        if offset < 0 or offset > whole.size:
            raise ValueError(
                f"offset must be non-negative and no greater than buffer length ({whole.size}), but got "
                f"{offset}"
            )
        left = whole.size - offset
        if count < 0 and left % step:
            raise ValueError(f"buffer size ({left}) must be a multiple of element size ({step})")
        count = left // step if count < 0 else count
        if count * step > left:
            raise ValueError(
                f"buffer has only {left // step} elements after offset {offset}, but specified a size of "
                f"{count}"
            )
        flat = whole[offset : offset + count * step].copy()
        if dtype is bool_:
            flat = (flat != 0).view(np.uint8)
        elif byte_order not in (None, "native", sys.byteorder):
            width = step // 2 if dtype.is_complex else step
            flat = np.ascontiguousarray(flat.reshape(-1, width)[:, ::-1]).reshape(-1)
        return cls._over(flat)

    def _bytes(self) -> Any:
        return self._shared.bytes(self._view)

    def _check(self) -> None:
        if self._unreal:
            raise RuntimeError("Attempted to access the data pointer on an invalid python storage.")

    @property
    def __array_interface__(self) -> Any:
        return self._bytes().__array_interface__

    def nbytes(self) -> int:
        """The number of bytes."""
        return int(self._bytes().size)

    size = nbytes

    def untyped(self) -> UntypedStorage:
        """Itself."""
        return self

    def element_size(self) -> int:
        """1: elements are bytes."""
        return 1

    def data_ptr(self) -> int:
        """The address of the first byte; 0 when empty. RuntimeError where there is no memory."""
        self._check()
        return address(self._bytes()) if self.nbytes() and self.device.type != "meta" else 0

    def __len__(self) -> int:
        return self.nbytes()

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        """A byte, or for a slice a storage that shares the bytes."""
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        self._check()
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError(
                    f"Trying to slice with a step of {index.step}, but only a step of 1 is supported"
                )
            return UntypedStorage._over(self._bytes()[index])
        return int(self._bytes()[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._bytes()[index] = value
        self._shared.version += 1

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte."""
        self[:] = value
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Copy another storage's bytes, of the same number."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        source._with_data()
        self[:] = source._bytes() if source.device == self.device else source.cpu()._bytes()
        return self

    def _write_file(self, f: Any, is_real_file: bool, save_size: bool, element_size: int) -> None:
        """Write the bytes to an open file, behind the number of elements if save_size."""
        self._with_data()
        if save_size:
            f.write((self.nbytes() // element_size).to_bytes(8, "little"))
        f.write(self.cpu()._bytes().tobytes())

    def __sizeof__(self) -> int:
        # With what Python keeps before an object, 64 beside the bytes, as in PyTorch: summaries of networks
        # add up `sys.getsizeof` and show the sum.
        return 32 + self.nbytes()

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        # It imports this file.
        from rushlight._engine.tensors.storages import typed

        return typed._load_from_bytes, (typed.saved_bytes(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        if self.device.type != "cpu":
            return self.clone()
        # Tensors that see the storage find its copy under the same number.
        found = memo.get(id(self._shared))
        if found is None:
            found = memo[id(self._shared)] = UntypedStorage._over(self._bytes().copy())._shared
        made: UntypedStorage = object.__new__(type(self))
        made._shared, made._view, made.device = found, found._bytes, CPU  # type: ignore[assignment]
        made._known()
        return made

    def clone(self) -> UntypedStorage:
        """A storage with its own copy of the bytes."""
        return UntypedStorage._over(self._bytes().copy())

    def cpu(self) -> UntypedStorage:
        """Itself where it is in the CPU's memory, else a copy there."""
        self._with_data()
        flat = self._bytes()
        return UntypedStorage._over(flat.device.read(flat).copy()) if is_away(flat) else self

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """A copy on a CUDA device, the current one if None; itself where it is there."""
        where = available(as_device("cuda" if device is None else device))
        if where == self.device:
            return self
        flat = backend_of(where).empty((self.nbytes(),), np.dtype(np.uint8))
        flat[:] = self.cpu()._bytes()
        return UntypedStorage._over(flat)

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a CUDA device's."""
        return bool(self.device.type == "cuda")

    def pin_memory(self, device: Any = None) -> UntypedStorage:
        """Itself in page-locked memory: a copy that is marked so."""
        if self._shared.pinned:
            return self
        made = self.clone()
        made._shared.pinned = True
        return made

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is page-locked."""
        return self._shared.pinned

    def is_shared(self) -> bool:
        """Whether other processes can see the memory."""
        return self._shared in SHARED

    def share_memory_(self) -> UntypedStorage:
        """Move the bytes, and all tensors that see them, into memory that other processes can see."""
        # few programs share memory between processes
        from rushlight._engine.tensors.storages.sharing import share

        self._on_cpu("share_memory_")
        self._bytes()
        share(self._shared)
        return self

    def _on_cpu(self, what: str) -> None:
        if self.device.type != "cpu":
            raise RuntimeError(f"{what}: only available on CPU")

    def _with_data(self) -> None:
        if self.device.type == "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")

    def tolist(self) -> list[int]:
        """The bytes as ints."""
        self._check()
        return list(self._bytes().tolist())

    def resizable(self) -> bool:
        """Whether its bytes may become more or fewer: not where a NumPy array sees them."""
        return not (self._shared.foreign or self._shared.exposed)

    def get_device(self) -> int:
        """The number of the GPU; -1 where it is in the CPU's memory."""
        return -1 if self.device.index is None else int(self.device.index)

    def resize_(self, nbytes: int) -> UntypedStorage:
        """Refused: tensors that view the storage would lose their memory."""
        if self.device.type == "meta":
            self._hold(meta_array((nbytes,), np.uint8, (1,)))
            self.device = META
            return self
        if nbytes == self.nbytes():
            return self
        raise RuntimeError(
            f"UntypedStorage.resize_: expected the present size {self.nbytes()}, "
            f"got {nbytes}; make a new tensor instead"
        )

    @property
    def _cdata(self) -> int:
        self._bytes()  # so that who has the number finds the memory
        return id(self._shared)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._shared is self._shared

    def __hash__(self) -> int:
        return id(self._shared)

    def __repr__(self) -> str:
        values = "".join(f" {value}\n" for value in self)
        return f"{values}[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"


def storage_id(t: Tensor) -> int:
    """A number of the memory that a tensor sees."""
    return UntypedStorage._of(t)._cdata
