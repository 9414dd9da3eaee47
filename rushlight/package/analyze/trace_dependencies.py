"""What modules a call runs code of."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any


def trace_dependencies(callable: Callable[..., Any], inputs: Iterable[tuple[Any, ...]]) -> list[str]:
    """The names of all modules whose functions run when `callable` is called with each of the inputs."""
    used: dict[str, bool] = {}

    def heard(frame: Any, event: str, arg: Any) -> None:
        names = frame.f_globals
        if event == "call" and isinstance(names.get("__name__"), str):
            used[names["__name__"]] = True
        elif event == "c_call" and isinstance(getattr(arg, "__module__", None), str):
            used[arg.__module__] = True

    before = sys.getprofile()
    sys.setprofile(heard)
    try:
        for args in inputs:
            callable(*args)
    finally:
        sys.setprofile(before)
    return list(used)


__all__ = ["trace_dependencies"]
