"""torch._higher_order_ops.scan: a function of what is carried and of each slice, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten
from rushlight._higher_order_ops.operators import Control, Function, Told, all_tensors

__all__ = ["scan", "scan_op"]


def scan(
    combine_fn: Callable[..., Any], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False
) -> tuple[Any, Any]:
    """(what is carried last, all y stacked along `dim`) of `carry, y = combine_fn(carry, x)`, where carry
    begins as init and x is each slice of the tensors in xs along `dim`; reverse: from the last one on.

    RuntimeError for what is no tensor, or has other lengths.
    """
    carried, spec = flatten(init)
    leaves, structure = flatten(xs)
    if not callable(combine_fn):
        raise RuntimeError("Combine_fn must be a callable, but got {combine_fn}")
    if not carried:
        raise RuntimeError("scan() operator requires init leaves.")
    if not all(isinstance(t, torch.Tensor) for t in [*carried, *leaves]):
        raise RuntimeError(f"All init and xs leaves must be a Tensor but got {[*carried, *leaves]}")
    if not leaves:
        return init, []
    if len({t.shape[dim] for t in leaves}) != 1:
        raise RuntimeError("All xs leaves must have same scan dim")
    moved = [torch.movedim(t, dim, 0) if dim else t for t in leaves]
    moved = [torch.flip(t, [0]) for t in moved] if reverse else moved
    after = []

    def flat(*given: Any) -> Any:
        carry, x = list(given[: len(carried)]), list(given[len(carried) :])
        new, y = combine_fn(spec.unflatten(carry), structure.unflatten(x))
        (new, of_new), (ys, of_y) = flatten(new), flatten(y)
        if of_new != spec:
            raise RuntimeError(f"The carry has the structure {of_new}, where init has {spec}")
        after.append(of_y)
        return (*new, *ys)

    found = list(scan_op(flat, carried, moved, ()))
    ys = [torch.flip(y, [0]) for y in found[len(carried) :]] if reverse else found[len(carried) :]
    ys = [torch.movedim(y, 0, dim) for y in ys] if dim else ys
    return spec.unflatten(found[: len(carried)]), after[0].unflatten(ys)


def _run(f: Callable[..., Any], init: Any, xs: Any, additional_inputs: Any = ()) -> Any:
    carry, ys = list(init), []
    for part in zip(*xs, strict=True):
        found = list(f(*carry, *part, *additional_inputs))
        carry = found[: len(carry)]
        ys.append(found[len(carry) :])
    return (*carry, *(torch.stack(list(column)) for column in zip(*ys, strict=True)))


def _recorded(listener: Any, f: Callable[..., Any], init: Any, xs: Any, additional_inputs: Any = ()) -> Any:
    """The function as a graph, of first slices; the results are those of all."""
    with listener.paused():
        first = [x[0].clone() for x in xs]
    bodies, of = {"scan_combine_graph": f}, [*init, *xs, *additional_inputs]
    return listener.loop(
        scan_op,
        bodies,
        [*init, *first, *additional_inputs],
        lambda: tuple(_run(f, init, xs, additional_inputs)),
        of,
        split=(len(init), len(xs)),
        lists=True,
    )


def _told(f: Callable[..., Any], init: Any, xs: Any, additional_inputs: Any = ()) -> Any:
    operands, first, end = [*init, *xs, *additional_inputs], len(init), len(init) + len(xs)
    if not all_tensors(operands):
        return NotImplemented
    told = Told(
        scan_op,
        [Function("scan_combine_fn", "scan_combine_graph", f, list)],
        operands,
        [first <= i < end for i in range(len(operands))],
        lambda bodies, given, more: (*bodies, [*given[:first]], [*given[first:end]], [*given[end:], *more]),
    )
    return told, lambda found, structure: tuple(found)


scan_op = Control("scan", _run, _recorded, _told)
