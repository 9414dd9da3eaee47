"""torch.UntypedStorage: the bytes behind a tensor, as an object."""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.base.device import device
from rushlight.tensor.storage import Storage, address
from rushlight.tensor.tensor import Tensor, storage


class UntypedStorage:
    """A flat run of bytes, shared by every tensor that views it."""

    def __init__(self, size: int = 0) -> None:
        self._shared = Storage()
        self._view = np.zeros(int(size), np.uint8)
        self.device = device("cpu")

    @classmethod
    def _of(cls, t: Tensor) -> "UntypedStorage":
        made: UntypedStorage = object.__new__(cls)
        made._shared, made._view, made.device = storage(t), t._a, t._k.device
        return made

    def _bytes(self) -> Any:
        return self._shared.bytes(self._view)

    def nbytes(self) -> int:
        """The number of bytes."""
        return int(self._bytes().size)

    size = nbytes

    def data_ptr(self) -> int:
        """The address of the first byte; 0 when empty."""
        return address(self._bytes()) if self.nbytes() else 0

    def __len__(self) -> int:
        return self.nbytes()

    def __getitem__(self, index: Any) -> Any:
        found = self._bytes()[index]
        return int(found) if np.ndim(found) == 0 else found.tolist()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._bytes()[index] = value
        self._shared.version += 1

    def tolist(self) -> list[int]:
        """The bytes as ints."""
        return [int(b) for b in self._bytes()]

    def resize_(self, nbytes: int) -> "UntypedStorage":
        """Refused: tensors that view the storage would lose their memory."""
        if nbytes == self.nbytes():
            return self
        raise RuntimeError(f"UntypedStorage.resize_: expected the present size {self.nbytes()}, got "
                           f"{nbytes}; make a new tensor instead")

    @property
    def _cdata(self) -> int:
        return id(self._shared)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._shared is self._shared

    def __hash__(self) -> int:
        return id(self._shared)
