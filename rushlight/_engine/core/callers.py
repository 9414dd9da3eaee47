"""Whose line it is that called: warnings name the user's."""

from __future__ import annotations

import functools
import importlib
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import ParamSpec, TypeVar

from rushlight._engine.core.recording import FOLLOWERS, TAPE

P = ParamSpec("P")
R = TypeVar("R")
_ROOT = os.path.abspath(__file__).rpartition(os.path.join("rushlight", "_engine"))[0]
# Files of ours: the packages, and what they write and compile (dispatch/generated_code.py).
OURS = (
    *(_ROOT + package + os.sep for package in ("rushlight", "rushlight_audio", "rushlight_vision")),
    "<rushlight ",
)
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


def in_assertion() -> bool:
    """Whether the caller looks at the condition of an assert statement, which no `not`, `and` or `or` is part
    of.
    """
    frame = caller()
    return _asserts(frame.f_code, frame.f_lasti)


@functools.lru_cache(maxsize=256)
def _asserts(code: CodeType, at: int) -> bool:
    """Whether an instruction is a jump that passes an assertion's error by."""
    import dis  # few programs need it

    steps = [
        s for s in dis.get_instructions(code) if s.opname not in ("TO_BOOL", "EXTENDED_ARG", "NOT_TAKEN")
    ]
    number = next((i for i, s in enumerate(steps) if s.offset >= at), len(steps))
    if number + 1 >= len(steps) or not steps[number].opname.endswith("IF_TRUE"):
        return False
    after = steps[number + 1]
    return after.opname == "LOAD_ASSERTION_ERROR" or after.argval is AssertionError


class _Unheard(threading.local):
    """How often a thread has entered `unheard`."""

    depth = 0


_unheard = _Unheard()


@contextmanager
def unheard() -> Iterator[None]:
    """A `with` block in which this thread's calls of `warn` do nothing: what is done is done once more."""
    _unheard.depth += 1
    try:
        yield
    finally:
        _unheard.depth -= 1


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """warnings.warn, about the user's line, however deep in the package it is called."""
    if _unheard.depth:
        return
    listener = getattr(TAPE[-1], "warned", None) if TAPE else None
    if listener is not None:
        listener()
    for follower in FOLLOWERS:  # what shows the warning may be a program's own
        follower.resume()
    frame = caller()
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})
    # Without the frame's globals, as warnings.warn: the loader of a program given by -c cannot tell its
    # source.
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        names.get("__name__", "<string>"),
        registry,
    )


def deprecated(
    message: str, category: type[Warning] = FutureWarning
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator of functions: each call warns, about the user's line.

    `__deprecated__` is the message, as of functions that typing_extensions' decorator of this name made.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def warned(*args: P.args, **kwargs: P.kwargs) -> R:
            warn(message, category)
            return function(*args, **kwargs)

        function.__deprecated__ = warned.__deprecated__ = message  # type: ignore[attr-defined]
        return warned

    return decorate


def asked_by_hasattr() -> bool:
    """Whether the user's code is in a call of hasattr(): it asks, and does not use what it asks for."""
    import dis  # only here: not loaded by `import rushlight`

    frame = caller()
    asked = False
    for instruction in dis.get_instructions(frame.f_code):
        calls = instruction.opname.startswith("CALL")
        if instruction.offset >= frame.f_lasti:
            return calls and asked
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            asked = asked or instruction.argval == "hasattr"
        elif calls:
            asked = False
    return False
