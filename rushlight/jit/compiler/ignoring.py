"""Functions that stay Python in compiled code (ignore), or raise there (unused, _drop)."""

from __future__ import annotations

import ast
import inspect
import typing
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import rushlight as torch
from rushlight.jit.compiler.signatures import comment
from rushlight.jit.frontend import parsed
from rushlight.jit.program import schema as schemas
from rushlight.jit.program.ir import Function
from rushlight.jit.program.types import ANY, TENSOR, ClassType, Type, from_ast, from_python, of_value

# What comments may name without importing it.
_KNOWN = {"Tensor": torch.Tensor, **{name: getattr(typing, name) for name in typing.__all__}}
_MESSAGE = "This Python function is annotated to be ignored and cannot be run"


LEFT = ("ignore", "unused", "drop")
"""The marks of functions that are not compiled."""


def dropped(function: Any) -> bool:
    """Whether compiled classes do not have a method at all."""
    return getattr(function, "_torchscript_modifier", "") == "drop"


class Stays:
    """A module of Python, or what applies an autograd.Function, that a program calls: it stays Python, takes
    a tensor first, and gives one or as many as the program takes apart.
    """

    def __init__(self, called: Any, first: str = "self", name: str = "", returns: Type = TENSOR) -> None:
        self.called, self.first, self.name, self.returns = called, first, name, returns

    def __compile_call__(self, compiler: Any, node: Any, args: list[Any], named: dict[str, Any]) -> Any:
        given = [compiler.value(a, node) for a in args]
        why = ""
        if not given:
            why = f"Argument {self.first} not provided."
        elif given[0].type != TENSOR:
            why = f"Expected a value of type 'Tensor' for argument '{self.first}' but instead found type "
            why += f"'{given[0].type}'."
        elif named:
            why = f"Keyword argument {next(iter(named))} unknown."
        if why:
            raise compiler.error(node.func, f"\n{self.name}(Tensor {self.first}, ...) -> Tensor 0:\n{why}\n")
        return compiler.emit(node, "prim::PythonOp", given, self.returns, python=self.called).output


class Applies:
    """What applies an autograd.Function, under the name of its class."""

    def __init__(self, function: type[torch.autograd.Function]) -> None:
        self.function, self.__name__ = function, function.__name__

    def __call__(self, *args: Any) -> Any:
        """The function's result."""
        return self.function.apply(*args)


def stays(found: Any) -> Stays | None:
    """What a program calls that stays Python: a module that is not compiled, an object whose __call__ is
    ignored, or a Function's `apply`.
    """
    if isinstance(found, torch.nn.Module):
        return Stays(found)
    called = next((vars(base)["__call__"] for base in type(found).__mro__ if "__call__" in vars(base)), None)
    if getattr(called, "_torchscript_modifier", "") in LEFT:
        said = inspect.get_annotations(called, eval_str=True)  # type: ignore[arg-type]
        return Stays(found, returns=from_python(said["return"]) if "return" in said else TENSOR)
    owner = getattr(found, "__self__", None)
    if isinstance(owner, type) and issubclass(owner, torch.autograd.Function) and found == owner.apply:
        return Stays(Applies(owner), "cls", "Function.apply")
    return None


def ignored(
    function: Any, owner: ClassType | None, of_class: Callable[[type], Type], declaration: Any = None
) -> Function:
    """A Python function that stays Python, or that raises when it is reached (`unused`), with the types that
    a declaration says where one is given.
    """
    unused = function._torchscript_modifier in ("unused", "drop")
    formal = inspect.signature(function).parameters
    if owner is not None and not formal:
        raise RuntimeError(f"{function.__name__} does not have a self argument")
    notes = _notes(declaration or function, list(formal)[owner is not None :], unused)
    made = Function(f"__torch__.{function.__name__}", [], None, owner=owner)
    for i, (name, p) in enumerate(formal.items()):
        if unused and p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        if i == 0 and owner is not None:
            t = Type("Class", cls=owner)
        elif name in notes:
            t = from_python(notes[name], of_class)
        else:
            t = ANY if unused else TENSOR
        default = schemas.REQUIRED if p.default is inspect.Parameter.empty else p.default
        made.arguments.append((name, t, default))
    made.returns = from_python(notes["return"], of_class) if "return" in notes else TENSOR
    params = [made.block.param(t, name) for name, t, _ in made.arguments]
    if unused:
        text = made.block.add("prim::Constant", (), [of_value("")], value=_MESSAGE).output
        made.block.add("prim::RaiseException", [text], schema=schemas.named("prim::RaiseException")[0])
        result = made.block.add("prim::Uninitialized", (), [made.returns]).output
    else:
        result = made.block.add("prim::PythonOp", params, [made.returns], python=function).output
    made.block.finish([result])
    made.finished = True
    return made


def _notes(function: Any, names: list[str], unused: bool) -> dict[str, Any]:
    """What the arguments and "return" are said to be, by annotations or a comment; of unused functions only
    the result.
    """
    said = function.__annotations__
    if unused and "return" in said:
        return {"return": inspect.get_annotations(function, eval_str=True)["return"]}
    if said and not unused:
        return inspect.get_annotations(function, eval_str=True)
    with suppress(OSError):  # its text is nowhere
        tree, source = parsed(function)
        arguments, result = comment(tree, source, len(names))
        if result is None:
            return {}

        def find(node: Any) -> Any:
            return eval(ast.unparse(node), {**_KNOWN, **function.__globals__})

        notes = {} if unused else {n: from_ast(a, find) for n, a in zip(names, arguments, strict=False)}
        return {**notes, "return": from_ast(result, find)}
    return {}
