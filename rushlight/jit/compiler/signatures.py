"""What functions say of their arguments' types: annotations, and comments like # type: (int) -> int."""

from __future__ import annotations

import ast
import re
from typing import Any

from rushlight.jit.frontend import Source


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
    return "rushlight" in source.file and "Any" in ast.unparse(note)


def comment(tree: ast.FunctionDef, source: Source, count: int) -> tuple[list[ast.expr], ast.expr | None]:
    """The types in a comment `# type: (Tensor, int) -> Tensor`; RuntimeError where their number is wrong."""
    for number, line in enumerate(source.lines[tree.lineno - 1 : tree.body[0].end_lineno]):
        found = re.search(r"#\s*type\s*:\s*\((.*)\)\s*->\s*([^#]*)", line)
        if found is None:
            continue
        if "# type:" not in line:
            raise RuntimeError(
                f"The annotation prefix in line {number + tree.lineno - 1} is probably invalid.\nIt must be "
                "'# type:'\nSee PEP 484 (https://www.python.org/dev/peps/pep-0484/#suggested-syntax-for-python-2-7"
                "-and-straddling-code)\nfor examples"
            )
        inner: Any = ast.parse(f"({found[1]},)" if found[1].strip() else "()", mode="eval").body
        given = len(tree.args.posonlyargs) + len(tree.args.args) + len(tree.args.kwonlyargs)
        if len(inner.elts) not in (count, given):
            head = ast.copy_location(ast.Pass(), tree)
            head.end_lineno, head.end_col_offset = tree.lineno, len(source.lines[tree.lineno - 1])
            raise RuntimeError(
                f"\nNumber of type annotations ({len(inner.elts)}) did not match the number of function "
                f"parameters ({given}):\n{source.show(head)}"
            )
        return list(inner.elts)[-count:] if count else [], ast.parse(found[2].strip(), mode="eval").body
    return [], None


def no_type(message: str, node: Any, compiler: Any) -> Exception:
    """The error for an annotation: PyTorch's is a ValueError where it is a Python object of no use."""
    if message.startswith("Unknown type annotation"):
        return ValueError(f"{message} at {compiler.source.show(node)}")
    error: Exception = compiler.error(node, message)
    return error
