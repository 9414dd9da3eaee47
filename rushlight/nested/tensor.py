"""Nested tensors: a batch of tensors of one number of dims, of which one dim has its own size in each (the
jagged layout; strided_layout.py has the other).

The components lie behind each other in `values`, along that dim; `offsets` (batch + 1,) says where each
begins. Dim 0 counts the components, so dim d of the nested tensor is dim d - 1 of the values. An op comes by
`__torch_function__`: one that leaves the uneven dim alone is the same op of the values; the few that work
along it know where components end. Gradients are those of the values.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from itertools import count
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.geometry import StorageLayout
from rushlight._engine.tensors.tensor import Tensor

jagged = StorageLayout("jagged")
_NUMBERS = count(1)


class NestedInt(int):
    """The size of the uneven dim, as a symbol: equal to itself alone; as an int, the largest component's."""

    name: str

    def __new__(cls, largest: int) -> NestedInt:
        """A new symbol."""
        made = super().__new__(cls, largest)
        made.name = f"j{next(_NUMBERS)}"
        return made

    def __eq__(self, other: object) -> bool:
        return other is self

    __hash__ = int.__hash__

    def __ne__(self, other: object) -> bool:
        return other is not self

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


class Extent:
    """Where components begin and end: shared by all tensors that are nested alike."""

    def __init__(self, offsets: Tensor) -> None:
        self.offsets = offsets
        self.bounds: list[int] = offsets.tolist()
        self.lengths = [b - a for a, b in zip(self.bounds, self.bounds[1:])]
        self.size = NestedInt(max(self.lengths, default=0))

    def same(self, other: Extent) -> bool:
        """Whether components have the same sizes."""
        return other is self or other.bounds == self.bounds

    def owners(self) -> Tensor:
        """Which component each place of the values is of."""
        return torch.repeat_interleave(self.offsets.diff().to(torch.int64))

    def moved(self, move: Callable[[Tensor, Any], Tensor]) -> Extent:
        """The same sizes, said on another device."""
        there = copy(self)
        there.offsets = move(self.offsets, None)
        return there


def make(values: Tensor, extent: Extent, ragged: int = 1, layout: Any = jagged) -> NestedTensor:
    """A nested tensor over its values; ragged: its uneven dim."""
    made: NestedTensor = object.__new__(NestedTensor)
    made._kind, made._grad_node, made._output_nr, made._storage = values._kind, None, 0, None
    sizes = [len(extent.lengths), *values.shape]
    sizes[ragged] = int(extent.size)
    made._array = np.broadcast_to(np.zeros((), values._kind.np), tuple(map(int, sizes)))
    made.__dict__.update(_values=values, extent=extent, ragged=ragged, _layout=layout)
    return made


class NestedTensor(Tensor):
    """Made by torch.nested's functions."""

    __slots__ = ()
    _prints_itself = True
    _values: Tensor
    extent: Extent
    ragged: int
    _layout: Any

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # made of this class
        from rushlight.nested.ops import run

        return run(func, args, kwargs or {})

    # --- what it is made of -----------------------------------------------------------------------

    def like(self, values: Tensor, ragged: int | None = None) -> NestedTensor:
        """The same components with other values."""
        return make(values, self.extent, self.ragged if ragged is None else ragged, self._layout)

    @property
    def is_nested(self) -> bool:
        """True."""
        return True

    @property
    def layout(self) -> Any:
        """torch.jagged, or torch.strided of those in strided_layout.py."""
        return self._layout

    def parts_moved(self, move: Callable[[Tensor, Any], Tensor], dtype: Any) -> NestedTensor:
        """On another device: move(part, dtype) of values and offsets, None for one that keeps its dtype."""
        return make(move(self._values, dtype), self.extent.moved(move), self.ragged, self._layout)

    def values(self) -> Tensor:
        """The components behind each other, along the uneven dim."""
        return self._values

    def offsets(self) -> Tensor:
        """Where each component begins, and the last ends: (batch + 1,)."""
        return self.extent.offsets

    def lengths(self) -> None:
        """None: components lie without gaps."""

    @property
    def _offsets(self) -> Tensor:
        return self.extent.offsets

    @property
    def _min_seqlen(self) -> int:
        return min(self.extent.lengths, default=0)

    @property
    def _max_seqlen(self) -> int:
        return max(self.extent.lengths, default=0)

    @property
    def _ragged_idx(self) -> int:
        return self.ragged

    @property
    def shape(self) -> Any:
        """The sizes; that of the uneven dim is a symbol."""
        sizes: list[int] = [len(self.extent.lengths), *self._values.shape]
        sizes[self.ragged] = self.extent.size
        found: Any = tuple.__new__(torch.Size, sizes)  # which keeps the symbol
        return found

    def size(self, dim: int | None = None) -> Any:
        """The sizes, or one of them."""
        if dim is None:
            return self.shape
        at = wrap_dim(dim, self.dim())
        if at == 0:
            return len(self.extent.lengths)
        if at != self.ragged:
            return self._values.shape[at - 1]
        return self.extent.size

    def numel(self) -> int:
        """Of all components."""
        return self._values.numel()

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the values are, and the uneven dim is the first."""
        return self.ragged == 1 and self._values.is_contiguous()

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """The components."""
        if dim != 0:
            raise RuntimeError("unbind(): only supported for NestedTensor on dim 0")
        return tuple(self._values.split(self.extent.lengths, self.ragged - 1))

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Tensor:
        """A dense tensor, with `padding` behind the components; output_size: its sizes, at least these."""
        largest, at = max(self.extent.lengths, default=0), self.ragged - 1
        values = self._values.movedim(at, 0)
        owners = self.extent.owners()
        places = torch.arange(len(owners), device=owners.device) - self.extent.offsets[owners]
        padded = values.new_full((len(self.extent.lengths), largest, *values.shape[1:]), padding)
        padded = padded.index_put((owners, places), values).movedim(1, self.ragged)
        if output_size is None:
            return padded
        more = [wanted - had for wanted, had in zip(output_size, padded.shape)]
        if any(n < 0 for n in more):
            raise RuntimeError(
                "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
            )
        return torch.nn.functional.pad(
            padded, [n for size in reversed(more) for n in (0, size)], value=padding
        )

    def __len__(self) -> int:
        return len(self.extent.lengths)

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int) and not isinstance(index, bool):
            return self.unbind()[index]
        if (
            isinstance(index, tuple)
            and len(index) > self.ragged
            and all(i == slice(None) for i in index[: self.ragged + 1])
        ):
            return self.like(self._values[tuple(index[1:])])
        if (
            isinstance(index, tuple)
            and index
            and index[0] is Ellipsis
            and len(index) <= self.dim() - self.ragged
        ):
            return self.like(self._values[index])
        raise NotImplementedError(
            "indexing a nested tensor: take a component (x[i]), or index the even dims behind all others "
            "(x[..., i]); use unbind() or to_padded_tensor() for the rest"
        )

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return self._shown()

    __str__ = __repr__

    def _shown(self) -> str:
        said = f"size={tuple(self.shape)}, offsets={self.offsets()}"
        if self.grad_fn is not None:
            said += f", grad_fn=<{type(self.grad_fn).__name__}>"
        elif self.requires_grad:
            said += ", requires_grad=True"
        return f"NestedTensor({said}, contiguous={self.is_contiguous()})"

    def __deepcopy__(self, memo: Any) -> NestedTensor:
        return self.like(self._values.detach().clone().requires_grad_(self.requires_grad))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuilt, (self._values, self.extent.offsets, self.ragged, self._layout)

    # --- its place in the graph: that of its values -----------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether its values do."""
        return self._values.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._values.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> NestedTensor:
        """Turn the tracking of the values on or off."""
        self._values.requires_grad_(requires_grad)
        return self

    @property
    def grad_fn(self) -> Any:
        """The node of its values."""
        return self._values.grad_fn

    @property
    def is_leaf(self) -> Any:
        """Whether its values are a leaf."""
        return self._values.is_leaf

    @property
    def grad(self) -> Any:
        """The gradient, nested alike."""
        found = self._values.grad
        return None if found is None else self.like(found)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._values.grad = None if value is None else value._values

    def backward(self, gradient: Any = None, *args: Any, **options: Any) -> None:
        """Backward from the values, with a gradient that is nested alike."""
        given = gradient._values if isinstance(gradient, NestedTensor) else gradient
        self._values.backward(given, *args, **options)

    def _is_view(self) -> bool:
        return self._values._is_view()

    @property
    def _base(self) -> Any:
        return self._values._base

    def detach(self) -> NestedTensor:
        """The same values outside the graph."""
        return self.like(self._values.detach())


def _rebuilt(values: Tensor, offsets: Tensor, ragged: int, layout: Any) -> NestedTensor:
    return make(values, Extent(offsets), ragged, layout)


def is_pointwise(name: str) -> bool:
    """Whether a row works element by element."""
    row = ROWS.get(name) or ROWS.get(name.rstrip("_"))
    return row is not None and row.kind == "pointwise"


Rule = Callable[..., Any]
