"""functorch.compile: the helpers that need no compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight._functorch import config as config

__all__ = ["config", "make_boxed_compiler", "make_boxed_func", "nop"]


def nop(fx_g: Any, example_inputs: Any) -> Any:
    """A compiler that gives the graph back."""
    return fx_g


def make_boxed_func(f: Callable[..., Any]) -> Callable[[Any], Any]:
    """f, called with a list of its arguments."""

    def boxed(args: Any) -> Any:
        return f(*args)

    setattr(boxed, "_boxed_call", True)
    return boxed


def make_boxed_compiler(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """A compiler whose functions are called with a list."""

    def compile(graph: Any, inputs: Any) -> Any:
        return make_boxed_func(compiler(graph, inputs))

    return compile
