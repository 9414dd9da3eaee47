"""The tables of templates, and how a template is written into a program.

A template whose body is one expression stands in the program's text as that expression, with the arguments'
text in place of the parameters: `x + y`, not a call. Any other is called, and so is one that would evaluate
an argument twice, not at all or in another order, unless that is a name or a constant.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import rushlight as torch
from rushlight.jit.program import runtime
from rushlight.jit.templates import limits
from rushlight.nn import functional as F

# What templates, and the programs that they are written into, call by these names.
SCOPE: dict[str, Any] = {"torch": torch, "F": F, "math": math, "rt": runtime, "limits": limits}

# Text that can be moved, repeated and left out: names, numbers, constants, and parameters of a module.
_SIMPLE = re.compile(r"[\w.]+(\['\w+'\])?|\(-[\w.]+\)|'[^'\\]*'")
# Expressions that need no brackets inside others.
_CLOSED = (ast.Call, ast.Name, ast.Attribute, ast.Subscript, ast.Constant)
# Expressions that may leave out or repeat what is in them.
_CONDITIONAL = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.GeneratorExp, ast.ListComp)

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Expression:
    """A template's body as a format string: {0} is the first argument, {rest} what *args takes.

    `fixed`: how many arguments come before the rest. `moved`: the parameters that are not evaluated once, in
    order.
    """

    form: str
    fixed: int
    moved: frozenset[int | str]

    def fits(self, arguments: list[str]) -> bool:
        """Whether the arguments can be moved as this does."""
        places = (i if i < self.fixed else "rest" for i in range(len(arguments)))
        return all(
            p not in self.moved or _SIMPLE.fullmatch(a) for p, a in zip(places, arguments, strict=True)
        )

    def write(self, arguments: list[str]) -> str:
        """The expression of these arguments."""
        return self.form.format(*arguments, rest=", ".join(arguments[self.fixed :]))


class Template:
    """One op's spelling."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def write(self, arguments: list[str], bind: Callable[[Any, str], str]) -> str:
        """The op on these arguments as text; `bind` gives a function a name in the program."""
        expression = self.expression
        if expression and expression.fits(arguments):
            return expression.write(arguments)
        name = bind(self.function, self.function.__name__)
        return f"{name}({', '.join(arguments)})"

    @cached_property
    def expression(self) -> Expression | None:
        """What can stand in a program for the function's body; None where it is to be called."""
        if not inspect.isfunction(self.function) or self.function.__module__ == runtime.__name__:
            return None
        tree = ast.parse(textwrap.dedent(inspect.getsource(self.function))).body[0]
        assert isinstance(tree, ast.FunctionDef)  # noqa: S101 - for the type checker
        statement = tree.body[0]
        if len(tree.body) > 1 or not isinstance(statement, ast.Return) or statement.value is None:
            return None
        names = [argument.arg for argument in tree.args.args]
        rest = tree.args.vararg.arg if tree.args.vararg else None
        closed = isinstance(statement.value, _CLOSED)
        places = _Places(names, rest)
        text = ast.unparse(places.visit(statement.value)).replace("{", "{{").replace("}", "}}")
        if places.unknown:
            return None
        text = re.sub(r"__(\d+)__", r"{\1}", text.replace("*__rest__", "{rest}"))
        return Expression(text if closed else f"({text})", len(names), places.moved())


class _Places(ast.NodeTransformer):
    """Puts __0__, __1__, ... in place of parameters and __rest__ for *args, and notes their order."""

    def __init__(self, names: list[str], rest: str | None) -> None:
        self.names, self.rest = names, rest
        self.order: list[int | str] = []
        self.unknown = False  # whether there are names that programs do not know
        self.conditions = 0  # around what is visited

    def moved(self) -> frozenset[int | str]:
        """The parameters that are not in the expression once, in order."""
        every: list[int | str] = [*range(len(self.names)), *(["rest"] if self.rest else [])]
        moved = frozenset(p for p in every if self.order.count(p) != 1)
        in_order = [p for p in self.order if p not in moved] == [p for p in every if p not in moved]
        return moved if in_order else frozenset(every)

    def visit(self, node: ast.AST) -> Any:
        """A part of the expression; what may be left out or repeated counts twice."""
        conditional = isinstance(node, _CONDITIONAL)
        self.conditions += conditional
        found = super().visit(node)
        self.conditions -= conditional
        return found

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.names:
            place = self.names.index(node.id)
            self.order += [place] * (2 if self.conditions else 1)
            return ast.Name(f"__{place}__", ast.Load())
        self.unknown = self.unknown or not (node.id in SCOPE or hasattr(builtins, node.id))
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == self.rest:
            self.order += ["rest"] * (2 if self.conditions else 1)
            return ast.Starred(ast.Name("__rest__", ast.Load()), ast.Load())
        return self.generic_visit(node)


class Table:
    """Templates by the op's name: "aten::add", or "aten::add.Tensor" for one overload."""

    def __init__(self) -> None:
        self.templates: dict[str, Template] = {}

    def __call__(self, *ops: str) -> Callable[[Function], Function]:
        """Decorates a function that spells these ops; aten:: may be left out."""

        def add(function: Function) -> Function:
            for op in ops:
                kind = op if "::" in op else f"aten::{op}"
                if kind in self.templates:
                    raise ValueError(f"{kind} has two templates: one of them must go")
                self.templates[kind] = Template(function)
            return function

        return add

    def get(self, *kinds: str) -> Template | None:
        """The template of the first of these ops that has one."""
        return next((self.templates[kind] for kind in kinds if kind in self.templates), None)


plain = Table()
of_tensors = Table()
