"""Generated Python: functions written as text, which tracebacks show like any other."""
from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any


def compile_function(text: str, name: str, scope: dict[str, Any],
                     title: str | None = None) -> Callable[..., Any]:
    """The function `name` that `text` defines over the names of `scope`; `title` of its file."""
    file = f"<rushlight {title or name}>"
    scope.setdefault("__name__", "rushlight")
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), scope)  # noqa: S102 - our own generated source
    return scope[name]  # type: ignore[no-any-return]


def keep(plans: dict[Any, Any], key: Any, plan: Any) -> None:
    """Note how a call is done; all is forgotten when there is very much."""
    if len(plans) > 1 << 13:
        plans.clear()
    plans[key] = plan
