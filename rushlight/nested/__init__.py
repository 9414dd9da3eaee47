"""torch.nested: batches of tensors of different lengths, without padding."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import rushlight as torch
from rushlight._engine.tensors.geometry import strided
from rushlight.nested.strided_layout import in_order, of_parts, over
from rushlight.nested.tensor import Extent, NestedTensor, jagged, make

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]
Tensor = torch.Tensor


def nested_along(
    parts: Sequence[Tensor], dim: int, like: NestedTensor | None = None, layout: Any = jagged
) -> NestedTensor:
    """Components behind each other along a dim of theirs."""
    if like is not None and [p.shape[dim] for p in parts] == like.extent.lengths:
        return make(torch.cat(list(parts), dim), like.extent, dim + 1, like.layout)
    ends = torch.tensor([0, *[p.shape[dim] for p in parts]], dtype=torch.int64)
    offsets = ends.cumsum(0).to(parts[0].device)
    return make(
        torch.cat(list(parts), dim), Extent(offsets), dim + 1, like.layout if like is not None else layout
    )


def _joined(parts: Sequence[Tensor], layout: Any) -> NestedTensor:
    if layout not in (jagged, strided):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    for i, (one, other) in enumerate(pairwise(parts)):
        if one.ndim != other.ndim:
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. Found dimension "
                f"{other.ndim} for Tensor at index {i + 1} and dimension {one.ndim} for Tensor at index {i}."
            )
    if layout is strided:
        return of_parts(parts)
    if not parts:
        return make(torch.zeros(0), Extent(torch.zeros(1, dtype=torch.int64)), 1, layout)
    if not parts[0].ndim:
        parts = [part.reshape(1) for part in parts]
    differing = [d for d in range(parts[0].ndim) if len({part.shape[d] for part in parts}) > 1]
    if differing and differing != [0]:
        raise RuntimeError(
            f"the components differ in dims {differing}: with torch.jagged they differ in their first alone"
        )
    return nested_along(parts, 0, layout=layout)


def _made(one: Any, dtype: Any, device: Any) -> Tensor:
    return torch.as_tensor(one, dtype=dtype, device=device)


def nested_tensor(
    tensor_list: Sequence[Any],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A nested tensor of copies of components: tensors, or what torch.tensor takes; a leaf.

    layout: torch.strided by default, or torch.jagged, which more ops take.
    """
    layout = strided if layout is None else layout
    if layout is strided and not isinstance(tensor_list, list):
        raise TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor")
    parts = [_made(one, dtype, device).detach() for one in tensor_list]
    found = _joined(parts, layout)
    found = found.like(found._values.clone() if len(parts) == 1 else found._values)
    if not parts and (dtype is not None or device is not None):
        found = found.like(found._values.to(dtype=dtype, device=device))
    return found.requires_grad_(requires_grad) if requires_grad else found


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
    """A nested tensor of components, at their place in the graph; of a dense tensor, a view of its rows."""
    layout = strided if layout is None else layout
    if isinstance(ts, NestedTensor):
        if ts.layout is not layout:
            raise RuntimeError("Converting between nested tensor layouts is not supported")
        return ts.to(dtype=dtype or ts.dtype, device=device or ts.device)
    if not isinstance(ts, (Tensor, list, tuple)):
        raise TypeError(
            "as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors "
        )
    if isinstance(ts, Tensor):
        return _of_rows(ts.to(dtype=dtype or ts.dtype, device=device or ts.device), layout)
    return _joined([part.to(dtype=dtype or part.dtype, device=device or part.device) for part in ts], layout)


def _of_rows(whole: Tensor, layout: Any) -> NestedTensor:
    """The rows of a dense tensor as components, a view where its memory allows it."""
    if whole.ndim < 2:
        raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
    if layout is strided:
        return over(whole.reshape(-1), in_order((tuple(whole.shape[1:]),) * len(whole)), whole.ndim)
    ends = torch.arange(len(whole) + 1, device=whole.device) * whole.shape[1]
    return make(whole.flatten(0, 1), Extent(ends), 1, layout)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """A nested tensor over `values`, its components behind each other: by their offsets, or their lengths.

    jagged_dim: the uneven dim of the result, 1 by default. No memory is copied.
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    elif lengths is not None:
        wanted = [b - a for a, b in zip(offsets.tolist(), offsets.tolist()[1:])]
        if wanted != lengths.tolist():
            parts = [values[a : a + n] for a, n in zip(offsets.tolist(), lengths.tolist())]
            return nested_along(parts, 0)
    return make(values, Extent(offsets), 1 if jagged_dim is None else jagged_dim)


def to_padded_tensor(input: Any, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
    """A dense tensor, with `padding` behind the components."""
    found: Tensor = input.to_padded_tensor(padding, output_size)
    return found if out is None else out.resize_(found.shape).copy_(found)


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = None) -> Tensor:
    """Of each row of a dense tensor a part along dim 1; start, length: numbers, or one for each row."""
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    if layout is not jagged:
        raise RuntimeError("Expected layout=torch.jagged")
    rows = tensor.shape[0]
    starts = start.tolist() if isinstance(start, Tensor) else [start] * rows
    lengths = length.tolist() if isinstance(length, Tensor) else [length] * rows
    return nested_along([row[a : a + n] for row, a, n in zip(tensor, starts, lengths)], 0)


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """Of each row of a dense tensor, along its last dim, the elements that a mask chooses: (rows, uneven)."""
    rows, chosen = (t.reshape(-1, tensor.shape[-1]) for t in (tensor, mask.expand(tensor.shape)))
    lengths = torch.nn.functional.pad(chosen.sum(-1).cumsum(0), (1, 0))
    return make(rows[chosen], Extent(lengths))
