"""`with`: torch's own context managers, and objects of scripted classes with __enter__ and __exit__."""

from __future__ import annotations

import ast
from typing import Any

import rushlight as torch
from rushlight.autograd.profiler import record_function
from rushlight.jit.compiler.loops import Loops
from rushlight.jit.compiler.values import Known, Method
from rushlight.jit.frontend import UnsupportedNodeError
from rushlight.jit.program.ir import Block, Function, Value

MANAGERS: dict[Any, str] = {
    torch.no_grad: "torch.no_grad",
    torch.enable_grad: "torch.enable_grad",
    torch.set_grad_enabled: "torch.set_grad_enabled",
    torch.inference_mode: "torch.inference_mode",
    record_function: "torch.autograd.profiler.record_function",
}


class Contexts(Loops):
    """Compiles `with`. What is assigned inside stays assigned: the block always runs."""

    def do_With(self, node: ast.With) -> None:
        """One manager around a block; others are around what is in it."""
        item, *others = node.items
        body: list[ast.stmt] = node.body
        if others:
            body = [ast.copy_location(ast.With(others, node.body), node)]
        call: Any = item.context_expr
        manager = None
        if isinstance(call, ast.Call):
            found = self.sugar(call.func)
            manager = found.object if isinstance(found, Known) and _listed(found.object) else None
        if manager is not None:
            if call.keywords or item.optional_vars is not None:
                raise UnsupportedNodeError(self.source, node)
            inputs = [self.expr(a) for a in call.args]
            made = self.emit(node, "prim::With", inputs, manager=manager, named=MANAGERS[manager])
        else:
            value, leaving = self.entered(item, node)
            made = self.emit(node, "prim::With", [value], function=leaving)
        outer, self.block = self.block, Block()
        made.blocks.append(self.block)
        statements: list[Any] = [*body]
        self.body(statements)
        self.block.finish([])
        self.block = outer

    def entered(self, item: ast.withitem, node: ast.With) -> tuple[Value, Function]:
        """Call __enter__; the object, and its __exit__."""
        value = self.expr(item.context_expr)
        owner: Any = value.type.cls if value.type.kind == "Class" else None
        for name in ("__enter__", "__exit__"):
            if owner is None or owner.method(name) is None:
                raise self.error(
                    node,
                    f"With item expression must return an object with a method {name}, got {value.type}; "
                    f"or be one of {', '.join(MANAGERS.values())}",
                )
        found = self.call_method(Method(value, owner, "__enter__"), [], {}, node)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, found, node)
        return value, owner.method("__exit__")


def _listed(found: Any) -> bool:
    try:
        return found in MANAGERS
    except TypeError:
        return False
