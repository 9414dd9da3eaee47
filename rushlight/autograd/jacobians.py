"""The Jacobians that gradcheck compares: by differences, by backward and by forward mode.

A Jacobian is a matrix (elements of the input, elements of the output), a derivative by a complex number
x + iy is d/dx + i d/dy. All is computed with ops on the tensors that are given, so a tensor of a class of a
program's own is checked as it is. Of a sparse tensor only the specified elements count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from rushlight._engine.autograd.engine import grad as _grad
from rushlight._engine.autograd.sparsegrads import places
from rushlight._engine.core.dtype import FLOATING
from rushlight._engine.tensors.geometry import lookup_function, strided
from rushlight._engine.tensors.tensor import Tensor

Function = Callable[..., Any]
Matrix = Any


class GradcheckError(RuntimeError):
    """The gradients disagree."""


class _Ops:
    """The functions of torch that have rows."""

    def __getattr__(self, name: str) -> Callable[..., Tensor]:
        return lookup_function(name)


ops = _Ops()


def as_tuple(value: Any) -> tuple[Any, ...]:
    """What a function takes or gives, as a tuple."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def tracked(values: Sequence[Any]) -> list[Tensor]:
    """The tensors that require gradients."""
    return [v for v in values if isinstance(v, Tensor) and v.requires_grad]


def continuous(values: Any) -> list[Tensor]:
    """The tensors of numbers that have derivatives."""
    return [o for o in as_tuple(values) if isinstance(o, Tensor) and o.dtype.category >= FLOATING]


def dense(t: Tensor) -> Tensor:
    """A tensor with all of its elements."""
    return t if t.layout is strided else t.to_dense()


# --- by differences -----------------------------------------------------------------------------------


def entry(x: Tensor) -> tuple[Tensor, Any]:
    """(what to write to, so that x changes; where its elements are among all of x, None: in order)."""
    if x.layout is strided:
        return x.data, None
    values = x.detach()._values()  # type: ignore[attr-defined]
    return values.data, places(x).tolist()  # `data`: what was saved of x before may be used behind


def slopes(func: Function, inputs: tuple[Any, ...], part: Tensor, step: Any, eps: float) -> list[Tensor]:
    """How the results change while `part` of an input moves by `step`, whose length is eps."""
    kept = part.clone()
    sides = []
    for moved in (kept - step, kept + step):
        part.copy_(moved)
        sides.append([o.clone() for o in as_tuple(func(*inputs)) if isinstance(o, Tensor)])
    part.copy_(kept)
    found = []
    for low, high in zip(*sides, strict=True):
        for what, a, b in (("shape", low.shape, high.shape), ("dtype", low.dtype, high.dtype)):
            if a != b:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs "
                    f"are perturbed by {eps}, but got: {what}s {a} and {b}."
                )
        if high.dtype.category >= FLOATING:
            found.append(((high - low) / (2 * eps)).detach().reshape(-1))
    return found


def along(func: Function, inputs: tuple[Any, ...], part: Tensor, direction: Any, eps: float) -> list[Tensor]:
    """The derivatives of all results in a direction, for complex inputs (direction of x, direction of y)."""
    if not isinstance(direction, tuple):
        return slopes(func, inputs, part, direction * eps, eps)
    re, im = (slopes(func, inputs, part, d, eps) for d in (direction[0] * eps, direction[1] * (1j * eps)))
    return [a + b * 1j for a, b in zip(re, im, strict=True)]


def numerical(func: Function, inputs: tuple[Any, ...], x: Tensor, eps: float) -> list[Matrix]:
    """The Jacobian of each result by an input."""
    part, at = entry(x)
    rows = []
    one = 1.0 if not x.is_complex() else (1.0, 1.0)
    for place in product(*map(range, part.shape)):
        rows.append(along(func, inputs, part[place], one, eps))
    if not rows:
        return [
            o.new_zeros((x.numel(), o.numel()), dtype=x.dtype if x.is_complex() else o.dtype)
            for o in continuous(func(*inputs))
        ]
    columns = [ops.stack(column) for column in zip(*rows, strict=True)]
    return [_at(at, c, x) for c in columns]


def _at(at: Any, rows: Tensor, x: Tensor) -> Tensor:
    if at is None:
        return rows
    whole = rows.new_zeros((x.numel(), rows.shape[1]))
    whole[at] = rows
    return whole


# --- by backward --------------------------------------------------------------------------------------


def backwards(output: Tensor, targets: list[Tensor], seeds: list[Tensor]) -> tuple[list[Matrix], bool, bool]:
    """Of each target the rows that go with the seeds: matrices (elements of the target, seeds); whether all
    gradients have the targets' dtypes, and sizes.
    """
    columns: list[list[Tensor]] = [[] for _ in targets]
    dtypes = sizes = True
    for seed in seeds:
        found = _grad([output], targets, [seed], retain_graph=True, allow_unused=True)
        for column, g, t in zip(columns, found, targets, strict=True):
            if g is not None:
                dtypes &= g.dtype is t.dtype
                sizes &= g.shape == t.shape
            fits = g is not None and g.shape == t.shape
            column.append(dense(g if fits else ops.zeros_like(t)).detach().reshape(-1))
    return (
        [
            ops.stack(c, 1) if c else t.new_zeros((t.numel(), 0))
            for c, t in zip(columns, targets, strict=True)
        ],
        dtypes,
        sizes,
    )


def units(like: Tensor) -> list[Tensor]:
    """A tensor for each element: 1 there, and 0 elsewhere."""
    made = []
    for place in range(like.numel()):
        seed = ops.zeros(like.numel(), dtype=like.dtype, device=like.device)
        seed[place] = 1
        made.append(seed.reshape(like.shape))
    return made if type(like) is Tensor or not made else [_as_class(like, s) for s in made]


def _as_class(like: Tensor, seed: Tensor) -> Tensor:
    """A seed as a tensor of the class that an output is of."""
    return ops.zeros_like(like.detach()).copy_(seed)


def alike(a: Sequence[Matrix], b: Sequence[Matrix], bound: float) -> bool:
    """Whether two runs agree."""
    return all(
        not x.numel() or bool(ops.allclose(x, y, rtol=0, atol=bound, equal_nan=True))
        for x, y in zip(a, b, strict=True)
    )


def analytical(
    output: Tensor, targets: list[Tensor], seeds: list[Tensor], bound: float, dtypes: bool
) -> list[Matrix]:
    """The same, of two runs that agree; GradcheckError where they do not, or gradients have other sizes."""
    for _ in range(3):  # machine code may take a kernel's place between two runs, once
        (first, dtypes_fit, sizes_fit), (second, _, _) = (backwards(output, targets, seeds) for _ in range(2))
        if alike(first, second, bound):
            break
    if dtypes and not dtypes_fit:
        raise GradcheckError("Gradient has dtype mismatch")
    if not sizes_fit:
        raise GradcheckError("Analytical gradient has incorrect size")
    if not alike(first, second, bound):
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
            "times gives different values, although analytical gradient matches numerical gradient."
            f"The tolerance for nondeterminism was {bound}."
        )
    return first


# --- by forward mode ----------------------------------------------------------------------------------


def tangents(
    func: Function, inputs: tuple[Any, ...], given: dict[int, Any], dtypes: bool = False
) -> list[Any]:
    """The tangents of all results, from those of inputs (None: no dual tensor); None where there is none."""
    # few programs differentiate forwards
    from rushlight.autograd.forward_ad import dual_level, make_dual, unpack_dual

    with dual_level():
        duals = [
            v
            if not isinstance(v, Tensor)
            else v.detach()
            if given.get(i) is None
            else make_dual(v.detach(), given[i])
            for i, v in enumerate(inputs)
        ]
        pairs = [unpack_dual(o) for o in continuous(func(*duals))]
    if dtypes and any(t is not None and t.is_complex() != p.is_complex() for p, t in pairs):
        raise GradcheckError("Forward AD gradient has dtype mismatch.")
    return [t for _, t in pairs]


def zeros(inputs: tuple[Any, ...]) -> dict[int, Tensor]:
    """Tangents of zeros for the inputs that require gradients."""
    return {
        i: ops.zeros_like(t.detach())
        for i, t in enumerate(inputs)
        if isinstance(t, Tensor) and t.requires_grad
    }


def forwards(
    func: Function,
    inputs: tuple[Any, ...],
    place: int,
    seeds: list[Tensor],
    outputs: list[Tensor],
    dtypes: bool,
) -> list[Matrix]:
    """For each result, its derivatives along the seeds: matrices (seeds, elements of the result)."""
    rows: list[list[Tensor]] = [[] for _ in outputs]
    for seed in seeds:
        found = tangents(func, inputs, {**zeros(inputs), place: seed}, dtypes)
        for row, t, o in zip(rows, found, outputs, strict=True):
            row.append((ops.zeros_like(o.detach()) if t is None else t.detach()).reshape(-1))
    return [ops.stack(r) if r else o.new_zeros((0, o.numel())) for r, o in zip(rows, outputs, strict=True)]
