"""Declarations: of overloads, which come before the function that they are of, and of constants."""

from __future__ import annotations

import ast
from typing import Any

import rushlight as torch
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
