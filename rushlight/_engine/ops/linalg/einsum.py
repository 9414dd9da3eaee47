"""einsum: contractions by labels, as batched products of permuted operands.

The steps, their order and so the strides of the result are PyTorch's: every operand gets all dims, in one
order (the result's, then those that are summed); two operands at a time become one.
"""

from __future__ import annotations

import re
import string
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from rushlight._engine.core.errors import wrong_type
from rushlight._engine.ops.table import composite

_DOTS = 0x100  # from here on, letters that no equation has: of the dims of ellipses


@composite(where=("torch",))
def einsum(equation: Any, operands: "*Any" = ()):
    """Sums of products by labelled dims: einsum("bij,bjk->bik", a, b); "..." stands for dims that broadcast.

    Without "->", labels that come once stay, in alphabetical order. A label twice in one operand is its
    diagonal. Operands also as a list, or in turn with lists of integers. RuntimeError for labels and sizes
    that do not fit.
    """
    if not isinstance(equation, str):
        if not hasattr(equation, "_kind"):
            raise wrong_type("einsum", "equation", "str", equation, 1)
        one = not operands or not isinstance(operands[0], (list, tuple))  # one operand and its labels
        equation, operands = _sublists((equation, operands) if one else (equation, *operands))
    elif len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    if len(operands) == 0:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand "
            "and its subscripts list"
        )
    return _of_equation(equation, list(operands))


@composite(where=("aten",), planned=True)
def _of_equation(equation: str, operands: list[Tensor]):
    """einsum."""
    read = _understood(equation, tuple([t.ndim for t in operands]))
    _check_sizes(equation, read, operands)
    order, kept = read.order, read.kept
    given = [_laid_out(t, term, order) for t, term in zip(operands, read.terms, strict=True)]
    if len(given) == 1:
        return given[0].sum(list(range(kept, len(order)))) if len(order) > kept else given[0]
    dims = range(kept, len(order))
    # Of each dim that is summed, in how many of the operands that are left it is more than one place.
    left = {d: sum(t.shape[d] != 1 for t in given) for d in dims}
    found = given[0]
    for other in given[1:]:
        found = _pair(found, other, dims, left)
    return found.view(list(found.shape[:kept])) if len(order) > kept else found


class Term(NamedTuple):
    """The labels of an operand's dims, with those that its ellipsis lacks: `missing` from place `at` on."""

    labels: str
    at: int
    missing: int


class Equation(NamedTuple):
    """An equation, understood: its terms; all labels in the order of dims, the result's `kept` ones first."""

    terms: tuple[Term, ...]
    order: str
    kept: int


def _laid_out(t: Any, term: Term, order: str) -> Any:
    """A view with a dim for each label of the order: a label that comes again is a diagonal, one that the
    term lacks has size 1.
    """
    places: dict[str, int] = {}
    for place, c in enumerate(term.labels):
        dim = len(places)
        if term.at <= place < term.at + term.missing:
            t = t.unsqueeze(dim)
        if c in places:
            t = t.diagonal(0, places[c], dim).movedim(-1, places[c])
        else:
            places[c] = dim
    for c in order:
        if c not in places:
            places[c] = t.ndim
            t = t.unsqueeze(t.ndim)
    return t.permute([places[c] for c in order])


def _pair(a: Any, b: Any, dims: range, left: dict[int, int]) -> Any:
    """The product of two operands, summed over those of the dims that nobody else has; all dims are kept."""
    summed, of_a, of_b = list[int](), list[int](), list[int]()
    for d in dims:
        both = a.shape[d] != 1 and b.shape[d] != 1
        left[d] -= both
        if left[d] == 1:
            into = summed if both else of_a if a.shape[d] != 1 else of_b if b.shape[d] != 1 else None
            if into is not None:
                into.append(d)
                left[d] = 0
    a = a.sum(of_a, True) if of_a else a
    b = b.sum(of_b, True) if of_b else b
    return _product(a, b, summed) if summed else a * b


def _product(a: Any, b: Any, summed: list[int]) -> Any:
    """a * b summed over dims that both have, as a batch of matrix products.

    Where all dims of b's own stand before all of a's own, b is the left matrix: the result lies in order.
    """
    sizes = list(zip(a.shape, b.shape, strict=True))
    rest = [d for d in range(len(sizes)) if d not in summed]
    batch = [d for d in rest if sizes[d][0] != 1 and sizes[d][1] != 1]
    rows = [d for d in rest if sizes[d][0] != 1 and sizes[d][1] == 1]
    columns = [d for d in rest if sizes[d][0] == 1]
    if rows and columns and columns[-1] < rows[0]:
        a, b, rows, columns = b, a, columns, rows
    many, n = prod([a.shape[d] for d in batch]), prod([a.shape[d] for d in summed])
    one = a.permute(batch + rows + summed + columns).reshape(many, prod([a.shape[d] for d in rows]), n)
    two = b.permute(batch + summed + columns + rows).reshape(many, n, prod([b.shape[d] for d in columns]))
    turned = batch + rows + summed + columns
    shape = [1 if d in summed else b.shape[d] if d in columns else a.shape[d] for d in turned]
    return one.bmm(two).view(shape).permute([turned.index(d) for d in range(len(turned))])


def _check_sizes(equation: str, read: Equation, operands: Any) -> None:
    """Raise PyTorch's RuntimeError where dims of one letter have sizes that do not go together; letters that
    the equation does not have stand for ellipses.
    """
    seen: dict[str, int] = {}
    for number, (term, t) in enumerate(zip(read.terms, operands, strict=True)):
        own: dict[str, int] = {}
        labels = term.labels[: term.at] + term.labels[term.at + term.missing :]
        for c, n in zip(labels, t.shape, strict=True):
            known = seen.get(c, 1)
            if n != own.get(c, n):
                raise RuntimeError(
                    f"einsum(): subscript {c} is repeated for operand {number} but the sizes don't match, "
                    f"{n} != {own[c]}"
                )
            if known not in (1, n) and n != 1:
                raise RuntimeError(_sizes_apart(c if c in equation else "", len(own), number, n, known))
            own[c] = n
            if n != 1:
                seen[c] = n


def _sizes_apart(letter: str, dim: int, operand: int, size: int, seen: int) -> str:
    """What is said of a size of two operands; without a letter, of a dim of an ellipsis."""
    if letter:
        return (
            f"einsum(): subscript {letter} has size {size} for operand {operand} which does not broadcast "
            f"with previously seen size {seen}"
        )
    return (
        f"einsum(): dimension {dim} covered by ellipsis in operand {operand}has size {size} which does not "
        f"broadcast with previously seen ellipsis with size {seen} for the respective dimension"
    )


@lru_cache(maxsize=1024)
def _check_letters(equation: str) -> None:
    """Raise PyTorch's RuntimeError for an equation of more than letters, ellipses, commas and an arrow."""
    arrow = equation.find("->")
    operand, dotted = 0, False
    for found in re.finditer(r"->|\.\.\.|.", equation, re.DOTALL):
        text, at = found.group(), found.start()
        is_output = 0 <= arrow < at
        place = "output" if is_output else f"operand {operand}"
        dots = " (...)" if is_output else ""
        again = f"{'but' if is_output else 'for which'} an ellipsis{dots} was already found"
        if text == "...":
            if dotted:
                raise RuntimeError(f"einsum(): found '.' for {place} {again}")
            dotted = True
        elif text == ".":
            rest = again if dotted else f"that is not part of any ellipsis{dots}"
            raise RuntimeError(f"einsum(): found '.' for {place} {rest}")
        elif text == "," and not is_output:
            operand, dotted = operand + 1, False
        elif text == "->" and at == arrow:
            dotted = False
        elif not (text == " " or (text.isascii() and text.isalpha())):
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {at} in the equation string, subscripts must be "
                "in [a-zA-Z]"
            )


@lru_cache(maxsize=1024)
def _understood(equation: str, ndims: tuple[int, ...]) -> Equation:
    """The equation with letters for ellipses and an explicit result; PyTorch's errors."""
    _check_letters(equation)
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        more = "fewer" if len(terms) > len(ndims) else "more"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    width = max(
        [n - len(t.replace("...", "")) for t, n in zip(terms, ndims, strict=True) if "..." in t], default=0
    )
    dots = "".join([chr(_DOTS + i) for i in range(width)])
    filled = []
    for number, (t, n) in enumerate(zip(terms, ndims, strict=True)):
        own = n - len(t.replace("...", ""))
        if own < 0 or ("..." not in t and own):
            wrong = f"is more than the number of dimensions ({n}) for operand {number}"
            if "..." not in t:
                wrong = (
                    f"does not match the number of dimensions ({n}) for operand {number} and no ellipsis was "
                    "given"
                )
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(t.replace('...', ''))}) {wrong}"
            )
        missing = width - own if "..." in t else 0
        filled.append(Term(t.replace("...", dots), max(t.find("..."), 0), missing))
    letters = "".join([term.labels for term in filled])
    if arrow:
        result = right.replace("...", dots)
    else:
        counts = "".join(terms)
        result = dots + "".join(sorted(c for c in set(letters) - set(dots) if counts.count(c) == 1))
    _check_result(result, letters)
    summed = [c for c in dots if c not in result] + sorted(set(letters) - set(result) - set(dots))
    return Equation(tuple(filled), result + "".join(summed), len(result))


def _check_result(result: str, known: str) -> None:
    for c in result:
        if result.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
        if c not in known:
            raise RuntimeError(
                f"einsum(): output subscript {c} does not appear in the equation for any input operand"
            )


def _sublists(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """einsum(op1, [0, 1], op2, [1, 2], [0, 2]) as an equation and operands."""
    letters = string.ascii_uppercase + string.ascii_lowercase

    def text(items: Any) -> str:
        if not all(i is Ellipsis or 0 <= i < 52 for i in items):
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        return "".join("..." if i is Ellipsis else letters[int(i)] for i in items)

    pairs = len(args) // 2
    terms = [text(args[2 * i + 1]) for i in range(pairs)]
    tail = "->" + text(args[-1]) if len(args) % 2 else ""
    return ",".join(terms) + tail, [args[2 * i] for i in range(pairs)]
