"""What a record says of sizes: other bounds than their Dims', sizes that follow one another; errors."""

from __future__ import annotations

import copy
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from rushlight.export.numbers.expressions import Relation, symbol
from rushlight.export.numbers.violations import Divisible, constraints_violated
from rushlight.export.symbols import UNBOUNDED, Dim, Symbol, _Hint


def narrowed(known: list[Symbol], numbers: Any, refused: Callable[[str], None]) -> list[Symbol]:
    """The symbols after what sizes decided in a record: those that were compared with numbers have other
    bounds, or are no symbols any more; those that are equal are one. The same list where nothing has changed.

    refused(what PyTorch says) where that is not what a Dim says.
    """
    guards = [(r, where) for r, where in numbers.guards if r.free() <= {s.name for s in known}]
    changed = {}
    for s in known:
        low, high = numbers.known.ranges.get(s.name, (s.low, s.high))
        if isinstance(s.given, Dim):
            low, high = _without_gaps(s, low, high, [r for r, _ in guards])
        if (low > max(s.low, 2) or high < s.high) and low <= high:
            changed[s.name] = (low, high)
    equal = [pair for r, _ in guards if r.sign == "==" and (pair := _equal(r, known)) is not None]
    divisible = [found for r, _ in guards if (found := _divisible(r, known)) is not None]
    if not changed and not equal and not any(isinstance(c.symbol.given, Dim) for c in divisible):
        return known
    fixed = [
        (s, *s.given.told)
        for s in known
        if s.name in changed
        and isinstance(s.given, _Hint)
        and _fixed_by_its_bounds(s.given, *changed[s.name])
    ]
    if fixed:
        raise ValueError(
            "\n".join(
                f"- Received user-specified dim hint Dim.DYNAMIC(min={least}, max={most}), but tracing "
                f"inferred a static shape of {changed[s.name][0]} for dimension {s.path}."
                for s, least, most in fixed
            )
        )
    alone = {name for r, _ in guards if len(r.free()) == 1 for name in r.free()}
    violated = [s for s in known if s.name in changed and s.refuses(*changed[s.name])]
    violated = [s for s in violated if s.name in alone or changed[s.name][0] == changed[s.name][1]]
    related = [pair for pair in equal if all(isinstance(s.given, Dim) for s in pair[:2])]
    if violated or related or any(isinstance(c.symbol.given, Dim) for c in divisible):
        within = {n for r, _ in guards if r.sign == "==" for n in r.left.free() & r.right.free()}
        refused(constraints_violated(violated, changed, related, divisible, within))
    bounded = []
    for s in known:
        made = copy.copy(s)
        made.low, made.high = changed.get(s.name, (s.low, s.high))
        bounded.append(made)
    for a, b, of in equal:
        bounded = related_as(bounded, a.name, b.name, of)
    return [s for s in bounded if s.low < s.high]


_COMPARED = ("<", "<=", ">", ">=")
_FAR = 1000  # from a sample's size, how far others are tried


def _without_gaps(s: Symbol, low: Any, high: Any, guards: Sequence[Relation]) -> tuple[Any, Any]:
    """The bounds about the sample's size within which quotients are as guards ask: these may fail between
    sizes of which they hold, and all that a Dim says must be good.
    """
    for r in guards:
        broken = any(a.op == "FloorDiv" for e in (r.left, r.right) for product in e.terms for a in product)
        if r.sign not in _COMPARED or not broken or r.free() != {s.name}:
            continue
        below = range(s.hint - 1, max(low, 2, s.hint - _FAR) - 1, -1)
        above = range(s.hint + 1, int(min(high, s.hint + _FAR)) + 1)
        low = next((n + 1 for n in below if not r.at({s.name: n})), low)
        high = next((n - 1 for n in above if not r.at({s.name: n})), high)
    return low, high


def _fixed_by_its_bounds(hint: _Hint, low: Any, high: Any) -> bool:
    """Whether what the program asks leaves one number of what was said of a DYNAMIC size."""
    return hint.kind == "DYNAMIC" and low == high and low in hint.told


def within_given(known: Sequence[Symbol]) -> None:
    """Bounds that were given and that the sample lies outside of are the symbols' now; ValueError where the
    program asks for others.
    """
    told = []
    for s in known:
        if s.wanted is None:
            continue
        low, high = s.wanted.min, s.wanted.max
        if high < s.low or low > s.high:
            ends = "int_oo" if s.high == UNBOUNDED else s.high
            least, most = s.wanted.told
            told.append(
                f"- Received user-specified min/max range of [{least}, {most}], conflicting with the "
                f"inferred min/max range of [{s.low}, {ends}], for {s.path}."
            )
        s.low, s.high, s.wanted = max(s.low, low), min(s.high, high), None
    if told:
        raise ValueError("\n".join(told))


def related_as(known: Sequence[Symbol], name: str, other: str, of: Callable[[int], int]) -> list[Symbol]:
    """The symbols without one, that is of(another)."""
    found = []
    for s in known:
        made = copy.copy(s)
        made.places = dict(s.places)
        found.append(made)
    by_name = {s.name: s for s in found}
    if name == other or not {name, other} <= by_name.keys():
        return found
    gone, kept = by_name[name], by_name[other]
    for place, own in gone.places.items():
        kept.places[place] = _after(own, of)
    if of(1) - of(0) == 1:  # what bounds one bounds the other
        kept.low, kept.high = max(kept.low, gone.low - of(0)), min(kept.high, gone.high - of(0))
    return [s for s in found if s.name != name]


def relations(known: Sequence[Symbol]) -> Iterator[tuple[Symbol, Symbol, Callable[[int], int]]]:
    """(a, b, of): pairs of symbols, of which one may be of(the other): equal, or apart by a number."""
    pairs = list(itertools.combinations(known, 2)) if len(known) <= 6 else []
    for b, a in sorted(pairs, key=lambda pair: pair[0].size != pair[1].size):
        apart = a.size - b.size
        if a.hint - b.hint == apart:
            yield a, b, partial(operator.add, apart)


def _after(own: Callable[[int], int], of: Callable[[int], int]) -> Callable[[int], int]:
    return lambda x: own(of(x))


def _equal(relation: Relation, known: Sequence[Symbol]) -> tuple[Symbol, Symbol, Callable[[int], int]] | None:
    """(a, b, of) where a relation says that a symbol a is of(another one b): a larger one, if it can be."""
    names = relation.free()
    difference = relation.left - relation.right
    pair = [s for s in known if s.name in names]
    if len(pair) != 2 or any(len(p) > 1 or any(a.args for a in p) for p in difference.terms):
        return None
    found = []
    plus = difference.at({s.name: 0 for s in pair})
    for a, b in (pair[::-1], pair):
        by, other = (difference.at({n.name: int(n is s) for n in pair}) - plus for s in (a, b))
        if plus % by == other % by == 0:
            found.append((a, b, partial(_linear, -plus // by, -other // by)))
    rising = [f for f in found if f[2](0) >= 0]
    free = [f for f in rising + found if isinstance(f[0].given, _Hint)]
    return next(iter(free + rising + found), None)


def _linear(plus: int, by: int, x: int) -> int:
    return plus + by * x


def _divisible(relation: Relation, known: Sequence[Symbol]) -> Divisible | None:
    """What a relation says of a symbol and a number, one of which divides a sum of the other."""
    if relation.sign != "==" or relation.right != 0 or len(relation.left.terms) != 1:
        return None
    (((atom, *more), count),) = relation.left.terms.items()
    if more or count != 1 or atom.op != "Mod":
        return None
    whole, by = atom.args[0], atom.args[1].constant
    own = [s for s in known if s.name in whole.free()]
    if by is None or len(own) != 1 or whole - symbol(own[0].name) != whole.at({own[0].name: 0}):
        return None
    return Divisible(own[0], whole.at({own[0].name: 0}), by)
