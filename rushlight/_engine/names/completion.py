"""The names of what is made when it is first mentioned, for dir() and completion, which load nothing else.

The op table's are read from ops/contents.tsv, those of what has no row from completion.tsv: a namespace,
names.
"""

from __future__ import annotations

import os
import sys
from functools import cache

_HERE = os.path.dirname(__file__)


@cache
def names(space: str) -> frozenset[str]:
    """All names of ops, dtypes and classes that a namespace ("torch", "Tensor", "linalg", ...) has."""
    found: set[str] = set()
    with open(os.path.join(_HERE, "completion.tsv"), encoding="utf-8") as lines:
        for line in lines:
            where, listed = line.split("\t")
            if where == space:
                found.update(listed.split())
    with open(os.path.join(_HERE, os.pardir, "ops", "contents.tsv"), encoding="utf-8") as lines:
        for line in lines:
            _, where, listed = line.split("\t")
            if where == space:
                found.update(listed.split())
    return frozenset(found)


def is_completing() -> bool:
    """Whether the interpreter's completer is who asked for an attribute, of the function that calls this one.

    It asks a class for each name that a prefix fits, to see whether there is a property, which it completes
    without a look behind it. To answer it with what is really there would load all families of ops.
    """
    asking = sys._getframe(2)
    return asking.f_code.co_name == "attr_matches" and asking.f_globals.get("__name__") == "rlcompleter"
