"""Patterns of dotted names: `*` stands for a part of one segment, `**` for any number of segments."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

GlobPattern: TypeAlias = str | Iterable[str]


class GlobGroup:
    """Names that match one of the patterns `include` and none of `exclude`.

    `torch.**` matches torch and all below it, `torch.*` what is one segment longer than torch.

    Example::

        >>> from rushlight.package import GlobGroup
        >>> group = GlobGroup("a.**", exclude=["a.b"])
        >>> group.matches("a.c.d"), group.matches("a.b")
        (True, False)
    """

    def __init__(self, include: GlobPattern, *, exclude: GlobPattern = (), separator: str = ".") -> None:
        self._shown = f"GlobGroup(include={include}, exclude={exclude})"
        self.separator = separator
        self.include = _expressions(include, separator)
        self.exclude = _expressions(exclude, separator)

    def __str__(self) -> str:
        return self._shown

    __repr__ = __str__

    def matches(self, candidate: str) -> bool:
        """Whether a name is in the group."""
        candidate = self.separator + candidate
        return any(p.fullmatch(candidate) for p in self.include) and not any(
            p.fullmatch(candidate) for p in self.exclude
        )


def _expressions(patterns: GlobPattern, separator: str) -> list[re.Pattern[str]]:
    held = [patterns] if isinstance(patterns, str) else patterns
    return [_expression(pattern, separator) for pattern in held]


def _expression(pattern: str, separator: str) -> re.Pattern[str]:
    """A pattern as an expression over names, of which each segment has the separator before it."""
    sign = re.escape(separator)
    inside = f"[^{sign}]"
    parts = []
    for segment in pattern.split(separator):
        if segment == "**":
            parts.append(f"({sign}{inside}+)*")
        elif "**" in segment:
            raise ValueError("** can only appear as an entire path segment")
        else:
            parts.append(sign + f"{inside}*".join(map(re.escape, segment.split("*"))))
    return re.compile("".join(parts))


__all__ = ["GlobGroup", "GlobPattern"]
