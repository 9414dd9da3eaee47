"""The sizes at which a program is recorded, beside those of the call that was given."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import rushlight as torch
from rushlight.export.numbers.expressions import Atom, Expr, Relation
from rushlight.export.symbols import Symbol

_FAR = 70


def resized(t: Any, dim: int, size: int) -> Any:
    """The tensor with another size in one dimension: its own elements, again or fewer."""
    if dim >= t.dim() or t.shape[dim] == size:
        return t
    if t.shape[dim] == 0:
        return t.new_zeros([*t.shape[:dim], size, *t.shape[dim + 1 :]])
    return t.index_select(dim, torch.arange(size, device=t.device) % t.shape[dim])


def points(known: Sequence[Symbol], asserted: Sequence[Relation] = ()) -> list[dict[str, int]]:
    """The sizes to record at: the hints, each symbol changed alone, all of them together; only such as
    fulfil all that is asserted.
    """
    base = {s.name: s.hint for s in known}
    found: list[dict[str, int]] = [base]
    for s in known:
        mended = [_mended({**base, s.name: v}, s.name, known, asserted) for v in s.others()]
        fit = [p for p in mended if fulfils(p, asserted) and p not in found][:2]
        if len(fit) < 2:
            fit = list(itertools.islice(_farther(base, s, fit, known, asserted), 2))
        found += fit
    others = [(s.name, o) for s in known if len(o := [*s.others(), s.hint]) > 1]
    if len(others) > 1:
        found.append(base | {name: o[i % 2] for i, (name, o) in enumerate(others)})
        if asserted:
            moved = [base | {n: base[n] + by for n, _ in others} for by in (1, 2)]
            (a, _), (b, _) = others[:2]
            moved += [base | {a: base[a] + by, b: base[b] - by} for by in (1, -1, 2, -2)]
            least = {s.name: max(s.low, min(2, s.hint)) for s in known}  # of sizes 0 and 1 are other programs
            found += [p for p in moved if all(least[s.name] <= p[s.name] <= s.high for s in known)]
    return [base, *(p for p in found[1:] if fulfils(p, asserted))]


def _farther(
    base: dict[str, int],
    s: Symbol,
    before: list[dict[str, int]],
    known: Sequence[Symbol],
    asserted: Sequence[Relation],
) -> Iterator[dict[str, int]]:
    """Points where a symbol is farther away, for sizes that have to be multiples of others."""
    yield from before
    above = range(s.hint + 1, int(min(4 * s.hint + _FAR, s.high)) + 1)
    below = range(s.hint - 1, max(s.low, 2, s.hint - _FAR) - 1, -1)
    for size in itertools.chain(above, below) if asserted else ():
        point = _mended({**base, s.name: size}, s.name, known, asserted)
        if fulfils(point, asserted) and point not in before:
            yield point


def _mended(
    point: dict[str, int], changed: str, known: Sequence[Symbol], asserted: Sequence[Relation]
) -> dict[str, int]:
    """A point where one size has changed, with others so that what is asserted to be equal is."""
    for r in asserted:
        if r.sign != "==" or r.parts or not r.free() <= point.keys() or r.at(point):
            continue
        apart = r.left - r.right
        for s in known:
            times = {p: c for p, c in apart.terms.items() if s.name in Expr({p: c}).free()}
            if s.name == changed or len(times) != 1:
                continue
            ((factors, count),) = times.items()
            by = Expr({factors: count}).at({**point, s.name: 1}) if factors.count(Atom(s.name)) == 1 else 0
            size, rest = divmod(-apart.at({**point, s.name: 0}), by) if by else (0, 1)
            if rest == 0 and max(s.low, 2) <= size <= s.high:
                point = {**point, s.name: int(size)}
                break
    return point


def fulfils(point: dict[str, int], asserted: Sequence[Relation]) -> bool:
    """Whether sizes are what is asserted of them, as far as they say."""
    try:
        return all(r.at(point) for r in asserted if r.free() <= point.keys())
    except ZeroDivisionError:
        return False


def smaller(point: dict[str, int], base: dict[str, int]) -> bool:
    """Whether a size is below that of the call that was given: numbers in tensors may be places beyond it."""
    return any(size < base[name] for name, size in point.items() if name in base)
