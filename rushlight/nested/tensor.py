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
from rushlight._engine.dispatch.overrides import of_rows
from rushlight._engine.lazy import package
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.geometry import StorageLayout
from rushlight._engine.tensors.tensor import Tensor

jagged = StorageLayout("jagged")
_NUMBERS = count(1)


class NestedInt(int):
    """The size of the uneven dim, as a symbol: equal to itself alone; as an int, the largest component's."""

    name: str
    uneven = True  # isinstance(size, torch.SymInt) holds

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
    @of_rows
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

    nelement = numel

    @property
    def nbytes(self) -> int:
        """Bytes of all components."""
        return self.numel() * self.element_size()

    def untyped_storage(self) -> Any:
        """That of the values."""
        return self._values.untyped_storage()

    def item(self) -> Any:
        """The value of a tensor of one element."""
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return self._values.item()

    def tolist(self) -> Any:
        """RuntimeError: components differ in size."""
        raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}")

    def numpy(self, *, force: bool = False) -> Any:
        """RuntimeError: components differ in size."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def __contains__(self, element: Any) -> bool:
        return element in self._values

    def fill_(self, value: Any) -> NestedTensor:
        """Write one number everywhere."""
        return self._written(lambda values: values.fill_(value))

    def zero_(self) -> NestedTensor:
        """Write zeros everywhere."""
        return self._written(lambda values: values.zero_())

    def _written(self, write: Callable[[Tensor], Any]) -> NestedTensor:
        write(self._values)
        return self

    def resize_(self, *sizes: Any, **options: Any) -> Any:
        """NotImplementedError."""
        raise NotImplementedError("resize_() of a nested tensor: make a new one of its components")

    def set_(self, *source: Any, **options: Any) -> Any:
        """NotImplementedError."""
        raise NotImplementedError("set_() of a nested tensor: make a new one of its components")

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

    def is_same_size(self, other: Tensor) -> bool:
        """Whether the sizes are equal: the uneven one to itself alone."""
        return bool(self.shape == other.shape)

    def __deepcopy__(self, memo: Any) -> NestedTensor:
        return self.like(self._values.detach().clone().requires_grad_(self.requires_grad))

    def __reduce_ex__(self, protocol: Any) -> Any:
        parts: dict[str, Any] = {
            "values": self._values.detach(),
            "offsets": self.extent.offsets,
            "lengths": None,
            "_ragged_idx": self.ragged,
            "_metadata_cache": {},
            "requires_grad": self.requires_grad,
        }
        return _rebuild_njt, (parts,)

    def __setstate__(self, state: Any) -> None:
        """PyTorch's files say once more, beside, what its nested tensor is made of."""

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
        self._values.backward(self.aligned(gradient), *args, **options)

    @property
    def parts(self) -> tuple[Tensor, ...]:
        """What it is made of: the last one is the graph's."""
        return (self.extent.offsets, self._values)

    def aligned(self, gradient: Any) -> Any:
        """A gradient of this tensor, as that of its values."""
        return gradient._values if isinstance(gradient, NestedTensor) else gradient

    def _gradient(self, found: Tensor) -> NestedTensor:
        return self.like(found)

    def register_hook(self, hook: Callable[[Any], Any]) -> Any:
        """Call `hook(grad)` with the gradient, nested alike, when it is known; a result replaces it."""
        whole = self.like(self._values.detach())

        def heard(grad: Any) -> Any:
            return whole.aligned(hook(None if grad is None else whole.like(grad)))

        return self._values.register_hook(heard)

    def retain_grad(self) -> None:
        """Keep a non-leaf tensor's gradient."""
        self._values.retain_grad()

    @property
    def retains_grad(self) -> bool:
        """Whether a non-leaf tensor keeps its gradient."""
        return self._values.retains_grad

    def detach_(self) -> NestedTensor:
        """Cut the values off from their graph, in place."""
        self._values.detach_()
        return self

    @property
    def data(self) -> Any:
        """The same values, written to behind autograd's back."""
        return self.like(self._values.data)

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, NestedTensor) or value.layout is not self.layout:
            raise RuntimeError("the data of a nested tensor has to be a nested tensor of its layout")
        made = value.like(value._values)
        self._values.data = made.__dict__.pop("_values")
        self.__dict__.update(made.__dict__)
        self._array = made._array

    def _is_view(self) -> bool:
        return self._values._is_view()

    @property
    def _base(self) -> Any:
        return self._values._base

    def detach(self) -> NestedTensor:
        """The same values outside the graph."""
        return self.like(self._values.detach())


def _rebuild_njt(constructor_kwargs: dict[str, Any]) -> NestedTensor:
    """A nested tensor of a file. Where components have lengths, what is between them is left out."""
    values, offsets = constructor_kwargs["values"], constructor_kwargs["offsets"]
    ragged, lengths = constructor_kwargs.get("_ragged_idx", 1), constructor_kwargs.get("lengths")
    if lengths is not None:
        places = zip(offsets.tolist(), lengths.tolist())
        values = torch.cat([values.narrow(ragged - 1, *place) for place in places], ragged - 1)
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    if constructor_kwargs.get("requires_grad"):
        values.requires_grad_()
    return make(values, Extent(offsets), ragged)


_rebuild_njt.__module__ = f"{package()}.nested._internal.nested_tensor"


class _DimRange:
    """What PyTorch's compiler notes of a dim: files of its nested tensors have it, nothing here reads it."""

    def __setstate__(self, state: Any) -> None:
        self.dim, self.min, self.max = state.values() if isinstance(state, dict) else state


# Ops of one nested tensor that are the same op of its values, whatever else they take, and no pointwise rows.
OF_VALUES = frozenset(
    "to _to_dtype float double half bfloat16 long int cpu type type_as dropout alpha_dropout zeros_like "
    "ones_like empty_like full_like rand_like randn_like is_floating_point is_complex is_signed element_size "
    "bernoulli where masked_fill masked_fill_ div div_ true_divide floor_divide".split()
)
# Reductions; without a dim, of all values.
REDUCTIONS = frozenset("sum mean amax amin max min any all prod var std logsumexp norm".split())


def unbound(func: Any, input: NestedTensor, dim: int = 0) -> Any:
    """The op unbind."""
    return input.unbind(dim)


def is_pointwise(name: str) -> bool:
    """Whether a row works element by element."""
    row = ROWS.get(name) or ROWS.get(name.rstrip("_"))
    return row is not None and row.kind == "pointwise"


Rule = Callable[..., Any]
