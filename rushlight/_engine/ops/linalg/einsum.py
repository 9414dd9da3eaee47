"""einsum: contractions by labels, with gradients by permuted labels."""

from __future__ import annotations

import re
import string
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core.errors import wrong_type
from rushlight._engine.core.promotion import promote_types
from rushlight._engine.ops.table import Array, composite, opaque


@opaque(name="_einsum", where=("aten",), node="einsum")
def _einsum(operands: list[Tensor], equation: str) -> Array:
    """A contraction whose equation has single letters and an explicit result."""
    dtype = operands[0].dtype
    # NumPy contracts the last two first, and puts what the last one has before what the other has.
    terms, out = equation.split("->")
    equation, operands = f"{','.join(terms.split(',')[::-1])}->{out}", operands[::-1]
    if dtype.itemsize <= 2 and dtype.kind not in "iub":
        wide = [o.astype(np.float32) for o in operands]
        result: Array = np.einsum(equation, *wide, optimize=len(wide) > 1).astype(dtype)
        return result
    if dtype.kind in "iub" and not set(terms) <= {*out, ","}:
        if len(operands) == 1:
            dtype = np.dtype(np.int64)  # of sums
        elif dtype.kind == "b":
            raise NotImplementedError("\"bmm\" not implemented for 'Bool'")
    found = np.einsum(equation, *operands, dtype=dtype, casting="unsafe", optimize=len(operands) > 1)
    # einsum may answer with a view of its operand (transposes, diagonals): ours is a fresh tensor.
    return np.array(found, dtype) if np.asarray(found).base is not None else found


@_einsum.gradient
def _einsum_gradient(s: Any, grad: Any) -> Any:
    inputs, out = s.equation.split("->")
    terms = inputs.split(",")
    tensors, shapes, results = s.items("operands"), s.shape("operands"), list[Any]()
    for i, (labels, shape) in enumerate(zip(terms, shapes, strict=True)):
        if not s.needs("operands", i):
            results.append(None)
            continue
        # An operand that no gradient asks for may have been written to.
        others = [(terms[j], tensors[j]) for j in range(len(terms)) if j != i]
        results.append(_operand_gradient(labels, out, shape, grad, others))
    return results


setattr(_einsum_gradient, "keeps", frozenset(("operands", "equation")))


def _operand_gradient(labels: str, out: str, shape: Any, grad: Any, others: Any) -> Any:
    unique = "".join(dict.fromkeys(labels))
    sizes = dict(zip(labels, shape, strict=True))
    present = set(out).union(*[set(term) for term, _ in others])
    reachable = "".join(c for c in unique if c in present)
    equation = ",".join([out, *[term for term, _ in others]]) + "->" + reachable
    found = _einsum([grad, *[o.conj() for _, o in others]], equation)
    # Labels that only this operand has were summed away: every element gets the same gradient.
    for place, c in enumerate(unique):
        if c not in present:
            found = found.unsqueeze(place)
    full = [sizes[c] for c in unique]
    if any(n == 1 and have > 1 for have, n in zip(found.shape, full, strict=True)):
        found = found.sum_to_size(full)
    found = found.expand(full)
    return found if unique == labels else _on_diagonal(found, labels, unique, shape)


def _on_diagonal(found: Any, labels: str, unique: str, shape: Any) -> Any:
    into = found.new_zeros(shape)
    strides = into.stride()
    steps = [sum(st for c, st in zip(labels, strides, strict=True) if c == u) for u in unique]
    into.as_strided(found.shape, steps).copy_(found)
    return into


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
        raise ValueError("einsum(): must provide at least one operand")
    return _of_equation(equation, list(operands))


@composite(where=("aten",), planned=True)
def _of_equation(equation: str, operands: list[Tensor]):
    """einsum."""
    full = _normalised(equation, [t.ndim for t in operands])
    _check_sizes(equation, full, operands)
    if len(operands) == 2:
        terms, result = full.split("->")
        first, second = (_beside(t, term, result) for t, term in zip(operands, terms.split(","), strict=True))
        if first is not None and second is not None:  # nothing is summed
            return first * second
    if any(t.dtype is not operands[0].dtype for t in operands):
        operands = _of_one_dtype(full, operands)
    return _einsum(list(operands), full)


def _of_one_dtype(equation: str, operands: Any) -> list[Any]:
    """The operands in one dtype, as their products promote; RuntimeError where dims of two dtypes are summed,
    which is a matrix product.
    """
    terms, result = equation.split("->")
    labels = [set(term) for term in terms.split(",")]
    found, seen = operands[0].dtype, labels[0]
    for k, t in enumerate(operands[1:], 1):
        later = set(result).union(*labels[k + 1 :])
        if seen & labels[k] - later and t.dtype is not found:
            raise RuntimeError(f"expected scalar type {found.legacy} but found {t.dtype.legacy}")
        found, seen = promote_types(found, t.dtype), (seen | labels[k]) & later
    return [t.to(found) for t in operands]


def _beside(t: Any, labels: str, result: str) -> Any:
    """A view with the dims in the result's order, 1 where it has none; None if labels are summed or alike."""
    if len(set(labels)) < len(labels) or not set(labels) <= set(result):
        return None
    turned = t.permute([labels.index(c) for c in result if c in labels])
    for place, c in enumerate(result):
        if c not in labels:
            turned = turned.unsqueeze(place)
    return turned


def _check_sizes(equation: str, full: str, operands: Any) -> None:
    """Raise PyTorch's RuntimeError where dims of one letter have sizes that do not go together; letters that
    only `full` has stand for ellipses.
    """
    seen: dict[str, int] = {}
    for number, (term, t) in enumerate(zip(full.split("->")[0].split(","), operands, strict=True)):
        own: dict[str, int] = {}
        for c, n in zip(term, t.shape, strict=True):
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
            rest = again if is_output and dotted else f"that is not part of any ellipsis{dots}"
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


def _normalised(equation: str, ndims: list[int]) -> str:
    """The equation with letters for ellipses and an explicit result; PyTorch's errors."""
    _check_letters(equation)
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        more = "fewer" if len(terms) > len(ndims) else "more"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    free = [c for c in string.ascii_letters if c not in equation]
    width = max(
        [n - len(t.replace("...", "")) for t, n in zip(terms, ndims, strict=True) if "..." in t], default=0
    )
    dots = "".join(free[:width])
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
        filled.append(t.replace("...", dots[len(dots) - own :] if own else ""))
    if arrow:
        result = right.replace("...", dots)
    else:
        counts = "".join(filled)
        result = dots + "".join(sorted(c for c in set(counts) - set(dots) if counts.count(c) == 1))
    _check_result(result, filled)
    return ",".join(filled) + "->" + result


def _check_result(result: str, terms: list[str]) -> None:
    known = set("".join(terms))
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
