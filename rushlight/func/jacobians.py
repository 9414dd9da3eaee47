"""Jacobians and Hessians: vmap over the rows or columns of the identity."""

from __future__ import annotations

import functools
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight._engine.transforms.batching import Batched
from rushlight.func.derivatives import Argnums, Func, Pullback, chosen, jvp, only_tensors, replaced
from rushlight.func.vmapping import vmap


def _basis(tensors: list[Any]) -> list[Any]:
    """The identity, as one batch of tensors for each: its rows, over the elements of all of them."""
    columns = torch.eye(sum(t.numel() for t in tensors)).split([t.numel() for t in tensors], 1)
    return [c.to(t.device, t.dtype).reshape(len(c), *t.shape) for c, t in zip(columns, tensors, strict=True)]


def _only_real(what: str, of: str, leaves: list[Any]) -> None:
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor) and leaf.is_complex():
            raise RuntimeError(
                f"{what}: Expected all {of} to be real but received complex tensor at flattened "
                f"{of[:-1].removesuffix('s')} idx: {i}"
            )


def jacrev(
    func: Func,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Func:
    """A function that answers the Jacobian of func by the arguments `argnums`: a backward pass per result.

    Of results and arguments with structure, the Jacobian has the structure of the results, and in each place
    that of the arguments; its shape there is result shape + argument shape. has_aux: func gives (results,
    aux), and the answer is (Jacobian, aux). chunk_size: how many rows at a time.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        inputs = chosen(argnums, args)
        _only_real("jacrev", "inputs", flatten(inputs)[0])
        point = Pullback(
            func,
            lambda given: func(*replaced(args, argnums, given), **kwargs),
            inputs,
            has_aux,
            "vjp(f, *primals)",
        )
        only_tensors(point.outs, "vjp(f, *primals)")
        _only_real("jacrev", "outputs", point.outs)
        leaves, tree = flatten(inputs)
        pull, outs = lambda *grads: flatten(point.back(list(grads)))[0], point.outs
        basis = _basis(outs)
        if chunk_size == 1:  # nothing is mapped, so that rules may do what a batch cannot
            rows = [torch.stack(c) for c in zip(*map(pull, *basis), strict=True)]
        else:
            rows = vmap(pull, chunk_size=chunk_size)(*basis)
        blocks = [
            [
                part.reshape([*o.shape, *leaf.shape])
                for part, o in zip(column.split([o.numel() for o in outs]), outs, strict=True)
            ]
            for column, leaf in zip(rows, leaves, strict=True)
        ]
        found = point.tree.unflatten([tree.unflatten(row) for row in zip(*blocks, strict=True)])
        return (found, point.left(point.aux)) if has_aux else found

    return wrapper


def jacfwd(func: Func, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Func:
    """Like jacrev, in forward mode: one pass for each element of the arguments."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = flatten(chosen(argnums, args))
        _only_real("jacfwd", "inputs", leaves)
        facts: list[Any] = []

        def columns(*tangents: Any) -> Any:
            def of(*given: Any) -> Any:
                return func(*replaced(args, argnums, tree.unflatten(given)), **kwargs)

            found = jvp(of, tuple(leaves), tangents, has_aux=has_aux)
            outs, shape = flatten(found[1])
            _only_real("jacfwd", "outputs", outs)
            facts[:] = shape, found[2:]
            return outs

        found = vmap(columns, randomness=randomness)(*_basis(leaves))
        counts = [leaf.numel() for leaf in leaves]
        jacobians = facts[0].unflatten(
            [
                tree.unflatten(
                    [
                        part.movedim(0, -1).reshape([*out.shape[1:], *leaf.shape])
                        for part, leaf in zip(out.split(counts), leaves, strict=True)
                    ]
                )
                for out in found
            ]
        )
        # The aux of all passes is the same: it does not depend on the direction.
        aux = tree_map(lambda t: t.value[0] if isinstance(t, Batched) else t, facts[1])
        return (jacobians, *aux) if has_aux else jacobians

    return wrapper


def hessian(func: Func, argnums: Argnums = 0) -> Func:
    """A function that answers the Hessian of func by the arguments `argnums`: forward over reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)
