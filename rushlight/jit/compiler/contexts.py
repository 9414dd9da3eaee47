"""`with`: torch's own context managers, and objects of scripted classes with __enter__ and __exit__."""

from __future__ import annotations

import ast
from typing import Any

import rushlight as torch
from rushlight.autograd.profiler import record_function
from rushlight.jit.annotations import _IgnoreContextManager
from rushlight.jit.compiler.calls import is_dotted
from rushlight.jit.compiler.loops import Loops
from rushlight.jit.compiler.values import Known, Manager
from rushlight.jit.frontend import UnsupportedNodeError
from rushlight.jit.program.ir import Block, Node, Value
from rushlight.jit.program.types import NONE, Type

MANAGERS: dict[Any, str] = {
    torch.no_grad: "torch.no_grad",
    torch.enable_grad: "torch.enable_grad",
    torch.set_grad_enabled: "torch.set_grad_enabled",
    torch.inference_mode: "torch.inference_mode",
    record_function: "torch.autograd.profiler.record_function",
}


_NAMES = {record_function: ("name", "args")}  # what a manager's arguments are called


class Contexts(Loops):
    """Compiles `with`. What is assigned inside stays assigned: the block always runs."""

    def at_Call(self, node: ast.Call, wanted: Type | None = None) -> Any:
        """A call; of one of torch's managers, what `with` may be put around."""
        manager = self.manager(node)
        called = ast.unparse(node.func)  # what a program calls by this name is an op; files say "$..."
        if manager is None or (manager.manager is torch.set_grad_enabled and called[0] != "$"):
            return super().at_Call(node, wanted)
        return manager

    def manager(self, node: Any) -> Manager | None:
        """The manager that a call makes; None for any other expression."""
        named = isinstance(node, ast.Call) and is_dotted(node.func)
        found = self.sugar(node.func) if named else None
        if not isinstance(found, Known) or not _listed(found.object):
            return None
        names = _NAMES.get(found.object, ())[len(node.args) :]
        if [k.arg for k in node.keywords] != list(names[: len(node.keywords)]):
            raise UnsupportedNodeError(self.source, node)
        args = [self.expr(a) for a in (*node.args, *(k.value for k in node.keywords))]
        return Manager(found.object, tuple(args))

    def do_With(self, node: ast.With) -> None:
        """One manager around a block; others are around what is in it."""
        item, *others = node.items
        if self.stays_python(item.context_expr, node.body, node):
            return
        body: list[ast.stmt] = node.body
        if others:
            body = [ast.copy_location(ast.With(others, node.body), node)]
        found = self.manager(item.context_expr) or self.sugar(item.context_expr)
        if isinstance(found, Manager):
            name = MANAGERS[found.manager]
            made = self.emit(node, "prim::With", found.args, manager=found.manager, named=name)
            given: Any = found if found.manager is record_function else self.constant(node, None)
        else:
            made = self.entered(self.value(found, node), node)
            given = made.output
        outer, self.block = self.block, Block()
        made.blocks.append(self.block)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, given, node)
        statements: list[Any] = [*body]
        self.body(statements)
        self.block.finish([])
        self.block = outer

    def stays_python(self, manager: Any, body: list[ast.stmt], node: ast.With) -> bool:
        """Statements that _IgnoreContextManager marks: a function of Python is called in their place."""
        named = isinstance(manager, ast.Call) and isinstance(manager.func, (ast.Name, ast.Attribute))
        found = self.sugar(manager.func) if named else None
        if not isinstance(found, Known) or found.object is not _IgnoreContextManager:
            return False
        said = [(str(k.arg), *ast.literal_eval(k.value).split(":", 1)) for k in manager.keywords]
        types = {n: self.names.annotation(ast.parse(t, mode="eval").body, self) for n, _, t in said}
        given, made = ([n for n, way, _ in said if way == wanted] for wanted in ("inp", "out"))
        around = {name: self.names.lookup(name, node, self) for name in _names_in(body)}
        scope = {name: found.object for name, found in around.items() if isinstance(found, Known)}
        function = left_in_python(scope, body, given, made)
        kinds = [types[name] for name in made]
        kind = Type("Tuple", tuple(kinds)) if len(kinds) > 1 else (kinds or [NONE])[0]
        inputs = [self.expr(ast.copy_location(ast.Name(n, ast.Load()), node)) for n in given]
        result = self.emit(node, "prim::PythonOp", inputs, kind, python=function).output
        targets: list[ast.expr] = [ast.copy_location(ast.Name(n, ast.Store()), node) for n in made]
        if targets:
            several = ast.copy_location(ast.Tuple(targets, ast.Store()), node)
            self.assign(targets[0] if len(made) == 1 else several, result, node)
        return True

    def entered(self, value: Value, node: ast.With) -> Node:
        """A node that calls an object's __enter__, which is its result, and __exit__ behind its block."""
        owner: Any = value.type.cls if value.type.kind == "Class" else None
        for name in ("__enter__", "__exit__"):
            if owner is None or owner.method(name) is None:
                raise self.error(
                    node,
                    f"With item expression must return an object with a method {name}, got {value.type}; "
                    f"or be one of {', '.join(MANAGERS.values())}",
                )
        enter, leave = owner.method("__enter__"), owner.method("__exit__")
        self.arguments(enter, enter.arguments[1:], [], {}, node)
        given = self.returned(enter, node)
        return self.emit(node, "prim::With", [value], given, entering=enter, leaving=leave)


def _names_in(body: list[ast.stmt]) -> set[str]:
    return {n.id for part in body for n in ast.walk(part) if isinstance(n, ast.Name)}


def left_in_python(scope: dict[str, Any], body: list[ast.stmt], given: list[str], made: list[str]) -> Any:
    """A function of Python whose body these statements are, with the variables that go in and come out.

    scope: the objects of the names around.
    """
    arguments = ast.arguments([], [ast.arg(name) for name in given], None, [], [], None, [])
    results: list[ast.expr] = [ast.Name(name, ast.Load()) for name in made]
    back = ast.Return(results[0] if len(made) == 1 else ast.Tuple(results, ast.Load()) if made else None)
    tree = ast.FunctionDef("left_in_python", arguments, [*body, back], [])
    exec(compile(ast.fix_missing_locations(ast.Module([tree], [])), "<left in Python>", "exec"), scope)
    return scope["left_in_python"]


def _listed(found: Any) -> bool:
    try:
        return found in MANAGERS
    except TypeError:
        return False
