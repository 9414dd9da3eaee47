"""torch.vmap: a function on one example as a function on a batch of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.autograd.grad_mode import Transformed
from rushlight._engine.core.pytree import LEAF, Tree, broadcast, flatten
from rushlight._engine.dispatch import interpreters
from rushlight._engine.transforms.batching import Batched, Batching
from rushlight._engine.transforms.levels import wrapper


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """func, mapped over a dim of its inputs, all examples at once.

    in_dims: the dim of each input, nested as the inputs are; None for inputs that all examples share.
    out_dims: where the dim goes in each result. randomness: "error" refuses random ops, "different" draws for
    each example, "same" once. chunk_size: map over that many examples at a time. All share keyword arguments.
    ValueError where dims and inputs do not fit; RuntimeError for data-dependent control flow.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        name = getattr(func, "__name__", None) or repr(func)
        size, dims, leaves, tree = _inputs(name, in_dims, args)

        def run(count: int, leaves: list[Any]) -> tuple[list[Any], list[Any], Tree]:
            with Batching(count, randomness) as level, Transformed():
                given = [
                    leaf if d is None else _add_batch_dim(leaf, d, level)
                    for leaf, d in zip(leaves, dims, strict=True)
                ]
                found = func(*tree.unflatten(given), **kwargs)
            return _results(name, out_dims, level, found)

        def part(start: int) -> Any:
            if state is not None:  # the same numbers for all examples: each part draws them anew
                torch.random.set_rng_state(state)
            count = min(step, size - start)
            return run(
                count,
                [
                    leaf if d is None else leaf.narrow(d, start, count)
                    for leaf, d in zip(leaves, dims, strict=True)
                ],
            )

        step = chunk_size or size
        state = torch.random.get_rng_state() if step < size and randomness == "same" else None
        parts = list(map(part, range(0, size, step))) if step < size else [run(size, leaves)]
        columns = zip(*[part for part, _, _ in parts], strict=True)
        return parts[0][2].unflatten(
            [
                c[0] if d is None or len(c) == 1 else torch.cat(c, d)
                for c, d in zip(columns, parts[0][1], strict=True)
            ]
        )

    return mapped


def restore_vmap(
    func: Callable[..., Any], in_dims: Any, batch_size: int, randomness: str
) -> Callable[..., Any]:
    """func under a vmap whose inputs may all lack a batch: it answers (results, dims), the dim of each
    result's batch, None where it has none.
    """

    def inner(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        leaves, tree = flatten(args)
        dims = broadcast(in_dims, tree) or ()
        with Batching(batch_size, randomness) as level, Transformed():
            given = [
                leaf if d is None else level.wrap(leaf.movedim(d, 0))
                for leaf, d in zip(leaves, dims, strict=True)
            ]
            found, shape = flatten(func(*tree.unflatten(given), **kwargs))
        batched = [level.holds(t) for t in found]
        return (
            shape.unflatten([t.value if b else t for t, b in zip(found, batched, strict=True)]),
            shape.unflatten([0 if b else None for b in batched]),
        )

    return inner


def _inputs(name: str, in_dims: Any, args: Any) -> tuple[int, list[Any], list[Any], Tree]:
    """(size of the batch, dim of each leaf, leaves, structure) of the arguments; PyTorch's errors."""
    head = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{head}expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
            "trying to vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, tree = flatten(args)
    dims = broadcast(in_dims, tree)
    if dims is None:
        raise ValueError(
            f"{head}in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {flatten(in_dims)[1]} but inputs has structure {tree}."
        )
    dims = [_dim(head, leaf, dim) for leaf, dim in zip(leaves, dims, strict=True)]
    sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over: all in_dims are None")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got "
            f"sizes {sizes} for the mapped dimension"
        )
    return sizes[0], dims, leaves, tree


def _dim(head: str, leaf: Any, dim: Any) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{head}Got in_dim={dim} for an input but in_dim must be an integer dimension or None."
        )
    if not isinstance(leaf, torch.Tensor):
        raise ValueError(
            f"{head}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We "
            "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    n = leaf.ndim
    if not -n <= dim < n:
        raise ValueError(
            f"{head}Got in_dim={dim} for some input, but that input is a Tensor of "
            f"dimensionality {n} so expected in_dim to satisfy -{n} <= in_dim < {n}."
        )
    return dim % n


def _results(name: str, out_dims: Any, level: Batching, found: Any) -> tuple[list[Any], list[Any], Tree]:
    """(leaves, where the batch is in each, structure) of the results."""
    leaves, tree = flatten(found)
    if not all(d is None or isinstance(d, int) for d in flatten(out_dims)[0]):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a "
            "python collection of ints that say where the vmapped dimension should appear."
        )
    single = isinstance(out_dims, tuple) and len(out_dims) == 1 and tree is LEAF
    dims = broadcast(out_dims[0] if single else out_dims, tree)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with "
            f"the structure of `outputs`. out_dims has structure {flatten(out_dims)[1]} but "
            f"outputs has structure {tree}."
        )
    return [_unbatched(name, leaf, dim, level) for leaf, dim in zip(leaves, dims, strict=True)], dims, tree


def _unbatched(name: str, leaf: Any, dim: int | None, level: Batching) -> Any:
    """A result of a level, the batch in its dim `dim`."""
    if dim is None:
        if level.holds(leaf):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return leaf
    if not isinstance(leaf, torch.Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(leaf)}. Did "
            "you mean to set out_dims= to None for output?"
        )
    whole = level.whole(leaf)
    original, d, _ = level.entered.get(id(whole), (None, 0, None))
    if original is not None and d == dim % original.dim():
        return original  # what went in came out
    return whole.movedim(0, dim) if dim else whole


def _add_batch_dim(tensor: torch.Tensor, in_dim: int, vmap_level: Batching | int) -> torch.Tensor:
    """A tensor that is mapped over in its dim `in_dim`, inside. vmap_level: the running vmap, or its number.

    Programs put functions of their own in its place, which the next vmap calls.
    """
    level = _level(vmap_level)
    moved = tensor.movedim(in_dim, 0) if in_dim else tensor
    if in_dim:
        level.entered[id(moved)] = tensor, in_dim % tensor.dim(), moved
    entered: torch.Tensor = wrapper(Batched, moved, level)
    return entered


def _remove_batch_dim(
    batched_output: torch.Tensor, vmap_level: Batching | int, batch_size: int, out_dim: int
) -> torch.Tensor:
    """What a tensor of a vmap is outside, its examples along `out_dim`; one that is alike for all is
    repeated.
    """
    whole: torch.Tensor = _level(vmap_level).whole(batched_output)
    return whole.movedim(0, out_dim) if out_dim else whole


def _level(number: Batching | int) -> Batching:
    if isinstance(number, Batching):
        return number
    for mode in interpreters.STACK.modes:
        if isinstance(mode, Batching) and mode.number == number:
            return mode
    raise RuntimeError(f"no vmap of level {number} is running")
