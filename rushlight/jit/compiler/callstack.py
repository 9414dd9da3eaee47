"""Which functions are being compiled, from the outermost in: what errors of the compiler tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class Call:
    """A function that is being compiled; `source` and `node`: what it calls just now."""

    name: str
    source: Any = None
    node: Any = None


_calls: list[Call] = []


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """The function or class of this name is being compiled; what it calls is compiled inside."""
    _calls.append(Call(name, *_calls[-1:] and (_calls[-1].source, _calls[-1].node)))
    try:
        yield
    finally:
        _calls.pop()


def calls(source: Any, node: Any) -> None:
    """The innermost function comes to a call, or to the name of a class, there."""
    if _calls:
        _calls[-1].source, _calls[-1].node = source, node


def _whole(node: Any) -> Any:
    return ast.copy_location(ast.Expr(node), node) if isinstance(node, ast.Call) else node


def call_chain() -> str:
    """Who called whom, from the innermost out; empty where one function is compiled alone."""
    pairs = zip(reversed(_calls), reversed(_calls[:-1]), strict=False)
    return "".join(
        f"'{callee.name}' is being compiled since it was called from '{caller.name}'\n"
        f"{caller.source.show(_whole(caller.node)) if caller.node is not None else ''}"
        for callee, caller in pairs
    )
