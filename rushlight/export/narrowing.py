"""What a record says of sizes: other bounds than their Dims', sizes that follow one another; errors."""

from __future__ import annotations

import copy
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from rushlight.export.numbers.expressions import Relation
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
        if (low > max(s.low, 2) or high < s.high) and low <= high:
            changed[s.name] = (low, high)
    equal = [pair for r, _ in guards if r.sign == "==" and (pair := _equal(r, known)) is not None]
    if not changed and not equal:
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
    violated = [s for s in known if s.name in changed and s.refuses(*changed[s.name])]
    related = [pair for pair in equal if any(isinstance(s.given, Dim) for s in pair[:2])]
    if violated or related:
        refused(constraints_violated(known, violated, changed, related, guards))
    bounded = []
    for s in known:
        made = copy.copy(s)
        made.low, made.high = changed.get(s.name, (s.low, s.high))
        bounded.append(made)
    for a, b, of in equal:
        bounded = related_as(bounded, a.name, b.name, of)
    return [s for s in bounded if s.low < s.high]


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
    """(a, b, of) where a relation says that a symbol a is of(another one b)."""
    names = relation.free()
    difference = relation.left - relation.right
    pair = [s for s in known if s.name in names]
    if len(pair) != 2 or any(len(p) > 1 for p in difference.terms):
        return None
    for a, b in (pair[::-1], pair):
        by = difference.at({a.name: 1, b.name: 0}) - difference.at({a.name: 0, b.name: 0})
        if abs(by) == 1:
            return a, b, lambda x: -difference.at({a.name: 0, b.name: x}) // by
    return None


def constraints_violated(
    known: Sequence[Symbol], violated: Sequence[Symbol], bounds: dict[str, Any], related: Any, guards: Any
) -> str:
    """What PyTorch says where a program asks more of sizes than their Dims."""
    lines, fixes, names = [], [], []
    for s in violated:
        low, high = bounds[s.name]
        names.append(s.shown)
        if low == high:
            marked = (
                f"You marked {s.shown} as dynamic but your code specialized it to be a constant ({low}). "
                "If you're using mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using "
                "Dim.DYNAMIC, replace it with either Dim.STATIC or Dim.AUTO."
            )
            lines.append(marked)
            if isinstance(s.given, Dim):
                fixes.append(f"{s.given.root.__name__} = {low}")
            continue
        for r, where in guards:
            if r.free() == {s.name}:
                lines.append(
                    f"Not all values of {s.shown} = {s.source} in the specified range "
                    f"{s.given.root.__name__ if isinstance(s.given, Dim) else ''}{_ranged(s)} satisfy the "
                    f"generated guard {s.told(r)} (from {where})"
                )
        if isinstance(s.given, Dim):
            ends = [f"min={low}"] * (low > 2) + [f"max={high}"] * (high < UNBOUNDED)
            fixes.append(f"{s.shown} = Dim('{s.shown}', {', '.join(ends)})")
    for a, b, of in related:
        names += [a.shown]
        plus, by = of(0), of(1) - of(0)
        told = f"{by}*{b.shown}" if by != 1 else b.shown
        told += f" {'+-'[plus < 0]} {abs(plus)}" if plus else ""
        if told == b.shown:
            lines.append(
                f"The values of {a.shown} = {a.source} and {b.shown} = {b.source} must always be equal."
            )
        else:
            lines.append(
                f"The values of {a.shown} = {a.source} must always be related to the values of {b.shown} = "
                f"{b.source} by {a.shown} = {told}."
            )
        fixes.append(f"{a.shown} = {told}")
    shown = "\n".join(f"  - {line}" for line in lines)
    text = (
        f"Constraints violated ({', '.join(dict.fromkeys(names))})! For more information, run with "
        f'TORCH_LOGS="+dynamic".\n{shown}'
    )
    return text + ("\nSuggested fixes:\n  " + "\n  ".join(fixes) if fixes else "")


def _ranged(s: Symbol) -> str:
    low = f"{s.low} <= " if s.low > 0 else ""
    high = f" <= {s.high}" if s.high < UNBOUNDED else ""
    return f" = {low}{s.shown}{high}" if low or high else ""
