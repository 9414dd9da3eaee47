"""torch.__version__: a text that is compared as a version."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from rushlight.version import __version__ as _text

_FORM = re.compile(
    r"\s*v?(\d+(?:\.\d+)*)[-_.]?(?:(a|b|c|rc|alpha|beta|pre|dev|post)[-_.]?(\d*))?"
    r"(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*",
    re.IGNORECASE,
)
# A release's stages in order, by their first letters; "" is the release itself.
_STAGES = ("d", "a", "b", "c", "", "p")


def _parsed(value: Any) -> tuple[Any, ...] | None:
    """What a version (a text, a tuple of numbers, a packaging.Version) is ordered by; None for others."""
    if isinstance(value, Iterable) and not isinstance(value, str):
        value = ".".join(map(str, value))
    known = isinstance(value, str) or type(value).__name__ == "Version"
    found = _FORM.fullmatch(str(value)) if known else None
    if found is None:
        return None
    numbers = re.sub(r"(\.0+)+$", "", found[1])
    stage = (found[2] or "").lower()
    stage = "c" if stage in ("rc", "pre") else stage[:1]
    return tuple(map(int, numbers.split("."))), _STAGES.index(stage), int(found[3] or 0), found[4] or ""


class TorchVersion(str):
    """A text that is compared with texts, tuples and packaging's Versions as a version.

    TorchVersion("2.13.0") > "2.9", and > (2, 9); what is no version is compared as a text.
    """

    __slots__ = ()


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    def compared(self: Any, other: Any) -> Any:
        mine, others = _parsed(self), _parsed(other)
        if mine is None or others is None:
            return getattr(str, name)(self, other)
        return getattr(mine, name)(others)

    return compared


for _name in ("__gt__", "__lt__", "__eq__", "__ge__", "__le__"):
    setattr(TorchVersion, _name, _comparison(_name))
__version__ = TorchVersion(_text)
