"""The rules of formulas' nodes, written for what a node keeps and which gradients are wanted.

A rule does what `formula_nodes.apply` does, without a loop over operands, for small tensors of one kind
that lie densely; all else is left to `apply`. Rules of one structure share their code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.saved_tensors import check_version, version_of
from rushlight._engine.core.accelerator import asarray
from rushlight._engine.core.recording import TAPE
from rushlight._engine.dispatch.generated_code import MAKING, compile_function, made
from rushlight._engine.dispatch.interpreters import MODES, PLAIN
from rushlight._engine.dispatch.nodes.formula_nodes import (
    INCOMING,
    ZERO,
    NoGradient,
    SimpleGradient,
    apply_any,
    fit,
    keep_result,
)
from rushlight._engine.dispatch.number_operands import scalar
from rushlight._engine.ops.row_kernels import BIG
from rushlight._engine.tensors.tensor import WRAPPED

# What an operand's gradient is: None where it is not wanted, INCOMING for the result's own, else the numbers
# of its formula's operands among (grad, *kept).
Variant: TypeAlias = tuple[int, ...] | SimpleGradient | None

_SCOPE: dict[str, Any] = {
    **MAKING,
    "LOCAL": LOCAL,
    "TAPE": TAPE,
    "WRAPPED": WRAPPED,
    "MODES": MODES,
    "PLAIN": PLAIN,
    "BIG": BIG,
    "ndarray": np.ndarray,
    "asarray": asarray,
    "apply_any": apply_any,
    "fit": fit,
    "scalar": scalar,
    "check_version": check_version,
    "version_of": version_of,
    "keep_result": keep_result,
}


class SavedOperands(tuple[str, ...]):
    """The names of the operands (and "result") that a formula's nodes keep for their gradients.

    kept(result, *operands): what a node is to keep, a formula_nodes.Kept for each name.
    rule(node, grad): the gradients of all operands, from what the node kept.
    """

    rule: Callable[[Any, Any], Sequence[Any]]
    kept: Callable[..., list[tuple[Any, int]]]


def saved_operands(
    names: Sequence[str],
    places: Sequence[int],
    numbers: Sequence[bool],
    variants: Sequence[tuple[Any, tuple[int, ...]] | None],
) -> SavedOperands:
    """The SavedOperands of these names, with functions that are generated for them.

    places: of each name, which operand it is, -1 for the result. numbers: which operands are no tensors.
    variants: of each operand, its gradient (`Formula.variant`), None where that is not wanted.
    """
    found = SavedOperands(names)
    plain = tuple([place >= 0 and numbers[place] for place in places])
    found.kept = _keeper(tuple(places), plain, len(numbers))
    short: list[Variant] = []
    formulas: list[Any] = []
    for variant in variants:
        if variant is None:
            short.append(None)
        elif variant[0] is INCOMING:
            short.append(INCOMING)
        elif variant[0] is ZERO or isinstance(variant[0], NoGradient):
            found.rule = apply_any
            return found
        else:
            short.append(variant[1])
            formulas.append(variant[0])
    found.rule = _maker(plain, tuple(short))(*formulas)
    return found


@cache
def _keeper(
    places: tuple[int, ...], plain: tuple[bool, ...], operands: int
) -> Callable[..., list[tuple[Any, int]]]:
    items = []
    for place, number in zip(places, plain, strict=True):
        v = f"v{place}"
        version = "-1" if number else f"0 if {v}._storage is None else version_of({v})"
        items.append("keep_result(t)" if place < 0 else f"({v}, {version})")
    given = "".join(f", v{i}" for i in range(operands))
    text = f"def kept(t{given}):\n    return [{', '.join(items)}]\n"
    return compile_function(text, "kept", dict(_SCOPE))


_RULE = """
def make({formulas}):
    {fast}
    def rule(node, grad):
        names, kept, places = node.saved
{body}        return {results}
    return rule
"""
_READ = """        if (WRAPPED and MODES) or TAPE or LOCAL.enabled or grad.__class__ is not Tensor:
            return apply_any(node, grad)
        k, x0 = grad._kind, grad._array
        if k.special or x0.size >= BIG or not x0.flags.c_contiguous:
            return apply_any(node, grad)
"""
# A tensor that was kept: nobody wrote to it, and it is like the gradient.
_KEPT = """        s = v{i}._storage
        if (0 if s is None else s.version) != n{i}:
            check_version(node, v{i}, n{i})
        x{i} = v{i}._array
        if v{i}._kind is not k or v{i}.__class__ not in PLAIN or not x{i}.flags.c_contiguous:
            return apply_any(node, grad)
"""
_CALL = """        compiled = fast{f}.get({key})
        if compiled is None:
            g{o} = formula{f}({values})
        else:
            try:
                r = compiled.fn({arrays})
            except ValueError:
                return apply_any(node, grad)
"""
_FIT = """        if places is not None:
            shape, of = places[{o}]
            if shape is not None or g{o}._kind is not of:
                g{o} = fit(g{o}, shape, of)
"""


@cache
def _maker(plain: tuple[bool, ...], variants: tuple[Variant, ...]) -> Callable[..., Callable[..., Any]]:
    """What makes rules of this structure around formulas; plain: which of what is kept are numbers."""
    lines, f = [], 0
    if any(variant.__class__ is tuple for variant in variants):
        if plain:
            lines.append(f"        {''.join(f'(v{i}, n{i}), ' for i in range(1, len(plain) + 1))}= kept\n")
        lines.append(_READ)
        lines += [_KEPT.format(i=i) for i, number in enumerate(plain, 1) if not number]
    for o, variant in enumerate(variants):
        if variant is None:
            continue
        if isinstance(variant, SimpleGradient):
            lines.append(f"        g{o} = grad\n")
        else:
            lines.append(_call(o, f, variant, plain))
            f += 1
        lines.append(_FIT.format(o=o))
    text = _RULE.format(
        formulas=", ".join(f"formula{i}" for i in range(f)),
        fast="; ".join(f"fast{i} = formula{i}.fast" for i in range(f)),
        body="".join(lines),
        results="("
        + "".join("None, " if variant is None else f"g{o}, " for o, variant in enumerate(variants))
        + ")",
    )
    return compile_function(text, "make", dict(_SCOPE), "rule")


def _call(o: int, f: int, variant: tuple[int, ...], plain: tuple[bool, ...]) -> str:
    """Code for operand o's gradient by formula f."""
    values = [f"v{use}" if use else "grad" for use in variant]
    arrays, key = [f"x{use}" for use in variant], "k"
    numbers = [use > 0 and plain[use - 1] for use in variant]
    if numbers == [False, True]:
        arrays[1], key = f"scalar({values[1]}, compiled.scalar_np)", f"(k, {values[1]}.__class__)"
    elif any(numbers):
        return f"        g{o} = formula{f}({', '.join(values)})\n"
    text = _CALL.format(o=o, f=f, key=key, values=", ".join(values), arrays=", ".join(arrays))
    return text + made(f"g{o}", "r if r.__class__ is ndarray else asarray(r)", "compiled.result_kind", 12)
