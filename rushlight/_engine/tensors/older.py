"""The part of Tensor that PyTorch keeps for older programs."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.callers import warn
from rushlight._engine.tensors.of_class import asking_its_own

if TYPE_CHECKING:  # it imports this file
    from rushlight._engine.tensors.storages.typed import TypedStorage
    from rushlight._engine.tensors.tensor import Tensor

    # A part of Tensor: its other parts are there, too.
    _Tensor = Tensor
else:
    _Tensor = object


class Older(_Tensor):
    """resize, resize_as, dequantize, and questions that have one answer by now."""

    __slots__ = ()

    def resize(self, *sizes: Any) -> Tensor:
        """The same elements in another shape, int by int; a view where the tensor is contiguous.

        Raises RuntimeError where the number of elements differs. Deprecated, as a UserWarning says: use
        reshape().
        """
        warn("non-inplace resize is deprecated")
        total = prod(sizes)
        if total != self.numel():
            given = "x".join(map(str, sizes))
            own = "x".join(map(str, self.shape))
            raise RuntimeError(
                f"requested resize to {given} ({total} elements in total), but the given tensor has a size "
                f"of {own} ({self.numel()} elements). autograd's resize can only change the shape of a given "
                "tensor, while preserving the number of elements. "
            )
        return self.contiguous().view(*sizes)

    def resize_as(self, tensor: Tensor) -> Tensor:
        """resize() to the shape of another tensor."""
        return self.resize(*tensor.shape)

    def dequantize(self) -> Tensor:
        """The numbers as float32; of quantized tensors, what they stand for."""
        return self.to(dt.float32)

    def is_distributed(self) -> bool:
        """False: no tensor is."""
        return False

    @property
    def volatile(self) -> bool:
        """False: torch.no_grad() is what it has become."""
        return False

    def const_data_ptr(self) -> int:
        """data_ptr(), by who only reads."""
        return self.data_ptr()

    def _typed_storage(self) -> TypedStorage:
        # What it needs, tensors.tensor, imports this file.
        from rushlight._engine.tensors.storages.typed import TypedStorage

        return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True)

    @asking_its_own
    def __long__(self) -> int:
        return int(self)

    @asking_its_own
    def __nonzero__(self) -> bool:
        return bool(self)
