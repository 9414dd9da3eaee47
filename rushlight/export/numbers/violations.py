"""What is said where a program asks more of sizes than their Dims allow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from rushlight.export.symbols import UNBOUNDED, Dim, Symbol

Related = tuple[Symbol, Symbol, Callable[[int], int]]


class Divisible(NamedTuple):
    """`symbol + plus` has no remainder by a number."""

    symbol: Symbol
    plus: int
    by: int


def constraints_violated(
    violated: Sequence[Symbol],
    bounds: dict[str, Any],
    related: Sequence[Related],
    divisible: Sequence[Divisible] = (),
    within: Collection[str] = (),
) -> str:
    """What PyTorch says where sizes have other bounds, follow one another or have divisors. within: symbols
    that stand on both sides of an equation.
    """
    fixed = [s for s in violated if bounds[s.name][0] == bounds[s.name][1]]
    if fixed and all(s.name in within and isinstance(s.given, Dim) for s in fixed):
        return _solved(fixed, bounds)
    names, lines, fixes = _specialized(fixed, bounds)
    follows = {a.name: (b, of) for a, b, of in related}
    lines += [_related(*relation) for relation in related]
    names += [a.shown for a, _, _ in related]
    of_others = [f"{a.shown} = {_told(b, of)}" for a, b, of in related]
    roots = {}
    for d in divisible:
        s, plus = d.symbol, d.plus
        if s.name in follows:
            s, plus = follows[s.name][0], plus + follows[s.name][1](0)
        if s.name in roots:
            continue
        roots[s.name] = s, -plus, d.by
        whole = f"({plus} + {s.source})" if plus else s.source
        lines.append(_unlike(s, f"({whole} % {d.by}) == 0."))
        names.append(s.shown)
    for s in violated:
        if s.name in follows or s in fixed:
            continue
        low, high = bounds[s.name]
        ends = "IntInfinity()" if high == UNBOUNDED else high
        lines.append(_unlike(s, f"{low} <= {s.source} and {s.source} <= {ends}"))
        names.append(s.shown)
        if isinstance(s.given, Dim) and s.name not in roots:
            told = [f"min={low}"] * (low > 2) + [f"max={high}"] * (high < UNBOUNDED)
            fixes.append(f"{s.shown} = Dim('{s.shown}', {', '.join(told)})")
    if roots:
        of_others = [
            f"{a.shown} = {_of_root(*roots[b.name], of) if b.name in roots else _told(b, of)}"
            for a, b, of in related
        ]
    for s, plus, by in roots.values():
        low, high = bounds.get(s.name, (s.low, s.high))
        least, most = max(-((plus - low) // by), 1), "oo" if high == UNBOUNDED else (high - plus) // by
        fixes.append(f"_{s.shown} = Dim('_{s.shown}', {f'min={least}, ' if least != 2 else ''}max={most})")
        fixes.append(f"{s.shown} = {_linear(_root(s), plus, by)}")
    return _text(sorted(set(names)), lines, fixes + of_others)


def _text(names: Sequence[str], lines: Sequence[str], fixes: Sequence[str]) -> str:
    shown = "\n".join(f"  - {line}" for line in lines)
    text = (
        f"Constraints violated ({', '.join(names)})! For more information, run with "
        f'TORCH_LOGS="+dynamic".\n{shown}'
    )
    return text + ("\nSuggested fixes:\n  " + "\n  ".join(fixes) if fixes else "")


def _specialized(fixed: Sequence[Symbol], bounds: dict[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """Names, lines and fixes for Dims that can be one number only, and for those that follow them."""
    lines: list[str] = []
    fixes: list[str] = []
    names: list[str] = []
    for s in fixed:
        size = bounds[s.name][0]
        named = isinstance(s.given, Dim)
        for shown, own in (_as_given(s) if named else {s.shown: lambda x: x}).items():
            names.append(shown)
            lines.append(
                f"You marked {shown} as dynamic but your code specialized it to be a constant ({own(size)}). "
                "If you're using mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using "
                "Dim.DYNAMIC, replace it with either Dim.STATIC or Dim.AUTO."
            )
            if named and own(0) == 0 and own(1) == 1:
                fixes.append(f"{shown} = {size}")
    return names, lines, fixes


def _solved(fixed: Sequence[Symbol], bounds: dict[str, Any]) -> str:
    """The same where an equation has one solution."""
    lines, fixes = [], []
    for s in fixed:
        shown, of = next(iter(_as_given(s).items()))
        size = bounds[s.name][0]
        lines.append(
            f"solving the guards generated for {shown} = {s.source} resulted in a specialized value of "
            f"{of(size)}."
        )
        fixes.append(f"{s.shown} = {size}")
    text = _text([s.shown for s in fixed], lines, fixes)
    return text.replace("Constraints violated", "Specializations unexpectedly required", 1)


def _as_given(s: Symbol) -> dict[str, Callable[[int], int]]:
    """The names of a Dim and of those that follow it, as they stand for its places."""
    name, found = s.shown, {}
    for place in sorted(s.places, key=lambda p: (p.leaf, p.dim or 0)):
        of = s.places[place]
        found[_linear(name, of(0), of(1) - of(0))] = of
    return found


def _unlike(s: Symbol, guard: str) -> str:
    return (
        f"Not all values of {s.shown} = {s.source} in the specified range satisfy the generated guard {guard}"
    )


def _of_root(s: Symbol, plus: int, by: int, of: Callable[[int], int]) -> str:
    """A size that follows one that is `by` times its root, plus something."""
    return _linear(_root(s), of(plus), (of(1) - of(0)) * by)


def _root(s: Symbol) -> str:
    return f"_{s.shown}"


def _linear(name: str, plus: int, by: int) -> str:
    told = f"{by}*{name}" if by != 1 else name
    return told + (f" {'+-'[plus < 0]} {abs(plus)}" if plus else "")


def _told(b: Symbol, of: Callable[[int], int]) -> str:
    return _linear(b.shown, of(0), of(1) - of(0))


def _related(a: Symbol, b: Symbol, of: Callable[[int], int]) -> str:
    """That a size is of(another)."""
    shown, told = next(iter(_as_given(b))) if isinstance(b.given, Dim) else b.shown, _told(b, of)
    if told == shown:
        return f"The values of {a.shown} = {a.source} and {b.shown} = {b.source} must always be equal."
    return (
        f"The values of {a.shown} = {a.source} must always be related to the values of {shown} = "
        f"{b.source} by {a.shown} = {told}."
    )
