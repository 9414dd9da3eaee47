"""Nested tensors of the strided layout: components of one number of dims, whose sizes differ in any of them.

The components are views of one flat buffer, `_values`: each has its sizes, strides and start. Views of a
nested tensor (transpose, select, chunk) share its buffer. Gradients are those of the buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

import numpy as np

import rushlight as torch
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.core.layout import contiguous_strides
from rushlight._engine.lazy import package
from rushlight._engine.tensors.geometry import strided
from rushlight._engine.tensors.tensor import Tensor
from rushlight.nested.tensor import NestedTensor

Sizes = tuple[tuple[int, ...], ...]


class Places(NamedTuple):
    """Where components lie in the buffer."""

    sizes: Sizes
    strides: Sizes
    starts: tuple[int, ...]


def in_order(sizes: Sizes) -> Places:
    """Components of these sizes, one behind the other."""
    starts = accumulate((prod(size) for size in sizes), initial=0)
    return Places(sizes, tuple(map(contiguous_strides, sizes)), tuple(starts)[: len(sizes)])


def over(buffer: Tensor, places: Places, ndim: int | None = None) -> Strided:
    """A nested tensor over a flat buffer."""
    made: Strided = object.__new__(Strided)
    made._kind, made._grad_node, made._output_nr, made._storage = buffer._kind, None, 0, None
    dims = ndim or (1 + len(places.sizes[0]) if places.sizes else 1)
    made._array = np.broadcast_to(np.zeros((), buffer._kind.np), (len(places.sizes), *[1] * (dims - 1)))
    made.__dict__.update(_values=buffer, places=places, _layout=strided)
    return made


def of_parts(parts: Sequence[Tensor], ndim: int | None = None, like: Strided | None = None) -> Strided:
    """A nested tensor of components, copied one behind the other."""
    places = in_order(tuple(tuple(part.shape) for part in parts))
    if parts:
        return over(torch.cat([part.reshape(-1) for part in parts]), places, ndim)
    return over(torch.empty(0) if like is None else like._values[:0], places, ndim)


def of_views(x: Strided, views: Sequence[Tensor], ndim: int | None = None) -> Strided:
    """A nested tensor of views of another's components, over the same buffer."""
    begin = x._values.storage_offset()
    places = Places(
        tuple(tuple(view.shape) for view in views),
        tuple(tuple(view.stride()) for view in views),
        tuple(view.storage_offset() - begin for view in views),
    )
    return over(x._values, places, ndim)


class Strided(NestedTensor):
    """Made by torch.nested's functions with layout=torch.strided."""

    __slots__ = ()
    places: Places

    def like(self, values: Tensor, ragged: int | None = None) -> Strided:
        """The same components with another buffer."""
        return self if values is self._values else over(values, self.places, self.dim())

    def parts_moved(self, move: Callable[[Tensor, Any], Tensor], dtype: Any) -> Strided:
        """On another device: move(buffer, dtype)."""
        return self.like(move(self._values, dtype))

    # --- sizes --------------------------------------------------------------------------------------

    @property
    def shape(self) -> Any:
        """RuntimeError: sizes differ."""
        raise RuntimeError(
            "Internal error: NestedTensorImpl doesn't support sizes. Please file an issue. Ask size(dim) of "
            "an even dim, or use layout=torch.jagged"
        )

    def stride(self, dim: int | None = None) -> Any:
        """RuntimeError: strides differ."""
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support strides. Please file an issue.")

    def size(self, dim: int | None = None) -> Any:
        """The size of an even dim; RuntimeError for one in which components differ."""
        if dim is None:
            return self.shape
        at = wrap_dim(dim, self.dim())
        if at == 0:
            return len(self)
        found = {size[at - 1] for size in self.places.sizes}
        if len(found) > 1:
            raise RuntimeError(f"Given dimension {at} is irregular and does not have a size.")
        return found.pop() if found else 0

    def numel(self) -> int:
        """Of all components."""
        return sum(map(prod, self.places.sizes))

    def data_ptr(self) -> int:
        """The buffer's address."""
        return self._values.data_ptr()

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether components lie one behind the other without gaps."""
        return self.places == in_order(self.places.sizes)

    def _nested_tensor_size(self) -> Tensor:
        return torch.tensor(self.places.sizes, dtype=torch.int64)

    def _nested_tensor_strides(self) -> Tensor:
        return torch.tensor(self.places.strides, dtype=torch.int64)

    def _nested_tensor_storage_offsets(self) -> Tensor:
        return torch.tensor(self.places.starts, dtype=torch.int64)

    # --- components ---------------------------------------------------------------------------------

    def values(self) -> Tensor:
        """The components, flat, behind each other."""
        return self.flat()

    def flat(self) -> Tensor:
        """The buffer of a contiguous nested tensor, else a copy in order."""
        if self.is_contiguous() and self._values.numel() == self.numel():
            return self._values
        return of_parts(self.unbind(), self.dim(), self)._values

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """The components, views of the buffer."""
        if wrap_dim(dim, self.dim()) != 0:
            raise RuntimeError(
                f"NestedTensor can only be unbound along dimension 0 got dimension {dim} instead."
            )
        begin = self._values.storage_offset()
        return tuple(
            self._values.as_strided(size, stride, begin + start)
            for size, stride, start in zip(*self.places, strict=True)
        )

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Tensor:
        """A dense tensor, with `padding` behind the components; output_size: its sizes, at least these."""
        if not self.is_contiguous():
            raise RuntimeError("for now to_padded_tensor only supports contiguous nested tensor")
        if not len(self):
            return self._values.new_empty((0,))
        if not self.numel():
            raise RuntimeError("at least one constituent tensor should have non-zero numel")
        largest = [max(sizes) for sizes in zip(*self.places.sizes, strict=True)]
        if output_size is not None and len(output_size) != self.dim():
            raise RuntimeError(
                "Length of output_size does not match NestedTensor dims. Broadcasting is not supported."
            )
        count, *wanted = [len(self), *largest] if output_size is None else output_size
        if count < len(self) or any(have > size for have, size in zip(largest, wanted, strict=True)):
            raise RuntimeError(
                "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
            )
        rows = []
        for part in self.unbind():
            gaps = [n for size, have in zip(wanted, part.shape) for n in (size - have, 0)]
            rows.append(torch.nn.functional.pad(part, gaps[::-1], value=padding))
        padded = torch.stack(rows)
        more = count - len(rows)
        return torch.cat([padded, padded.new_full((more, *wanted), padding)]) if more else padded

    def __len__(self) -> int:
        return len(self.places.sizes)

    def __getitem__(self, index: Any) -> Any:
        first, *rest = index if isinstance(index, tuple) else (index,)
        if first is Ellipsis and all(isinstance(i, int) for i in rest):
            found: Any = self
            for behind, i in enumerate(reversed(rest)):
                found = found.select(self.dim() - 1 - behind, i)
            return found
        if isinstance(first, int) and not isinstance(first, bool):
            if not -len(self) <= first < len(self):
                raise IndexError(f"index {first} is out of bounds for dimension 0 with size {len(self)}")
            part = self.unbind()[first]
            return part[tuple(rest)] if rest else part
        raise NotImplementedError(
            "indexing a nested tensor of torch.strided: take a component, x[i] or x[i, ...]; use unbind() or "
            "to_padded_tensor() for the rest"
        )

    def _shown(self) -> str:
        parts = [part.detach().requires_grad_(self.requires_grad) for part in self.unbind()]
        said = ",\n".join(f"  {part!r}".replace("\n", "\n  ") for part in parts)
        if self.grad_fn is not None:
            return f"nested_tensor([\n{said}\n], grad_fn=<{type(self.grad_fn).__name__}>)"
        return f"nested_tensor([\n{said}\n]{', requires_grad=True' * self.requires_grad})"

    def is_same_size(self, other: Tensor) -> bool:
        """Whether both have components of the same sizes."""
        if not isinstance(other, Strided):
            raise RuntimeError(
                "Expected both self and other to be nested tensors. Self is nested. While Other is not "
                "nested."
            )
        return bool(torch.equal(self._nested_tensor_size(), other._nested_tensor_size()))

    def __reduce_ex__(self, protocol: Any) -> Any:
        parts = (
            self._nested_tensor_size(),
            self._nested_tensor_strides(),
            self._nested_tensor_storage_offsets(),
        )
        return _rebuild_nested_tensor, (self._values, *parts)

    # --- gradients ----------------------------------------------------------------------------------

    @property
    def parts(self) -> tuple[Tensor, ...]:
        """The buffer."""
        return (self._values,)

    def aligned(self, gradient: Any) -> Any:
        """A gradient of this tensor, as that of its buffer."""
        if not isinstance(gradient, Strided):
            return gradient
        if gradient.places == self.places and gradient._values.numel() == self._values.numel():
            return gradient._values
        if gradient.places.sizes != self.places.sizes:
            raise RuntimeError(
                "Mismatch in shape: a gradient's components have other sizes than the tensor's"
            )
        made = over(torch.zeros_like(self._values), self.places, self.dim())
        for part, given in zip(made.unbind(), gradient.unbind(), strict=True):
            part.copy_(given)
        return made._values

    def _written(self, write: Callable[[Tensor], Any]) -> NestedTensor:
        check_whole(self)
        return super()._written(write)

    def item(self) -> Any:
        """The value of a tensor of one element."""
        return self.flat().item() if self.numel() == 1 else super().item()

    def tolist(self) -> Any:
        """RuntimeError: components differ in size."""
        return self.stride()

    def numpy(self, *, force: bool = False) -> Any:
        """RuntimeError: components differ in size."""
        return self.shape

    def __contains__(self, element: Any) -> bool:
        return element in self.flat()


def check_whole(x: Strided) -> None:
    """RuntimeError for a view that does not have all of its buffer, or not in order."""
    if not x.is_contiguous() or x.numel() != x._values.numel():
        raise RuntimeError("NestedTensor must be contiguous to get buffer.")


def _rebuild_nested_tensor(buffer: Tensor, sizes: Tensor, strides: Tensor, starts: Tensor) -> Strided:
    """A nested tensor over a buffer, of sizes (components, dims), strides alike and starts."""
    rows = [tuple(map(tuple, table.tolist())) for table in (sizes, strides)]
    return over(buffer, Places(rows[0], rows[1], tuple(starts.tolist())))


_rebuild_nested_tensor.__module__ = f"{package()}._utils"


def _nested_from_padded(
    padded: Tensor, cpu_nested_shape_example: Tensor, fuse_transform_0213: bool = False
) -> Strided:
    """The components of a padded tensor, by their sizes (components, dims).

    fuse_transform_0213: it is (batch, heads, length, features), components are (length, heads * features).
    """
    if fuse_transform_0213:
        padded = padded.transpose(1, 2).flatten(2)
    sizes = cpu_nested_shape_example.tolist()
    return of_parts([row[tuple(slice(n) for n in size)] for row, size in zip(padded, sizes, strict=False)])


def _nested_from_padded_and_nested_example(padded: Tensor, nt_example: Strided) -> Strided:
    """The components of a padded tensor, of another nested tensor's sizes."""
    return _nested_from_padded(padded, nt_example._nested_tensor_size())
