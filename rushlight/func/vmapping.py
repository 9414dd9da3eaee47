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
        size, dims, leaves, tree = _process_batched_inputs(in_dims, args, func)

        def run(count: int, leaves: list[Any]) -> Any:
            with Batching(count, randomness) as level, Transformed():
                given = _create_batched_inputs(dims, leaves, level.number, tree)
                return _unwrap_batched(func(*given, **kwargs), out_dims, level.number, count, func)

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
        if step >= size:
            return run(size, leaves)
        state = torch.random.get_rng_state() if randomness == "same" else None
        return _joined([part(start) for start in range(0, size, step)], out_dims)

    return mapped


def _joined(parts: list[Any], out_dims: Any) -> Any:
    """The results of the parts of a batch as of all of it."""
    tree = flatten(parts[0])[1]
    dims = broadcast(_alone(out_dims, tree), tree) or ()
    columns = zip(*[flatten(part)[0] for part in parts], strict=True)
    return tree.unflatten(
        [c[0] if d is None or len(c) == 1 else torch.cat(c, d) for c, d in zip(columns, dims, strict=True)]
    )


def _alone(out_dims: Any, tree: Tree) -> Any:
    """`(0,)` says of a single result what 0 does."""
    return out_dims[0] if isinstance(out_dims, tuple) and len(out_dims) == 1 and tree is LEAF else out_dims


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


def _get_name(func: Any) -> str:
    """What errors call a function."""
    return getattr(func, "__name__", None) or repr(func)


# The steps of a vmap by PyTorch's names: programs put functions of their own in their place (those that know
# containers of tensors), which the next vmap calls.


def _process_batched_inputs(
    in_dims: Any, args: Any, func: Callable[..., Any]
) -> tuple[int, list[Any], list[Any], Tree]:
    """(size of the batch, dim of each leaf, leaves, structure) of the arguments; PyTorch's errors."""
    name = _get_name(func)
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


def _create_batched_inputs(
    flat_in_dims: list[Any], flat_args: list[Any], vmap_level: int, args_spec: Tree
) -> Any:
    """The arguments as one example has them, inside the vmap of that number."""
    pairs = zip(flat_args, flat_in_dims, strict=True)
    return args_spec.unflatten([t if d is None else _add_batch_dim(t, d, vmap_level) for t, d in pairs])


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


def _unwrap_batched(
    batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Callable[..., Any]
) -> Any:
    """The results with their batches, where `out_dims` wants these."""
    leaves, tree = flatten(batched_outputs)
    name = _get_name(func)
    if not all(d is None or isinstance(d, int) for d in flatten(out_dims)[0]):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a "
            "python collection of ints that say where the vmapped dimension should appear."
        )
    dims = broadcast(_alone(out_dims, tree), tree)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with "
            f"the structure of `outputs`. out_dims has structure {flatten(out_dims)[1]} but "
            f"outputs has structure {tree}."
        )
    found = [
        _maybe_remove_batch_dim(name, leaf, vmap_level, batch_size, dim)
        for leaf, dim in zip(leaves, dims, strict=True)
    ]
    return tree.unflatten(found)


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: Batching | int, batch_size: int, out_dim: int | None
) -> Any:
    """A result of a vmap, its batch in dim `out_dim`; None says that it has none."""
    level = _level(vmap_level)
    if out_dim is None:
        if level.holds(batched_output):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return batched_output
    if not isinstance(batched_output, torch.Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. Did "
            "you mean to set out_dims= to None for output?"
        )
    whole = level.whole(batched_output)
    original, d, _ = level.entered.get(id(whole), (None, 0, None))
    if original is not None and d == out_dim % original.dim():
        return original  # what went in came out
    return whole.movedim(0, out_dim) if out_dim else whole


def _add_batch_dim(tensor: torch.Tensor, in_dim: int, vmap_level: Batching | int) -> torch.Tensor:
    """A tensor mapped over in its dim `in_dim`, inside. vmap_level: the running vmap, or its number."""
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
