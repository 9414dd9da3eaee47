"""How numbers follow from sizes: found from what they are at some sizes, for any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations_with_replacement, product

# What is added to a size before it is multiplied: of a sequence without its last element, or with one more.
_MORE = (0, -1, 1, -2, 2, -3, 3, -4, 4)
_POWERS = (1, 2, 3)


class Unlike(Exception):
    """Something that has no description, or no formula."""


def formula(row: tuple[int, ...], columns: Sequence[tuple[int, ...]]) -> Callable[..., int]:
    """How a number follows from sizes: a multiple of a product of a few of them, each some more or less."""
    for power in _POWERS:
        for which in combinations_with_replacement(range(len(columns)), power):
            of = tuple(dict.fromkeys(which))
            for more in sorted(product(_MORE, repeat=len(of)), key=_simplest):
                added = tuple([more[of.index(k)] for k in which])
                if _fits(row, which, added, columns):
                    first = [c[0] for c in columns]
                    return partial(_value, which, added, row[0], _product(which, added, first))
    raise Unlike("a number is no product of sizes")


def follows(column: tuple[int, ...], others: Sequence[tuple[int, ...]]) -> bool:
    try:
        formula(column, others)
    except Unlike:
        return False
    return True


def _simplest(more: tuple[int, ...]) -> int:
    return sum([abs(k) for k in more])


def _fits(
    row: tuple[int, ...], which: Sequence[int], added: Sequence[int], columns: Sequence[tuple[int, ...]]
) -> bool:
    """Whether a number is a multiple of a product of sizes, at all sizes that are known."""
    of = _product(which, added, [c[0] for c in columns])
    return of != 0 and all(
        v * of == row[0] * _product(which, added, sizes)
        for v, sizes in zip(row[1:], [*zip(*columns, strict=True)][1:], strict=True)
    )


def _product(which: Sequence[int], added: Sequence[int], sizes: Sequence[int]) -> int:
    found = 1
    for k, more in zip(which, added, strict=True):
        found *= sizes[k] + more
    return found


def _value(
    which: Sequence[int],
    added: Sequence[int],
    known: int,
    of: int,
    firsts: Sequence[int],
    sizes: Sequence[int],
) -> int:
    found, rest = divmod(known * _product(which, added, [sizes[k] for k in firsts]), of)
    if rest:
        raise Unlike("a number is no whole multiple of sizes")
    return found
