"""Tracing programs with `assert`: it becomes a call of torch._assert, which is a node."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import textwrap
from types import FunctionType
from typing import Any

import rushlight as torch
from rushlight.fx.graph import Graph
from rushlight.fx.tracer import Tracer

__all__ = ["AST_Rewriter", "RewritingTracer"]


class AST_Rewriter(ast.NodeTransformer):
    """Rewrites a function's syntax tree; a subclass adds `visit_` methods for what else it replaces."""

    def rewrite(self, fn: Any) -> FunctionType:
        """The rewritten function, with the globals of the original."""
        tree: Any = ast.parse(textwrap.dedent(inspect.getsource(fn)))
        scope = dict(fn.__globals__)
        known = set(scope)
        code = compile(ast.fix_missing_locations(self.visit(tree)), "<rewritten>", "exec", dont_inherit=True)
        exec(code, scope)
        new = [name for name in scope if name not in known] or [tree.body[0].name]
        made = scope[new[0]]
        found = FunctionType(
            made.__code__, fn.__globals__, made.__name__, made.__defaults__, made.__closure__
        )
        found.__kwdefaults__ = copy.copy(made.__kwdefaults__)
        functools.update_wrapper(found, made)
        return found

    def visit_Assert(self, node: ast.Assert) -> ast.Expr:
        """`assert test, msg` becomes `torch._assert(test, msg)`."""
        function = ast.Attribute(ast.Name("torch", ast.Load()), "_assert", ast.Load())
        call = ast.Call(function, [node.test, node.msg or ast.Constant("")], [])
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.Assign:
        """`y: T = f(x)` becomes `y = annotate(f(x), T)`."""
        call = ast.Call(
            ast.Name("annotate", ast.Load()), [node.value or ast.Constant(None), node.annotation], []
        )
        return ast.Assign([node.target], call)


class RewritingTracer(Tracer):
    """A Tracer that rewrites the forward of the root and of the modules in it first."""

    def trace(self, root: Any, concrete_args: dict[str, Any] | tuple[Any, ...] | None = None) -> Graph:
        """The graph of the rewritten root."""
        return super().trace(_rewritten(root), concrete_args)


def _rewritten(root: Any) -> Any:
    if not isinstance(root, torch.nn.Module):
        return AST_Rewriter().rewrite(root)
    made = type(
        "RewrittenModule", (torch.nn.Module,), {"forward": AST_Rewriter().rewrite(type(root).forward)}
    )()
    for name, value in vars(root).items():
        vars(made)[name] = _rewritten(value) if isinstance(value, torch.nn.Module) else copy.copy(value)
    return made
