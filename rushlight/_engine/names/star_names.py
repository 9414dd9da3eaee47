"""What `from torch.x import *` gives, and what dir() shows of a module: PyTorch's names, so that a program's
own names are not overwritten by what our files import.

star_names.tsv says which (tools/star_names.py explains it). It is read when a module that has no `__all__` of
its own is asked for it, as a star import does, or for dir().
"""

from __future__ import annotations

import os
import sys
from functools import cache
from opcode import opmap
from types import FrameType
from typing import Any

from rushlight._engine.lazy import names_of
from rushlight._engine.names.alternatives import torch_name, torch_names

_IMPORT_NAME, _EXTENDED_ARG = opmap["IMPORT_NAME"], opmap["EXTENDED_ARG"]


@cache
def table() -> dict[str, list[list[str]]]:
    """PyTorch's modules and their three lists."""
    path = os.path.join(os.path.dirname(__file__), "star_names.tsv")
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    return {module: [words.split() for words in lists] for module, *lists in lines}


def _asked() -> str | None:
    """The name in the star import that asks, if one does: a module of ours may stand for several."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name in ("__getattr__", "attribute", "_starred", "find"):
        frame = frame.f_back
    if frame is None or frame.f_lasti < 2:
        return None
    code, at = frame.f_code.co_code, frame.f_lasti - 2
    if code[at] != _IMPORT_NAME:
        return None
    number, shift = code[at + 1], 8
    while at >= 2 and code[at - 2] == _EXTENDED_ARG:
        at -= 2
        number |= code[at + 1] << shift
        shift += 8
    return frame.f_code.co_names[number]


def _lists(module: str) -> list[list[list[str]]]:
    """The lists of a module of ours, by each of the names that PyTorch has for it."""
    return [table()[name] for name in torch_names(module) if name in table()]


def _is_there(module: Any, name: str) -> bool:
    try:
        getattr(module, name)
    except (AttributeError, ImportError):
        return False
    return True


def star(module: Any) -> list[str] | None:
    """The names that a star import takes of a module of ours; None where PyTorch has no such module."""
    asked = _asked() or ""
    known = _lists(module.__spec__.name)
    if torch_name(asked) in table():
        known, module = [table()[torch_name(asked)]], sys.modules.get(asked, module)
    names = {name for own, imported, _ in known for name in (*own, *imported)}
    return sorted(name for name in names if _is_there(module, name)) if known else None


def shown(module: Any, names: list[str]) -> list[str]:
    """Of a module's names those that dir() shows: PyTorch's, private ones, and what we have besides."""
    known = {name for lists in _lists(module.__spec__.name) for names in lists for name in names}
    if not known:
        return names
    there = names_of(module)
    homes = {module.__name__, module.__spec__.name}

    def is_own(name: str) -> bool:
        return name not in there or getattr(there[name], "__module__", None) in homes

    return [name for name in names if name in known or name.startswith("_") or is_own(name)]
