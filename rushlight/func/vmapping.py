"""torch.vmap: a function on one example as a function on a batch of them."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight.base.pytree import LEAF, Tree, broadcast, flatten
from rushlight.transforms.batching import Batching

__all__ = ["vmap"]


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable[..., Any]:
    """func, mapped over a dim of its inputs, all examples at once.

    in_dims: the dim of each input, nested as the inputs are; None for inputs that all examples share. out_dims:
    where the dim goes in each result. randomness: "error" refuses random ops, "different" draws for each example,
    "same" once. chunk_size: map over that many examples at a time. All share keyword arguments.
    ValueError where dims and inputs do not fit; RuntimeError for data-dependent control flow.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        size, dims, leaves, tree = _inputs(func, in_dims, args)
        call = functools.partial(_run, func, out_dims, randomness, dims, tree, kwargs)
        if chunk_size is None or chunk_size >= size:
            return call(size, leaves)
        return _in_chunks(call, chunk_size, size, dims, leaves, out_dims)
    return mapped


def _name(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", None) or repr(func)


def _inputs(func: Any, in_dims: Any, args: Any) -> tuple[int, list[Any], list[Any], Tree]:
    """(size of the batch, dim of each leaf, leaves, structure) of the arguments; PyTorch's errors."""
    head = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        # A list is a structure of its own, and that of the arguments is a tuple.
        raise ValueError(f"{head}expected `in_dims` to be int or a (potentially nested) tuple matching the structure "
                         f"of inputs, got: {type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
                         "trying to vmap over a function with no inputs. The latter is unsupported.")
    leaves, tree = flatten(args)
    dims = broadcast(in_dims, tree)
    if dims is None:
        raise ValueError(f"{head}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                         f"{flatten(in_dims)[1]} but inputs has structure {tree}.")
    for place, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        dims[place] = _dim(head, leaf, dim)
    sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over: all in_dims are None")
    if len(set(sizes)) > 1:
        raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                         f"{sizes} for the mapped dimension")
    return sizes[0], dims, leaves, tree


def _dim(head: str, leaf: Any, dim: Any) -> int | None:
    if dim is not None and not isinstance(dim, int):
        raise ValueError(f"{head}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.")
    if dim is None:
        return None
    if not isinstance(leaf, torch.Tensor):
        raise ValueError(f"{head}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap "
                         "over non-Tensor arguments, please use None as the respective in_dim")
    if not -leaf.ndim <= dim < leaf.ndim:
        raise ValueError(f"{head}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
                         f"{leaf.ndim} so expected in_dim to satisfy -{leaf.ndim} <= in_dim < {leaf.ndim}.")
    return dim % leaf.ndim


def _run(func: Any, out_dims: Any, randomness: str, dims: list[Any], tree: Tree,
         kwargs: dict[str, Any], size: int, leaves: list[Any]) -> Any:
    with Batching(size, randomness) as level:
        given = [leaf if dim is None else level.wrap(leaf.movedim(dim, 0) if dim else leaf)
                 for leaf, dim in zip(leaves, dims, strict=True)]
        found = func(*tree.build(given), **kwargs)
    return _results(func, out_dims, level, found)


def _results(func: Any, out_dims: Any, level: Batching, found: Any) -> Any:
    leaves, tree = flatten(found)
    name = _name(func)
    if not all(d is None or isinstance(d, int) for d in flatten(out_dims)[0]):
        raise ValueError(f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                         "collection of ints representing where in the outputs the vmapped dimension should appear.")
    single = isinstance(out_dims, tuple) and len(out_dims) == 1 and tree is LEAF
    dims = broadcast(out_dims[0] if single else out_dims, tree)
    if dims is None:
        raise ValueError(f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
                         f"structure of `outputs`. out_dims has structure {flatten(out_dims)[1]} but outputs has "
                         f"structure {tree}.")
    return tree.build([_unbatched(name, leaf, dim, level) for leaf, dim in zip(leaves, dims, strict=True)])


def _unbatched(name: str, leaf: Any, dim: int | None, level: Batching) -> Any:
    """A result of a level, the batch in its dim `dim`."""
    if dim is None:
        if level.holds(leaf):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return leaf
    if not isinstance(leaf, torch.Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(leaf)}. Did you mean "
                         "to set out_dims= to None for output?")
    value = level.whole(leaf)
    if not -value.ndim <= dim < value.ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-value.ndim}, {value.ndim - 1}], but "
                         f"got {dim})")
    return value.movedim(0, dim) if dim else value


def _in_chunks(call: Any, chunk_size: int, size: int, dims: list[Any], leaves: list[Any], out_dims: Any) -> Any:
    """The results of parts of the batch, joined."""
    parts = []
    for start in range(0, size, chunk_size):
        count = min(chunk_size, size - start)
        parts.append(flatten(call(count, [leaf if dim is None else leaf.narrow(dim, start, count)
                                          for leaf, dim in zip(leaves, dims, strict=True)])))
    tree = parts[0][1]
    single = isinstance(out_dims, tuple) and len(out_dims) == 1 and tree is LEAF
    places = broadcast(out_dims[0] if single else out_dims, tree) or []
    columns = zip(*[part for part, _ in parts], strict=True)
    return tree.build([column[0] if dim is None else torch.cat(column, dim)
                       for column, dim in zip(columns, places, strict=True)])
