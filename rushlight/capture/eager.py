"""compile's default mode: the function as it is, on machine code from the first call on."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.base.config import knobs
from rushlight.base.tape import TAPE
from rushlight.capture.guards import key_of
from rushlight.capture.recorder import Recorder, recording


class Eager:
    """Calls the function; the first call of each kind compiles its kernels.

    native: whether kernels are compiled, or nothing is changed at all.
    """

    def __init__(self, function: Callable[..., Any], fullgraph: bool, native: bool) -> None:
        self.function, self.fullgraph, self.native = function, fullgraph, native
        self.plans: dict[Any, str] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if TAPE:
            return self.function(*args, **kwargs)
        _, key = key_of(args, kwargs)
        if key in self.plans:
            return self.function(*args, **kwargs)
        with knobs.using(kernels="llvm" if self.native else knobs.kernels):
            if not self.fullgraph:
                found = self.function(*args, **kwargs)
                self.plans[key] = ""
                return found
            recorder = Recorder((), (), whole=False)
            with recording(recorder):
                found = self.function(*args, **kwargs)
        if recorder.refusal:
            raise RuntimeError(f"fullgraph=True, but the graph ends early: {recorder.refusal}")
        self.plans[key] = ""
        return found
