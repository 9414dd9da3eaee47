"""What a function of a graph's op does to objects that were there before: no graph of its own can hold that.

Python runs in any case, so nothing is lost by what is not seen here; the looks are those of a recorded call
(purity.py), which are for stores of any kind.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from inspect import CO_OPTIMIZED
from typing import Any

from rushlight._engine.core.recording import FOLLOWERS
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.effects.following import following
from rushlight._engine.trace.effects.instructions import Noted
from rushlight._engine.trace.effects.purity import VALUES, Unknown, Watch, is_own_dict, is_young, of_library
from rushlight._engine.trace.guards import Guards

_STORES = (" is stored", " in place")
_CHANGING = frozenset(
    "append extend insert pop popitem remove clear update add discard setdefault sort reverse".split()
)


class Stores(Watch):
    """`found`: the first store into what was there before, "" if there is none."""

    def __init__(self) -> None:
        super().__init__(Guards(None))

    def wants(self, frame: Any) -> bool:
        """Whether a frame's instructions are looked at: of functions that are the program's."""
        code = frame.f_code
        looked_at = code.co_flags & CO_OPTIMIZED and not self.rests and not of_library(code)
        return bool(looked_at) and super().wants(frame)

    def __call__(self, frame: Any, event: str, arg: Any) -> None:
        """Methods of containers, which no instruction tells of."""
        if event != "c_call" or not self.wants(frame):
            return
        held = getattr(arg, "__self__", None)
        if type(held) in (list, dict, set) and arg.__name__ in _CHANGING:
            self._stored(f"{type(held).__name__}.{arg.__name__}() is called", frame, held, frame.f_lineno)

    def runs(self, frame: Any, step: Noted) -> None:
        """An instruction is about to run."""
        if step.kind == "global" or not step.what.endswith(_STORES):
            return
        named = step.kind != "refuse" and bool(step.variable)
        held = frame.f_locals.get(step.variable, Unknown) if named else Unknown
        op = isinstance(held, Tensor) and step.what != "an attribute is stored"
        if held is Unknown:
            self._tell(step.what, frame, step.line)
        elif not op and not (step.kind == "update" and isinstance(held, VALUES)):
            self._stored(step.what, frame, held, step.line)

    def _stored(self, what: str, frame: Any, held: Any, line: int) -> None:
        # Dicts of numbers and texts are not listed by Python's collector, whoever made them.
        if gc.is_tracked(held) and not (is_own_dict(frame, held) or is_young(held)):
            self._tell(what, frame, line)

    def _tell(self, what: str, frame: Any, line: int) -> None:
        around = frame
        while around is not None:
            if around.f_code.co_filename.startswith("<frozen importlib"):
                return  # who imports a module finds it in ways of their own
            around = around.f_back
        self.found = self.found or f"{what}, at {frame.f_code.co_filename}:{line}"


@contextmanager
def storing() -> Iterator[Stores]:
    """Look at what Python stores meanwhile in this thread, unless a debugger traces it."""
    watch, before = Stores(), sys.getprofile()
    if sys.gettrace() is not None:
        yield watch
        return
    collects = gc.isenabled()
    gc.disable()
    gc.collect(0)  # what was there before is not young any more
    try:
        with following(watch.wants, watch.runs):
            FOLLOWERS.append(watch)
            sys.setprofile(watch)
            yield watch
    finally:
        FOLLOWERS.remove(watch)
        sys.setprofile(None)
        getattr(before, "enable", partial(sys.setprofile, before))()
        if collects:
            gc.enable()
