"""Jacobians and Hessians: vmap over the rows or columns of the identity."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight.base.pytree import flatten, tree_map
from rushlight.func.derivatives import Argnums, Pullback, chosen, jvp, only_tensors, replaced
from rushlight.func.vmapping import vmap

__all__ = ["hessian", "jacfwd", "jacrev"]


def basis(tensors: list[Any]) -> list[Any]:
    """The identity, as one batch of tensors for each: its rows, over the elements of all of them."""
    counts = [t.numel() for t in tensors]
    total, start, found = sum(counts), 0, []
    for t, n in zip(tensors, counts, strict=True):
        block = torch.zeros(total, n, dtype=t.dtype, device=t.device)
        block.diagonal(-start).fill_(1)
        found.append(block.reshape(total, *t.shape))
        start += n
    return found


def jacrev(func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
           _preallocate_and_copy: bool = False) -> Callable[..., Any]:
    """A function that answers the Jacobian of func by the arguments `argnums`, one backward pass for each result.

    Of results and arguments with structure, the Jacobian has the structure of the results, and in each place that
    of the arguments; its shape there is result shape + argument shape. has_aux: func gives (results, aux), and the
    answer is (Jacobian, aux). chunk_size: how many rows at a time.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        inputs = chosen(argnums, args)
        point = Pullback(lambda given: func(*replaced(args, argnums, given), **kwargs), inputs, has_aux,
                         "vjp(f, *primals)")
        only_tensors(point.outs, "vjp(f, *primals)")
        leaves, tree = flatten(inputs)
        rows = vmap(lambda *grads: flatten(point.back(list(grads)))[0], chunk_size=chunk_size)(*basis(point.outs))
        counts = [o.numel() for o in point.outs]
        blocks = [[part.reshape(*o.shape, *leaf.shape) for part, o in zip(column.split(counts), point.outs, strict=True)]
                  for column, leaf in zip(rows, leaves, strict=True)]
        found = point.tree.build([tree.build(row) for row in zip(*blocks, strict=True)])
        return (found, point.left(point.aux)) if has_aux else found
    return wrapper


def jacfwd(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
           ) -> Callable[..., Any]:
    """Like jacrev, in forward mode: one pass for each element of the arguments."""
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        inputs = chosen(argnums, args)
        leaves, tree = flatten(inputs)

        def push(*tangents: Any) -> Any:
            def of_inputs(*given: Any) -> Any:
                return func(*replaced(args, argnums, tree.build(given)), **kwargs)
            found = jvp(of_inputs, tuple(leaves), tangents, has_aux=has_aux)
            outs, shape = flatten(found[1])
            return outs, (shape, found[2] if has_aux else None)
        shapes: list[Any] = []

        def columns(*tangents: Any) -> Any:
            outs, facts = push(*tangents)
            shapes.append(facts)
            return outs
        for leaf in leaves:
            if not isinstance(leaf, torch.Tensor):
                raise RuntimeError(f"jacfwd: Expected all inputs to be Tensors, got unsupported type {type(leaf)}")
        found = vmap(columns, randomness=randomness)(*basis(leaves))
        shape, aux = shapes[0]
        counts = [leaf.numel() for leaf in leaves]
        jacobians = shape.build([tree.build([
            part.movedim(0, -1).reshape(*out.shape[1:], *leaf.shape)
            for part, leaf in zip(out.split(counts), leaves, strict=True)]) for out in found])
        return (jacobians, tree_map(_first, aux)) if has_aux else jacobians
    return wrapper


def _first(t: Any) -> Any:
    """The aux of one pass: it does not depend on the direction."""
    return t.value[0] if type(t).__name__ == "Batched" else t


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that answers the Hessian of func by the arguments `argnums`: forward over reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)
