"""Whose line it is that called: warnings name the user's."""
from __future__ import annotations

import importlib
import os
import sys
import warnings
from types import FrameType

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Files of ours: the packages, and what they write and compile (dispatch/source.py).
OURS = (os.path.join(_ROOT, "rushlight") + os.sep, os.path.join(_ROOT, "rushlight_vision") + os.sep,
        "<rushlight ")
# Python's own machinery of imports may stand between.
_PASSED = (*OURS, importlib.__file__, "<frozen importlib")


def is_ours(frame: FrameType) -> bool:
    """Whether a frame runs code of this package."""
    return frame.f_code.co_filename.startswith(OURS)


def caller() -> FrameType:
    """The innermost frame that is not ours; the outermost of all where every one is."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PASSED):
        frame = frame.f_back
    return frame


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """warnings.warn, about the user's line, however deep in the package it is called."""
    frame = caller()
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno,
                           names.get("__name__", "<string>"), registry, names)
