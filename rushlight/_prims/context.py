"""torch._prims.context: a mode in which functions of torch are those of torch._refs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import Any

from rushlight.overrides import TorchFunctionMode


class TorchRefsMode(TorchFunctionMode):
    """In it, functions of torch are those of torch._refs: here the same ones (`rushlight/_refs`).

    strict: RuntimeError for a function that is not there. prims_mode_cls: what is entered around a call.
    """

    def __init__(
        self,
        strict: bool = False,
        should_fallback_fn: Callable[..., bool] = lambda *_: False,
        prims_mode_cls: type = nullcontext,
    ) -> None:
        self.strict, self.should_fallback_fn, self.prims_mode_cls = strict, should_fallback_fn, prims_mode_cls

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if self.strict and not import_module("rushlight._refs").has(name):
            raise RuntimeError(f"no _refs support for {func}")
        with self.prims_mode_cls():
            return func(*args, **(kwargs or {}))
