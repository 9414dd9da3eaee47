"""Templates of strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.jit._logging import add_stat_value, time_point
from rushlight.jit.printing import told
from rushlight.jit.program import runtime as rt
from rushlight.jit.templates.table import plain

plain("prim::AddStatValue")(add_stat_value)
plain("prim::TimePoint")(time_point)


def stop(text: str, end: int) -> int:
    """Where a search ends: TorchScript counts a negative end from behind the last character."""
    return end if end >= 0 else max(0, len(text) + end + 1)


@plain("count")
def count(text: str, part: str, start: int, end: int) -> int:
    return text.count(part, start, stop(text, end))


@plain("index.str")
def index(text: str, part: str, start: int, end: int) -> int:
    return text.index(part, start, stop(text, end))


@plain("join")
def join(separator: str, parts: list[str]) -> str:
    return separator.join(parts)


@plain("lower")
def lower(text: str) -> str:
    return text.lower()


@plain("upper")
def upper(text: str) -> str:
    return text.upper()


@plain("strip")
def strip(text: str, characters: str) -> str:
    return text.strip(characters)


@plain("lstrip")
def lstrip(text: str, characters: str) -> str:
    return text.lstrip(characters)


@plain("rstrip")
def rstrip(text: str, characters: str) -> str:
    return text.rstrip(characters)


@plain("capitalize")
def capitalize(text: str) -> str:
    return text.capitalize()


@plain("title")
def title(text: str) -> str:
    return text.title()


@plain("isdigit")
def isdigit(text: str) -> bool:
    return text.isdigit()


@plain("isalpha")
def isalpha(text: str) -> bool:
    return text.isalpha()


@plain("startswith")
def startswith(text: str, prefix: str, start: int, end: int) -> bool:
    return text.startswith(prefix, start, stop(text, end))


@plain("endswith")
def endswith(text: str, suffix: str, start: int, end: int) -> bool:
    return text.endswith(suffix, start, stop(text, end))


@plain("find")
def find(text: str, part: str, start: int, end: int) -> int:
    return text.find(part, start, stop(text, end))


@plain("rfind")
def rfind(text: str, part: str, start: int, end: int) -> int:
    return text.rfind(part, start, stop(text, end))


@plain("rindex")
def rindex(text: str, part: str, start: int, end: int) -> int:
    return text.rindex(part, start, stop(text, end))


@plain("replace")
def replace(text: str, old: str, new: str, count: int) -> str:
    return text.replace(old, new, count)


@plain("split")
def split(text: str, separator: str | None, limit: int) -> list[str]:
    return text.split(separator, limit)


# Ops that are a function of Python's, or of this package, on the same arguments.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "str": told,
    "format": rt.formatted,
    "percentFormat": rt.percent,
    "ord": ord,
    "chr": chr,
    "hex": hex,
    "bin": bin,
    "oct": oct,
}
_METHODS = (
    "isspace isnumeric isprintable islower isupper istitle isalnum isdecimal isidentifier expandtabs center "
    "ljust rjust zfill swapcase splitlines partition rpartition rsplit"
).split()
_FUNCTIONS |= {name: getattr(str, name) for name in _METHODS}
for _op, _function in _FUNCTIONS.items():
    plain(_op)(_function)
