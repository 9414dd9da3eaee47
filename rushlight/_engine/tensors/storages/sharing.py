"""Memory that processes share: files in memory that have no names, and storages that lie in one.

Who knows such a file's descriptor maps it; when nobody does any more, killed or not, the system takes it
back.
"""

from __future__ import annotations

import gc
import mmap
import os
import sys
import tempfile
import weakref
from multiprocessing import reduction
from typing import Any

import numpy as np

from rushlight._engine.tensors.copying import AMONG_OURS
from rushlight._engine.tensors.lazy_views import place
from rushlight._engine.tensors.storages.storage import SHARED, Storage, shared_at, strided
from rushlight._engine.tensors.tensor import Tensor, storage

# A mapping need not keep the file's descriptor, of which a process has few.
_MAPPING: dict[str, Any] = {"trackfd": False} if sys.version_info >= (3, 13) else {}
# All pages at once rather than a fault for each.
_WHOLE = {**_MAPPING, "flags": mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)}
# The storages that lie in files, by (device, inode): a file that comes twice is one storage.
_KNOWN: weakref.WeakValueDictionary[tuple[int, int], Storage] = weakref.WeakValueDictionary()
# The references to a storage that only one tensor has: the tensor's, share()'s, getrefcount()'s.
_ALONE = 3


def anonymous_file(size: int) -> int:
    """The descriptor of a file in memory that has no name."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("rushlight", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    try:
        os.truncate(descriptor, max(size, 1))
    except OSError as error:
        os.close(descriptor)
        raise RuntimeError(
            f"unable to make {size} bytes of shared memory ({error}); in a DataLoader use "
            "smaller batches, fewer workers or a lower prefetch_factor"
        ) from error
    return descriptor


def mapped(descriptor: int, size: int) -> mmap.mmap:
    """A file's memory, shared with all who map it."""
    return mmap.mmap(descriptor, max(size, 1), **_WHOLE)


def private(descriptor: int, size: int) -> mmap.mmap:
    """A file's memory; what is written to it stays in this process."""
    return mmap.mmap(descriptor, max(size, 1), access=mmap.ACCESS_COPY, **_MAPPING)


def refuse_graph(t: Tensor) -> None:
    """RuntimeError for a tensor that an op made and that requires grad: no other process has its graph."""
    if t.requires_grad and not t.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does "
            "not support crossing process boundaries. If you just want to transfer the data, call "
            "detach() on the tensor before serializing (e.g., putting it on the queue)."
        )


def share(memory: Storage, t: Tensor | None = None) -> None:
    """Move a storage into a file in memory, and with it all tensors that see it; `t`: one of them."""
    if memory in SHARED or (t is not None and t._kind.on_meta):
        return
    old: Any = memory._bytes if t is None else memory.bytes(t._memory)
    if (known := shared_at(old)) is not None:
        # Another storage of the same memory: that of `x.data`, which counts its own versions.
        SHARED[memory] = SHARED[known]
        weakref.finalize(memory, _outlived, known)
        return
    viewers = (
        [t]
        if t is not None and sys.getrefcount(memory) <= _ALONE
        else [v for v in gc.get_referrers(memory) if isinstance(v, Tensor)]
    )
    places = [(v, v.storage_offset(), v.stride()) for v in viewers]
    block(old.size, memory=memory)._bytes[:] = old  # type: ignore[index]
    for v, offset, steps in places:
        place(v, strided(memory._bytes, v._geometry.dtype, v._geometry.shape, steps, offset), v._kind)  # type: ignore[arg-type]


def _outlived(memory: Storage) -> None:
    """What a finalizer holds until then: a storage, and so its file's descriptor."""


def block(size: int, descriptor: int | None = None, memory: Storage | None = None) -> Storage:
    """A storage, new if none is given, over a file in memory, new if none is given."""
    descriptor = anonymous_file(size) if descriptor is None else descriptor
    memory = Storage() if memory is None else memory
    memory._bytes = np.frombuffer(mapped(descriptor, size), np.uint8)[:size]
    memory.foreign, SHARED[memory] = True, descriptor
    _KNOWN[_identity(descriptor)] = memory
    weakref.finalize(memory, os.close, descriptor)
    return memory


def _identity(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino


# --- what multiprocessing's pickles hold --------------------------------------------------------


def reduce_tensor(t: Tensor) -> Any:
    """A tensor on its way to another process: its storage is shared from now on."""
    refuse_graph(t)
    share(storage(t), t)
    return t.__reduce_ex__(AMONG_OURS)


def reduce_storage(memory: Storage) -> Any:
    """A storage: its file, or its bytes where it is in none."""
    if memory not in SHARED:
        return memory.__reduce__()
    return _received, (on_its_way(memory), memory._bytes.size)  # type: ignore[union-attr]


def on_its_way(memory: Storage) -> Any:
    """What carries the file of a shared storage in a pickle; its detach() gives the descriptor there."""
    return reduction.DupFd(SHARED[memory])


def _received(duplicate: Any, size: int) -> Storage:
    descriptor = duplicate.detach()
    known = _KNOWN.get(_identity(descriptor))
    if known is None:
        return block(size, descriptor)
    os.close(descriptor)
    return known
