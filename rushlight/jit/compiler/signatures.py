"""What functions say of their arguments' types: annotations, and comments like # type: (int) -> int."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

from rushlight._engine.tensors.tensor import Tensor
from rushlight.jit.frontend import Source
from rushlight.jit.program.execute import castable
from rushlight.jit.program.schema import REQUIRED
from rushlight.jit.program.types import ATOMS, TENSOR, Type

_IGNORED = re.compile(r"# type: ignore(\[[a-zA-Z-]+\])?$")
_MISSPELT = re.compile(r"#[\t ]*type[\t ]*:[\t ]*\(.*->")

NO_GETSTATE = (
    "`__setstate__` defined but not `__getstate__`. You must have both defined on a ScriptModule to "
    "customize serialization.\nDid you forget to use `@torch.jit.export`?"
)
UNTYPED = (
    'Expected a default value of type Tensor (inferred) on parameter "{0}".Because "{0}" was not annotated '
    "with an explicit type it is assumed to be type 'Tensor'."
)
MUTABLE = (
    "Mutable default parameters are not supported because Python binds them to the function and they persist "
    "across function calls.\n As a workaround, make the default None and instantiate the default parameter "
    "within the body of the function. Found {} on parameter {}"
)


def is_mutable(default: Any) -> bool:
    """Whether a default is, or holds, a list or dict."""
    parts = default if isinstance(default, tuple) else ()
    return isinstance(default, (list, dict)) or any(map(is_mutable, parts))


def numbers(note: ast.expr) -> tuple[ast.expr, int]:
    """An annotation, BroadcastingList2[int] and _size_2_t as lists; for how many numbers one may stand."""
    base = note.value if isinstance(note, ast.Subscript) else note
    name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
    if re.fullmatch(r"BroadcastingList\D\w*", name):
        raise RuntimeError(f"subscript of Broadcastable list must be a positive integer: {ast.unparse(note)}")
    found = re.fullmatch(r"BroadcastingList([1-6])|_size_([1-6])_t", name)
    if found is None:
        return note, 0
    element = note.slice if isinstance(note, ast.Subscript) else ast.Name("int", ast.Load())
    listed = ast.Subscript(ast.Name("List", ast.Load()), element, ast.Load())
    return ast.fix_missing_locations(ast.copy_location(listed, note)), int(found[1] or found[2])


def is_any(note: ast.AST, source: Source) -> bool:
    """In Rushlight's own modules `Any` says nothing."""
    return source.ours and "Any" in ast.unparse(note)


def comment(tree: ast.FunctionDef, source: Source, count: int) -> tuple[list[ast.expr], ast.expr | None]:
    """The types in a comment `# type: (Tensor, int) -> Tensor`; RuntimeError where their number is wrong."""
    line = _type_line(tree, source)
    found = re.search(r"# type:\s*\((.*)\)\s*->\s*([^#]*)", line) or re.search(r"# type:\s*\((.*)\)()", line)
    if found is None:
        return [], None
    inner: Any = ast.parse(f"({found[1]},)" if found[1].strip() else "()", mode="eval").body
    given = len(tree.args.posonlyargs) + len(tree.args.args) + len(tree.args.kwonlyargs)
    if len(inner.elts) not in (count, given):
        head = ast.copy_location(ast.Pass(), tree)
        head.end_lineno, head.end_col_offset = tree.lineno, len(source.lines[tree.lineno - 1])
        raise RuntimeError(
            f"\nNumber of type annotations ({len(inner.elts)}) did not match the number of function "
            f"parameters ({given}):\n{source.show(head)}"
        )
    result = ast.parse(found[2].strip(), mode="eval").body if found[2] else None
    return list(inner.elts)[-count:] if count else [], result


def _type_line(tree: ast.FunctionDef, source: Source) -> str:
    """The comment that says a function's types; where each argument has one, what they say together."""
    lines = source.lines[tree.lineno - 1 : tree.end_lineno]
    told = [line for line in lines if "# type:" in line and not _IGNORED.search(line)]
    if not told:
        for number, line in enumerate(lines):
            if _MISSPELT.search(line):
                raise RuntimeError(
                    f"The annotation prefix in line {number + tree.lineno - 1} is probably invalid.\nIt must "
                    "be '# type:'\nSee PEP 484 (https://www.python.org/dev/peps/pep-0484/#suggested-syntax-for-"
                    "python-2-7-and-straddling-code)\nfor examples"
                )
        return ""
    if len(told) == 1:
        return told[0]
    result = next((i for i, line in enumerate(told) if "# type: (...) -> " in line), None)
    if result is None:
        raise RuntimeError(
            "Return type line '# type: (...) -> ...' not found on multiline type annotation\nfor type "
            "lines:\n"
            + "\n".join(told)
            + "\n(See PEP 484 https://www.python.org/dev/peps/pep-0484/#suggested-syntax-for-python-2-7-and-"
            "straddling-code)"
        )
    types = [line.partition("# type:")[2].strip() for line in told[:result]]
    return told[result].replace("...", ", ".join(types))


def defaults_of(function: Any) -> dict[str, Any]:
    """The defaults of a Python function's arguments."""
    formal = inspect.signature(function).parameters
    return {name: p.default for name, p in formal.items() if p.default is not inspect.Parameter.empty}


def check_default(tree: ast.FunctionDef, compiler: Any, name: str, default: Any, t: Type, loose: bool) -> Any:
    """Raise where the default of an argument is not of its type; without annotation, that is a tensor.
    Else the default; loose: one that is not of the type is none.
    """
    if name not in compiler.function.inferred:
        if not castable(default, t) and not (default is None and t == TENSOR):
            if loose:
                return REQUIRED
            raise compiler.error(tree, f'Expected a default value of type {t} on parameter "{name}".')
    elif not isinstance(default, (Tensor, type(None))) and not compiler.source.ours:
        raise compiler.error(tree, UNTYPED.format(name))
    return default


_OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.Not: "not",
    ast.USub: "unary minus",
    ast.Invert: "~",
    ast.And: "and",
    ast.Or: "or",
}


def check_type(node: Any, compiler: Any) -> None:
    """Raise for an annotation, in a program that is given as text, that is no type but a computation."""
    if isinstance(node, ast.Subscript):
        _check_generic(node, compiler)
        return
    operator: Any = type(getattr(node, "op", None))
    told = _OPERATORS.get(operator)
    told = "apply" if isinstance(node, ast.Call) else told
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, complex)):
        told = "const"
    if told is not None:
        raise compiler.error(node, f"Expression of type {told} cannot be used in a type expression")


def _check_generic(node: ast.Subscript, compiler: Any) -> None:
    """The same for a type with parts."""
    if not isinstance(node.value, (ast.Name, ast.Attribute)):
        raise compiler.error(node, "Subscripted type must be a type identifier")
    name = getattr(node.value, "id", "")
    if name in ATOMS:
        raise compiler.error(node, f"Unknown type constructor {name}")
    listed = isinstance(node.slice, ast.Tuple)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    line = compiler.source.lines[node.slice.lineno - 1]
    if listed and parts and line[node.slice.col_offset : node.slice.col_offset + 1] == "(":
        parts = [node.slice]
    for part in parts:
        if isinstance(part, ast.Tuple) and part.elts and name == "Tuple":
            raise compiler.error(
                part.elts[0], "Tuple literal in Tuple type annotation must not have any elements!"
            )
        check_type(part, compiler)


def no_type(message: str, node: Any, compiler: Any) -> Exception:
    """The error for an annotation: PyTorch's is a ValueError where it is a Python object of no use."""
    if message.startswith("Unknown type annotation"):
        return ValueError(f"{message} at {compiler.source.show(node)}")
    error: Exception = compiler.error(node, message)
    return error
