"""torch.multiprocessing.reductions: how tensors go to other processes, and a handle of a storage's memory."""

from __future__ import annotations

import weakref
from typing import Any

from rushlight._engine.tensors.storages.sharing import reduce_storage, reduce_tensor
from rushlight._engine.tensors.storages.untyped import UntypedStorage

__all__ = ["StorageWeakRef", "reduce_storage", "reduce_tensor"]


class StorageWeakRef:
    """A handle of a storage that does not keep its memory; two of the same memory are equal.

    storage: a typed or untyped one.
    """

    __slots__ = ("_memory", "cdata")

    def __init__(self, storage: Any) -> None:
        own = storage if isinstance(storage, UntypedStorage) else storage.untyped()
        self.cdata = own._cdata
        self._memory = weakref.ref(own._shared)

    def expired(self) -> bool:
        """Whether the memory is gone."""
        return self._memory() is None

    def __eq__(self, other: object) -> bool:
        # Not by cdata, which other memory has, once this one is gone.
        return isinstance(other, StorageWeakRef) and other._memory == self._memory

    def __hash__(self) -> int:
        return self.cdata
