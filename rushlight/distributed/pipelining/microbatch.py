"""Batches in pieces, and the pieces' results as one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight.distributed.tensor.dtensor import DTensor

DEFAULT_CHUNK_DIM = 0


class _CustomReducer:
    """Of an output that is no batch: `reduce_fn(total, value)` from `init_value` on, over the pieces."""

    def __init__(self, init_value: Any, reduce_fn: Callable[[Any, Any], Any]) -> None:
        self.init_value, self.reduce_fn = init_value, reduce_fn


class _LossReducer(_CustomReducer):
    """The same of a loss."""


sum_reducer = _LossReducer(torch.tensor(0.0), operator.add)


class TensorChunkSpec:
    """A tensor is cut along `split_dim`."""

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__name__}({self.split_dim})"

    def __str__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> Any:
        """A specification for each dim of a structure."""
        return tree_map(TensorChunkSpec, chunk_dims)

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> Any:
        """A specification for each dim of a structure."""
        return tree_map(TensorChunkSpec, chunk_dims)


class _Replicate:
    """Every piece has all of it."""


def _is_replicated(spec: Any) -> bool:
    return spec is _Replicate or isinstance(spec, _Replicate)


def _split_tensor(tensor: Any, spec: TensorChunkSpec, num_chunks: int) -> Sequence[Any]:
    """A tensor in pieces; of a DTensor, pieces of each rank's part."""
    dim = spec.split_dim
    if tensor.size(dim) < num_chunks:
        raise AssertionError(f"Tensor size {tensor.size(dim)} is smaller than num_chunks")
    if not isinstance(tensor, DTensor):
        chunks = torch.tensor_split(tensor, num_chunks, dim)
        if tensor.requires_grad and tensor.is_leaf:
            for chunk in chunks:
                chunk.retain_grad()
        return chunks
    each, more = divmod(tensor.size(dim), num_chunks)
    made = []
    for number, chunk in enumerate(torch.tensor_split(tensor.to_local(), num_chunks, dim)):
        shape = list(tensor.shape)
        shape[dim] = each + (number < more)
        mesh, placements = tensor.device_mesh, tensor.placements
        made.append(DTensor.from_local(chunk, mesh, placements, shape=shape, stride=tensor.stride()))
    return made


def _count(value: Any, spec: Any, chunks: int) -> int:
    """Into how many pieces at most a value can be cut."""
    if _is_replicated(spec):
        return chunks
    if not isinstance(value, torch.Tensor):
        raise ValueError(f"Unsupported chunk spec: {spec} and value: {value} combination.")
    if not isinstance(spec, TensorChunkSpec):
        raise AssertionError(f"Expected TensorChunkSpec, got {type(spec)}")
    return min(value.size(spec.split_dim), chunks)


def _shard_dict_of_args(args: dict[Any, Any], specs: dict[Any, Any], num_chunks: int) -> list[dict[Any, Any]]:
    """A dict of values in pieces: as many as asked for, or as there can be."""
    if not args:
        return [{} for _ in range(num_chunks)]
    if len(args) != len(specs):
        raise AssertionError(
            f"args_dict.keys() = {list(args.keys())} args_chunk_spec.keys() = {list(specs.keys())}"
        )
    values, structure = flatten(args)
    kinds = flatten(specs)[0]
    chunks = min(_count(v, spec, num_chunks) for v, spec in zip(values, kinds, strict=True))
    columns = [
        [v] * chunks if _is_replicated(spec) else _split_tensor(v, spec, chunks)
        for v, spec in zip(values, kinds, strict=True)
    ]
    return [structure.unflatten([column[n] for column in columns]) for n in range(chunks)]


def _default(value: Any) -> Any:
    """How a value is cut that nobody has said of how."""
    return TensorChunkSpec(DEFAULT_CHUNK_DIM) if isinstance(value, torch.Tensor) else _Replicate()


def split_args_kwargs_into_chunks(
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    chunks: int,
    args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
    kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """Arguments in `chunks` pieces, or as many as there can be; tensors along dim 0, where nothing else is
    said.
    """
    kwargs = kwargs or {}
    places = dict(enumerate(args))
    specs = dict(enumerate(tree_map(_default, args) if args_chunk_spec is None else args_chunk_spec))
    named = tree_map(_default, kwargs) if kwargs_chunk_spec is None else kwargs_chunk_spec
    found = _shard_dict_of_args(places, specs, chunks)
    found_named = _shard_dict_of_args(kwargs, named, len(found))
    if len(found_named) < len(found):
        found = _shard_dict_of_args(places, specs, len(found_named))
    return [tuple(piece[n] for n in range(len(piece))) for piece in found], found_named


def merge_chunks(chunks: list[Any], chunk_spec: Any) -> Any:
    """The pieces' values as one: tensors one behind the other, along dim 0 where `chunk_spec` is None."""
    if chunk_spec is None:
        first, structure = flatten(chunks[0])
        specs: list[Any] = [TensorChunkSpec(DEFAULT_CHUNK_DIM)] * len(first)
    else:
        specs, structure = flatten(chunk_spec)
    rows = [flatten(chunk)[0] for chunk in chunks]
    for chunk, row in zip(chunks, rows, strict=True):
        if len(row) != len(specs):
            raise ValueError(f"Chunk {chunk} did not match chunk spec {chunk_spec}")
    return structure.unflatten(
        _merged(spec, [row[number] for row in rows]) for number, spec in enumerate(specs)
    )


def _merged(spec: Any, values: list[Any]) -> Any:
    """One value of the pieces'."""
    if isinstance(spec, TensorChunkSpec):
        return _joined(values, spec.split_dim)
    if isinstance(spec, _CustomReducer):
        total = spec.init_value
        for value in values:
            total = spec.reduce_fn(total, value)
        return total
    for value in values[1:]:
        if not value == values[0]:
            raise AssertionError(f"Expected {values[0]}, got {value}")
    return values[0]


def _joined(values: list[Any], dim: int) -> Any:
    """Tensors one behind the other; of DTensors, each rank's parts."""
    if not any(isinstance(v, DTensor) for v in values):
        return torch.cat(values, dim)
    if not all(isinstance(v, DTensor) for v in values):
        raise AssertionError(
            "merge_chunks: expected all values to be DTensors or none to be DTensors, got a mix"
        )
    first = values[0]
    for number, v in enumerate(values[1:], 1):
        if v.placements != first.placements:
            raise AssertionError(
                f"merge_chunks: placement mismatch at chunk {number}: "
                f"expected {first.placements}, got {v.placements}"
            )
    shape = list(first.shape)
    shape[dim] = sum(v.shape[dim] for v in values)
    local = torch.cat([v.to_local() for v in values], dim)
    return DTensor.from_local(local, first.device_mesh, first.placements, shape=shape, stride=first.stride())
