"""Errors of the compiler, and the text that they point into."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from typing import Any, get_args

from rushlight._engine.core import callers
from rushlight.jit.compiler import callstack

_STATEMENTS = {
    ast.FunctionDef: "function definitions",
    ast.ClassDef: "class definitions",
    ast.Try: "try blocks",
    ast.Delete: "del statements",
    ast.With: "with statements",
    ast.Import: "import statements",
    ast.ImportFrom: "import statements",
    ast.Global: "global variables",
}


class FrontendError(Exception):
    """What cannot be compiled because of how it is written."""

    def __init__(self, source: Source | None, node: ast.AST | None, message: str) -> None:
        self.msg = message
        place = f":\n{source.show(node)}{callstack.call_chain()}" if source and node else ""
        super().__init__(message + place)


class NotSupportedError(FrontendError):
    """Python that TorchScript does not have."""


class UnsupportedNodeError(NotSupportedError):
    """A kind of statement or expression that TorchScript does not have."""

    def __init__(self, source: Source, node: ast.AST, reason: str = "") -> None:
        name = _STATEMENTS.get(type(node), type(node).__name__)
        super().__init__(source, node, reason or f"{name} aren't supported")


class NoForm(RuntimeError):
    """An op takes no such arguments in TorchScript."""

    def __reduce__(self) -> Any:
        return RuntimeError, self.args


NoForm.__name__, NoForm.__module__ = "RuntimeError", "builtins"  # as which programs see it


class Error(Exception):
    """What a TorchScript program raises."""


Error.__module__ = "torch.jit"


class Place(str):
    """file:line:column, with the text around."""

    source: Source
    node: Any
    written: str = ""  # of what was read from an archive: the place in its code


class Source:
    """The text of a function or file, and where it is from."""

    def __init__(self, text: str, file: str = "<string>", first: int = 1, indent: str = "") -> None:
        self.lines, self.file, self.first = text.splitlines(), file, first
        self.indent = indent  # what was taken from the beginning of each line
        self.ours = file.startswith(callers.OURS)  # whether it is of this package

    def place(self, node: Any) -> str:
        """file:line:column."""
        line = getattr(node, "lineno", 1)
        column = len(self.indent) + getattr(node, "col_offset", 0)
        found = Place(f"{self.file}:{self.first + line - 1}:{column}")
        found.source, found.node = self, node
        return found

    def raised(self, node: Any, function: str) -> str:
        """What an exception of a program tells of the place."""
        return f"Traceback of TorchScript (most recent call last):\n{self.show(node, function)}"

    def show(self, node: Any, function: str = "") -> str:
        """The lines around, with what is meant underlined: of a call, what is called (as an ast.Expr all of
        it), without brackets at its end.
        """
        node = node.func if isinstance(node, ast.Call) else node
        line = getattr(node, "lineno", 1) - 1
        end_line, end_column = _end(node, line + 1)
        last = min(end_line, len(self.lines)) - 1
        whole = isinstance(node, (ast.Try, ast.If, ast.For, ast.While, ast.With))
        last = line if whole else last
        shown = [f'  File "{self.file}", line {self.first + line}' + (f", in {function}" if function else "")]
        for i in range(max(0, line - 3), min(len(self.lines), last + 4)):
            shown.append(self.indent + self.lines[i] if self.lines[i] else "")
            if line <= i <= last:
                begin = node.col_offset if i == line else len(self.lines[i]) - len(self.lines[i].lstrip())
                end = end_column if i == end_line - 1 else len(self.lines[i])
                shown.append(
                    self.indent + " " * begin + "~" * max(end - begin, 1) + " <--- HERE" * (i == last)
                )
        return "\n".join(shown) + "\n"


def _end(node: Any, line: int) -> tuple[int, int]:
    """Line and column behind the last word of an expression; `line` where that is not known."""
    last: Any = None
    if isinstance(node, ast.Call):
        parts: list[Any] = [node.func, *node.args, *node.keywords]
        last = max(parts, key=lambda n: (n.end_lineno, n.end_col_offset))
    elif isinstance(node, (ast.Expr, ast.Return, ast.Assign, ast.keyword)):
        last = node.value
    elif isinstance(node, ast.BinOp):
        last = node.right
    elif isinstance(node, ast.UnaryOp):
        last = node.operand
    if last is not None:
        return _end(last, line)
    return getattr(node, "end_lineno", None) or line, getattr(node, "end_col_offset", 0)


def parsed(function: Any) -> tuple[ast.FunctionDef, Source]:
    """The tree of a Python function and its text; OSError where the text is nowhere."""
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError as error:
        raise OSError(
            f"Can't get source for {function}. TorchScript requires source access in order to carry out "
            "compilation, make sure original .py files are available."
        ) from error
    indent = " " * (len(lines[0]) - len(lines[0].lstrip()))
    text = "".join(line.removeprefix(indent) for line in lines)  # comments and texts may stand further left
    source = Source(text, inspect.getsourcefile(function) or "<string>", first, indent)
    found = ast.parse(text).body[0]
    if not isinstance(found, ast.FunctionDef):
        raise NotSupportedError(source, found, "Expected a single top-level function")
    return found, source


def check_parameters(tree: ast.FunctionDef, source: Source) -> None:
    """Raise for parameters that compiled functions cannot have."""
    if tree.args.vararg or tree.args.kwarg or any(d is not None for d in tree.args.kw_defaults):
        raise NotSupportedError(
            source,
            tree.args.vararg or tree.args.kwarg or tree,
            "Compiled functions can't take variable number of arguments or use keyword-only arguments with "
            "defaults",
        )


def get_jit_def(fn: Any, def_name: str, self_name: str | None = None, is_classmethod: bool = False) -> Any:
    """A function's tree, in PyTorch's words and with this name; str(tree) shows it, tree.range() where it is.

    self_name: of a method, the name of its class, which is the type of `self`. is_classmethod: the first
    argument is the class itself.
    """
    from rushlight.jit.compiler.trees import tree_of  # what few programs need

    tree, source = parsed(fn)
    if self_name is not None and tree.args.args:
        first = tree.args.args[0]
        own = ast.copy_location(ast.Name(self_name, ast.Load()), first)
        if is_classmethod:
            name = ast.copy_location(ast.Name(first.arg, ast.Store()), first)
            tree.body.insert(0, ast.copy_location(ast.Assign([name], own), first))
        elif first.arg == "self" and first.annotation is None:
            first.annotation = own
    return tree_of(tree, source, def_name)


def generated(function: Any) -> bool:
    """Whether a dataclass has made the function, which then has no text."""
    return bool(inspect.unwrap(function).__code__.co_filename == "<string>")


def dataclass_init(cls: Any) -> tuple[Any, Source, dict[str, Any]]:
    """The __init__ that a dataclass has made: its tree, text, and what the names in its annotations mean."""
    taken = [field for field in dataclasses.fields(cls) if field.init]
    if any(field.default_factory is not dataclasses.MISSING for field in taken):
        raise NotImplementedError("Default factory initializers are not supported in TorchScript dataclasses")
    notes = {f"_type_{field.name}": field.type for field in taken}
    head = ", ".join(["self", *(f"{field.name}: _type_{field.name}" for field in taken)])
    lines = [f"self.{field.name} = {field.name}" for field in taken] or ["pass"]
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    text = f"def __init__({head}):\n" + "".join(f"    {line}\n" for line in lines)
    return ast.parse(text).body[0], Source(text, f"<{cls.__name__}.__init__>"), notes


# The methods that a dataclass makes to compare objects: what is smaller, and what is given for equal ones.
_COMPARISONS = {"__lt__": ("<", False), "__le__": ("<", True), "__gt__": (">", False), "__ge__": (">", True)}


def dataclass_method(cls: Any, name: str) -> tuple[Any, Source, dict[str, Any]] | None:
    """A method that a dataclass has made, as dataclass_init(); None for one that TorchScript has not."""
    if name == "__init__":
        return dataclass_init(cls)
    if name != "__eq__" and name not in _COMPARISONS:
        return None
    sign, equal = _COMPARISONS.get(name, ("", True))
    lines = [f"def {name}(self, other: _type_other) -> bool:"]
    for field in dataclasses.fields(cls):
        if not field.compare:
            continue
        lines += [f"    a_{field.name} = self.{field.name}", f"    b_{field.name} = other.{field.name}"]
        kind: Any = field.type  # a text where annotations are not evaluated
        none = "None" in kind or "Optional" in kind if isinstance(kind, str) else type(None) in get_args(kind)
        lines += _compared(f"a_{field.name}", f"b_{field.name}", sign, none)
    text = "\n".join([*lines, f"    return {equal}"]) + "\n"
    return ast.parse(text).body[0], Source(text, f"<{cls.__name__}.{name}>"), {"_type_other": cls}


def _compared(a: str, b: str, sign: str, optional: bool) -> list[str]:
    """Statements that return where two attributes decide."""
    pad, lines = "    ", []
    if optional:
        decided = "return False" if not sign else f'raise TypeError("Cannot compare {a[2:]}, which is None")'
        lines += [f"    if ({a} is None) != ({b} is None):", f"        {decided}"]
        lines.append(f"    if {a} is not None and {b} is not None:")
        pad = "        "
    if not sign:
        return [*lines, f"{pad}if {a} != {b}:", f"{pad}    return False"]
    smaller = [f"{pad}if {a} {sign} {b}:", f"{pad}    return True"]
    return [*lines, *smaller, f"{pad}if {b} {sign} {a}:", f"{pad}    return False"]


_DEEPEST = 200


def parse_untrusted(text: str, name: str) -> ast.Module:
    """The tree of a file's code; RuntimeError where it is not Python or nested beyond reason."""
    try:
        tree = ast.parse(text, name)
        _check_depth(tree, 0)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RuntimeError(f"{name}: expected TorchScript code, got: {error}; the file is damaged") from None
    return tree


def _check_depth(node: ast.AST, depth: int) -> None:
    if depth > _DEEPEST:
        raise RecursionError("nested too deep")
    for child in ast.iter_child_nodes(node):
        _check_depth(child, depth + 1)
