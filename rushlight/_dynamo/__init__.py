"""torch._dynamo: what programs ask of PyTorch's capture by this name."""

from __future__ import annotations

from typing import Any

from rushlight._dynamo import config as config, exc as exc, utils as utils
from rushlight._dynamo.api import (
    allow_in_graph as allow_in_graph,
    assume_constant_result as assume_constant_result,
    disable as disable,
    is_compiling as is_compiling,
    list_backends as list_backends,
    reset as reset,
)
from rushlight._dynamo.eval_frame import OptimizedModule as OptimizedModule
from rushlight._dynamo.exporting import export as export
from rushlight._dynamo.optimizing import optimize as optimize, optimize_assert as optimize_assert, run as run
from rushlight._dynamo.registry import lookup_backend as lookup_backend, register_backend as register_backend
from rushlight._dynamo.report import segments
from rushlight._engine.core.recording import escape


def explain(f: Any, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """explain(f)(*args): into how many graphs a call of f falls, and why (rushlight.explain tells more)."""
    if extra_args or extra_kwargs:
        return segments(f, *extra_args, **extra_kwargs)
    return lambda *args, **kwargs: segments(f, *args, **kwargs)


def mark_dynamic(t: Any, index: Any = None, **options: Any) -> None:
    """Nothing to do: kernels take sizes at run time, and guards look where tensors lie."""


maybe_mark_dynamic = mark_static = mark_static_address = mark_dynamic


def graph_break(msg: str = "") -> None:
    """Recording ends here: the function stays eager."""
    escape("graph_break() was called" + (f": {msg}" if msg else ""))
