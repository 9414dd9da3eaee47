"""Branches of scripted programs that tensors decide, as torch.cond.

A program is written as Python once more (see rushlight/jit/program/execute.py): an `if` that asks a tensor is
two functions, one for each side, of which torch.cond calls one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight.jit.compiler.calls import declaration
from rushlight.jit.modules import ScriptFunction
from rushlight.jit.program.execute import PythonWriter, compiled, entry
from rushlight.jit.program.ir import Node, Value, inlined, walk
from rushlight.jit.program.types import TENSOR, Type


def with_branches(scripted: Any) -> Callable[..., Any] | None:
    """What a scripted module or function does, called with the module and its arguments; None where no
    branch in it asks a tensor.
    """
    is_function = isinstance(scripted, ScriptFunction)
    whole = inlined(scripted._function if is_function else scripted._type.method("forward"))
    if not any(node.kind == "prim::If" and _asked(node) is not None for node in walk(whole.block)):
        return scripted._entry if is_function else None  # not the Python function that it was made of
    whole.run = compiled(whole, _Writer(whole))
    call = entry(whole, declaration(whole))
    return call if is_function else lambda *args, **kwargs: call(scripted, *args, **kwargs)


def assigned_tensors(scripted: Any) -> list[str]:
    """The attributes of a scripted module that are tensors, no buffers, and that its forward assigns."""
    forward = inlined(scripted._type.method("forward"))
    own = forward.block.params[0]
    names = [n.attrs["name"] for n in walk(forward.block) if n.kind == "prim::SetAttr" and n.inputs[0] is own]
    tables = scripted._parameters, scripted._buffers
    held = dict.fromkeys(n for n in names if not any(n in table for table in tables))
    return [n for n in held if isinstance(scripted.__dict__.get(n), torch.Tensor)]


def _asked(node: Node) -> Value | None:
    """The tensor that an `if` asks, where both sides give tensors."""
    condition = node.inputs[0].node
    if condition is None or condition.kind != "aten::Bool" or condition.inputs[0].type != TENSOR:
        return None
    given = [v for block in node.blocks for v in block.ending.inputs]
    return condition.inputs[0] if given and all(_of_tensors(v.type) for v in given) else None


def _of_tensors(t: Type) -> bool:
    """Whether values of a type are tensors, or tuples of such."""
    return t == TENSOR or (t.kind == "Tuple" and all(map(_of_tensors, t.args)))


class _Writer(PythonWriter):
    """Writes such an `if` as a call of _branch."""

    def statement(self, node: Node) -> None:
        """One node; a condition that only branches ask for is asked by torch.cond."""
        if node.kind == "aten::Bool" and all(
            user.kind == "prim::If" and _asked(user) is not None for user, _ in node.output.uses
        ):
            return
        super().statement(node)

    def do_If(self, node: Node) -> None:
        """Two functions, and the call that gives what one of them does."""
        tensor = _asked(node)
        if tensor is None:
            super().do_If(node)
            return
        sides = [self.names.new(name) for name in ("true_fn", "false_fn")]
        for side, block in zip(sides, node.blocks, strict=True):
            self.line(f"def {side}():")
            self.depth += 1
            self.block(block)
            self.line(f"return ({self.args(block.ending.inputs)})")
            self.depth -= 1
        found = f"{self.bind(_branch, 'branch')}({self.ref(tensor)}, {', '.join(sides)})"
        self.line(f"{self.args_of(node)}= {found}")

    def args_of(self, node: Node) -> str:
        """The names of a node's results, each with a comma behind it."""
        return "".join(f"{self.name(v)}, " for v in node.outputs)


def _branch(asked: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """torch.cond of a tensor of one element."""
    condition = asked if asked.dtype is torch.bool else asked != 0
    return torch.cond(condition, yes, no, ())
