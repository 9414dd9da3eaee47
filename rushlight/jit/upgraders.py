"""Ops that meant something else in older files: what their code calls instead.

The version of a file says of which time its ops are. Division of whole numbers was whole until version 4,
full() gave floats until 5, linspace and logspace had 100 steps where none were said until 8 and 9.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from functools import cache
from typing import Any

import rushlight as torch
from rushlight.jit.compiler.names import Names, build
from rushlight.jit.compiler.scopes import NOTHING
from rushlight.jit.frontend import Source
from rushlight.jit.program.ir import Function, Value, written_into
from rushlight.jit.program.types import COMPLEX, FLOAT, INT, NONE, TENSOR

_WHOLE = """
def div(a: torch.Tensor, b: {kind}) -> torch.Tensor:
    if a.is_floating_point(){either}:
        return torch.true_divide(a, b)
    return torch.div(a, b, rounding_mode="trunc")

def div_(a: torch.Tensor, b: {kind}) -> torch.Tensor:
    if a.is_floating_point(){either}:
        return a.true_divide_(b)
    return a.div_(b, rounding_mode="trunc")

def out(a: torch.Tensor, b: {kind}, o: torch.Tensor) -> torch.Tensor:
    if a.is_floating_point(){either} or o.is_floating_point():
        return torch.div(a, b, out=o)
    return torch.div(a, b, rounding_mode="trunc", out=o)
"""


@cache
def _division(kind: str, name: str) -> Function:
    """Division of a tensor by a `kind`, which is whole where both are."""
    text = _WHOLE.format(kind=kind, either=" or b.is_floating_point()" if kind == "torch.Tensor" else "")
    source = Source(text, "torch/div_0_3")
    tree = next(t for t in ast.parse(text).body if isinstance(t, ast.FunctionDef) and t.name == name)
    return build(tree, source, Names(_look), f"__torch__.{name}_0_3", None, {})


def _look(name: str) -> Any:
    return {"torch": torch, "int": int}.get(name, NOTHING)


class _Older(ABC):
    """An op of an older file, which is asked to compile its call."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __compile_call__(self, compiler: Any, node: Any, args: list[Any], named: dict[str, Any]) -> Any:
        given = [compiler.value(a, node) for a in args]
        return self.call(compiler, node, given, {k: compiler.value(a, node) for k, a in named.items()})

    @abstractmethod
    def call(self, compiler: Any, node: Any, args: list[Value], named: dict[str, Value]) -> Any:
        """The call with what the older op meant."""


class _Division(_Older):
    def call(self, compiler: Any, node: Any, args: list[Value], named: dict[str, Value]) -> Any:
        kinds = {TENSOR: "torch.Tensor", INT: "int"}
        if len(args) != 2 or args[0].type != TENSOR or args[1].type not in kinds or named.keys() - {"out"}:
            return compiler.call_builtin(self.kind, args, named, node)
        name = "out" if named else self.kind.removeprefix("aten::")
        return written_into(compiler.block, _division(kinds[args[1].type], name), [*args, *named.values()])


class _Full(_Older):
    def call(self, compiler: Any, node: Any, args: list[Value], named: dict[str, Value]) -> Any:
        given = named.get("dtype")
        if len(args) == 2 and (given is None or given.type == NONE) and "out" not in named:
            value = args[1]
            if value.type not in (FLOAT, COMPLEX):
                args[1] = compiler.call_builtin("aten::Float", [value], {}, node)
        return compiler.call_builtin(self.kind, args, named, node)


class _Stepping(_Older):
    def call(self, compiler: Any, node: Any, args: list[Value], named: dict[str, Value]) -> Any:
        args += [named.pop(name) for name in ("steps", "base") if name in named]
        if len(args) < 3 or args[2].type == NONE:
            args[2:3] = [compiler.constant(node, 100)]
        return compiler.call_builtin(self.kind, args, named, node)


# The first version in which an op means what it means now.
_SINCE: dict[str, tuple[int, type[_Older]]] = {
    "div": (4, _Division),
    "div_": (4, _Division),
    "full": (5, _Full),
    "linspace": (8, _Stepping),
    "logspace": (9, _Stepping),
}


def older(name: str, version: int) -> _Older | None:
    """What stands for torch.`name` in a file of a version; None where the op means what it means now."""
    found = _SINCE.get(name)
    return found[1](f"aten::{name}") if found is not None and version < found[0] else None


def since(kind: str) -> int:
    """The first version of files in which an op means what it means now."""
    name = kind.removeprefix("aten::")
    return 10 if name == "gelu" else _SINCE[name][0] if name in _SINCE else 0  # gelu got its `approximate`
