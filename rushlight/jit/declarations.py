"""Declarations: of overloads, which come before the function that they are of, and of constants."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import rushlight as torch
from rushlight.jit.compiler.signatures import comment
from rushlight.jit.frontend import Source, parsed

_EXAMPLE = """
Example usage of overload function:
@torch.jit._overload
def my_function(x: type0) -> type0: # decl 1
    pass

@torch.jit._overload
def my_function(x: type1) -> type1: # decl 2
    pass

def my_function(x):                 # implementation
    if isinstance(x, type0):
        return x
    elif isinstance(x, type1):
        return x
"""


def check_declaration(function: Any) -> None:
    """Raise where a declaration has a body of its own."""
    try:
        tree, source = parsed(function)
    except (OSError, TypeError):  # its text is nowhere
        return
    if not (len(tree.body) == 1 and _is_empty(tree.body[0])):
        text = "\n".join(source.indent + line for line in source.lines)
        raise RuntimeError(
            "Only `pass` statement or `...` can be the body of overload declaration:\n"
            f"{text} <- Expecting `pass` or `...` here!\n{_EXAMPLE}"
        )


# The declarations by module and name, until the function is asked for.
_DECLARED: dict[tuple[str, str], list[Any]] = {}


def declare(declaration: Any) -> None:
    """Note a declaration for the function that is to come."""
    _DECLARED.setdefault((declaration.__module__, declaration.__qualname__), []).append(declaration)


def declarations_of(function: Any) -> list[Any]:
    """The signatures that were declared for a function, in their order."""
    if getattr(function, "_torchscript_overload", False):
        return []
    place = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    made = _DECLARED.pop(place, None)
    if made is not None:
        function._torchscript_declarations = made
    found: list[Any] = getattr(function, "_torchscript_declarations", [])
    return found


# ... of methods, by module, name and class; and the lines at which these classes begin.
_METHODS: dict[tuple[str, str, str], list[Any]] = {}
_LINES: dict[tuple[str, str, str], int] = {}


def declare_method(declaration: Any, cls: str, line: int) -> None:
    """Note a declaration for the method that is to come, in a class of a name that begins at a line."""
    place = _place_of(declaration, cls)
    if _LINES.setdefault(place, line) != line:
        raise RuntimeError(
            "Cannot currently overload the same method name in two different classes with the same name in "
            "the same module"
        )
    _METHODS.setdefault(place, []).append(declaration)


def methods_declarations(function: Any, cls: type) -> list[Any]:
    """The signatures that were declared for a class's method, in their order."""
    return _METHODS.get(_place_of(function, cls.__name__), [])


def _place_of(function: Any, cls: str) -> tuple[str, str, str]:
    return getattr(function, "__module__", None) or "", getattr(function, "__name__", ""), cls


def overloads_of(cls: type) -> dict[str, tuple[str, ...]]:
    """The methods of a class that have several signatures, and what those of one are called."""
    names = {name for _, name, of in _METHODS if of == cls.__name__}
    found = {}
    for name in sorted(names):
        function = getattr(cls, name, None)
        declarations = methods_declarations(function, cls)
        if declarations:
            _, source = parsed(function)
            check_implemented(function, source, "method")
            _check_within(function, cls)
            _check_typed(declarations)
            found[name] = tuple(f"{name}__{i}" for i in range(len(declarations)))
    return found


def _check_within(function: Any, cls: type) -> None:
    """Raise where a class is another one than the declarations were made in, which was of its name."""
    try:
        lines, first = inspect.getsourcelines(cls)
    except (OSError, TypeError):  # its text is nowhere
        return
    if not first <= inspect.unwrap(function).__code__.co_firstlineno <= first + len(lines):
        raise AssertionError(
            f"Overloads are not usable when a module is redeclared within the same file: {function}"
        )


def _check_typed(declarations: list[Any]) -> None:
    """Raise where a declaration says no types."""
    for declaration in declarations:
        tree, source = parsed(declaration)
        formal = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
        notes, result = comment(tree, source, len(formal) - 1)
        if not (notes or result or declaration.__annotations__):
            module = "" if declaration.__module__ == "__main__" else f"{declaration.__module__}."
            raise RuntimeError(
                "Must explicitly add type annotations to overloaded functions: "
                f"__torch__.{module}{declaration.__name__}"
            )


def check_alone(function: Any) -> None:
    """Raise where a function that has several signatures is to be compiled without a call."""
    if declarations_of(function):
        path = "" if function.__module__ == "__main__" else f"{function.__module__}."
        raise RuntimeError(
            f"Function __torch__.{path}{function.__qualname__} cannot be directly compiled because it "
            "is overloaded. It must be used in a context of a function where its inputs can determine which "
            "overload to call."
        )


def take_signature(tree: ast.FunctionDef, declaration: Any) -> None:
    """Let a function's arguments and result be of the types of a declaration."""
    other, source = parsed(declaration)
    formal = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
    told = [*other.args.posonlyargs, *other.args.args, *other.args.kwonlyargs]
    if len(told) > len(formal):
        raise RuntimeError(
            f"Overload should not have more parameters than implementation function{source.show(other)}"
        )
    notes, result = comment(other, source, len(told))
    for i, (a, b) in enumerate(zip(formal, told, strict=False)):
        if a.arg != b.arg:
            raise RuntimeError(
                "\nOverload parameters must have the same names. "
                f"Found {b.arg} and {a.arg} on argument {i}:\n{source.show(b)}"
            )
        a.annotation = _at(a, notes[i] if notes else b.annotation)
    tree.returns = _at(tree, result if notes else other.returns)
    tree.args.defaults = []  # those of the function itself are known


def _at(place: ast.AST, note: ast.expr | None) -> ast.expr | None:
    """A type of a declaration's, as if it stood in the function's text."""
    for part in ast.walk(note) if note is not None else ():
        ast.copy_location(part, place)
    return note


def _is_empty(node: ast.stmt) -> bool:
    dots = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...
    return isinstance(node, ast.Pass) or dots


def check_implemented(function: Any, source: Source, what: str) -> None:
    """Raise where the last function of a name is a declaration as well; what: "function" or "method"."""
    if not getattr(function, "_torchscript_overload", False):
        return
    text = "\n".join(source.indent + line for line in source.lines)
    raise RuntimeError(
        f'Implementation for the {what} "__torch__.{function.__name__}" is missing. Please make sure a '
        "definition is provided and defined after all overload declarations.\n"
        f'File "{source.file}", line {source.first}:\n{text}\n\n{_EXAMPLE}'
    )


_CONSTANTS = (bool, float, int, str, type(None), torch.device, torch.layout, torch.dtype, torch.qscheme)


def valid_constant(name: str, value: Any, owner: str) -> Any:
    """A constant of a module, lists as tuples; TypeError for what cannot be one."""
    if isinstance(value, _CONSTANTS):
        return value
    if isinstance(value, (tuple, list)):
        return tuple(valid_constant(name, part, owner) for part in value)
    raise TypeError(
        f"\n'{torch.typename(type(value))}' object in attribute '{owner}.{name}' is not a valid constant.\n"
        "Valid constants are:\n1. a nn.ModuleList\n2. a value of type "
        f"{{{', '.join(map(torch.typename, _CONSTANTS))}}}\n3. a list or tuple of (2)\n"
    )
