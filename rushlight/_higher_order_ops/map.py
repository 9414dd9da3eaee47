"""torch._higher_order_ops.map: a function of each slice of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten
from rushlight._higher_order_ops.operators import Control, Function, Told, all_tensors

__all__ = ["map", "map_impl"]


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """f(x, *args) for each slice x of the tensors in xs along their first dim, stacked.

    RuntimeError where xs holds no tensor, or tensors of other lengths.
    """
    leaves, spec = flatten(xs)
    if not all(isinstance(t, torch.Tensor) for t in leaves):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {leaves}.")
    if len({t.shape[0] for t in leaves}) != 1:
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got {leaves}.")
    further, structure = flatten(list(args))
    out = []

    def flat(*given: Any) -> Any:
        x, rest = list(given[: len(leaves)]), list(given[len(leaves) :])
        found, of = flatten(f(spec.unflatten(x), *structure.unflatten(rest)))
        out.append(of)
        return tuple(found)

    found = map_impl(flat, leaves, further)
    return out[0].unflatten(list(found))


def map_dense(f: Callable[..., Any], xs: Any, pos_args: Any = ()) -> Any:
    """map_impl of tensors, at once."""
    found = [f(*part, *pos_args) for part in zip(*xs, strict=True)]
    return tuple(torch.stack(list(column)) for column in zip(*found, strict=True))


def _recorded(listener: Any, f: Callable[..., Any], xs: Any, pos_args: Any = ()) -> Any:
    """The function as a graph, of first slices; the results are those of all."""
    with listener.paused():
        first = [x[0].clone() for x in xs]
    bodies, of = {"body_graph": f}, [*xs, *pos_args]
    return listener.loop(
        map_impl,
        bodies,
        [*first, *pos_args],
        lambda: map_dense(f, xs, pos_args),
        of,
        split=len(xs),
        lists=True,
    )


def _told(f: Callable[..., Any], xs: Any, pos_args: Any = ()) -> Any:
    operands, split = [*xs, *pos_args], len(xs)
    if not all_tensors(operands):
        return NotImplemented
    told = Told(
        map_impl,
        [Function("map_body", "body_graph", f)],
        operands,
        [i < split for i in range(len(operands))],
        lambda bodies, given, more: (*bodies, [*given[:split]], [*given[split:], *more]),
    )
    return told, lambda found, structure: tuple(found)


map_impl = Control("map_impl", map_dense, _recorded, _told)
