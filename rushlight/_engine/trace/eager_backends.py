"""compile's backends that change nothing: the function as it is, looked at once if it must be one graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight._engine.core.errors import Unsupported
from rushlight._engine.core.recording import TAPE
from rushlight._engine.trace.guards import key_of
from rushlight._engine.trace.recorder import Recorder, recording


class Eager:
    """Calls the function; with fullgraph=True the first call of each kind is recorded and looked at."""

    def __init__(self, function: Callable[..., Any], fullgraph: bool) -> None:
        self.function, self.fullgraph = function, fullgraph
        self.plans: dict[Any, str] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key = None if TAPE else key_of(args, kwargs)[1]
        if key is not None and not self.fullgraph:
            self.plans[key] = ""
        if key is None or key in self.plans:
            return self.function(*args, **kwargs)
        recorder = Recorder((), ())
        with recording(recorder):
            found = self.function(*args, **kwargs)
        if recorder.broken:
            raise Unsupported(f"fullgraph=True, but the graph ends early: {recorder.broken}")
        self.plans[key] = ""
        return found

    def reset(self) -> None:
        """Forget which kinds of arguments were looked at."""
        self.plans.clear()
