"""Nodes' arguments, sizes and structures as PyTorch's files of exported programs spell them, and read
back.
"""

from __future__ import annotations

import ast
import json
import re
from collections import OrderedDict
from typing import Any

import rushlight as torch
from rushlight._engine.core.dtype import NAMED
from rushlight._engine.core.pytree import LEAF, Tree
from rushlight.export.listener import Value
from rushlight.export.numbers.symbolic import SIZES
from rushlight.export.symbols import Sym
from rushlight.fx.node import Node

DTYPES = {
    name: code
    for code, name in enumerate(
        "uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool "
        "bfloat16".split(),
        1,
    )
} | {
    "uint16": 28,
    "float8_e4m3fn": 29,
    "float8_e5m2": 30,
    "float8_e4m3fnuz": 31,
    "float8_e5m2fnuz": 32,
    "uint32": 34,
    "uint64": 35,
}
_BY_CODE = {code: NAMED[name] for name, code in DTYPES.items() if name in NAMED}
_FORMATS = {
    1: torch.contiguous_format,
    2: torch.channels_last,
    3: torch.channels_last_3d,
    4: torch.preserve_format,
}
_SYMPY = {ast.Mult: "Mul", ast.Add: "Add", ast.FloorDiv: "FloorDiv"}
_SIGNS = {"Mul": "*", "Add": "+", "FloorDiv": "//"}
_KINDS = {
    tuple: "builtins.tuple",
    list: "builtins.list",
    dict: "builtins.dict",
    OrderedDict: "collections.OrderedDict",
}


def dtype_code(dtype: Any) -> int:
    """A dtype's number."""
    return DTYPES[str(dtype).removeprefix("torch.")]


def dtype_of(code: int) -> Any:
    """The dtype of a number; KeyError for none."""
    return _BY_CODE[code]


# --- sizes ----------------------------------------------------------------------------------------


def size(value: Any) -> dict[str, Any]:
    """A number of a shape."""
    if isinstance(value, SIZES):
        return {"as_expr": {"expr_str": _sympy(value.tree().body), "hint": {"as_int": value.hint}}}
    return {"as_int": int(value)}


def _sympy(tree: Any) -> str:
    if isinstance(tree, ast.Name):
        return f"Symbol('{tree.id}', positive=True, integer=True)"
    if isinstance(tree, ast.Constant):
        return f"Integer({tree.value!r})"
    if isinstance(tree.op, ast.Sub):
        return f"Add({_sympy(tree.left)}, Mul(Integer(-1), {_sympy(tree.right)}))"
    return f"{_SYMPY[type(tree.op)]}({_sympy(tree.left)}, {_sympy(tree.right)})"


def size_of(fields: dict[str, Any]) -> Any:
    """The number of a shape that `size` told; ValueError for what is none."""
    if "as_int" in fields:
        return int(fields["as_int"])
    text, hint = fields["as_expr"]["expr_str"], fields["as_expr"].get("hint") or {}
    found = Sym(_plain(ast.parse(text, mode="eval").body), int(hint.get("as_int", 0)))
    found.tree()
    return found


def _plain(tree: Any) -> str:
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return f"(0 - {_plain(tree.operand)})"
    if isinstance(tree, ast.Constant) and type(tree.value) is int:
        return str(tree.value)
    name = tree.func.id if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else ""
    if name == "Symbol" and str(tree.args[0].value).isidentifier():
        return str(tree.args[0].value)
    if name == "Integer":
        return _plain(tree.args[0])
    if name not in _SIGNS:
        raise ValueError(f"{ast.unparse(tree)} is no expression of sizes")
    parts = [_plain(a) for a in tree.args]
    sign = " + " if name == "Add" else _SIGNS[name]
    return sign.join(f"({p})" if " " in p and name != "Add" else p for p in parts)


def tensor(value: Any) -> dict[str, Any]:
    """What is known about a tensor."""
    return {
        "dtype": dtype_code(value.dtype),
        "sizes": [size(n) for n in value.shape],
        "requires_grad": bool(value.requires_grad),
        "device": {"type": "cpu", "index": None},
        "strides": [size(n) for n in value.stride()],
        "storage_offset": {"as_int": 0},
        "layout": 7,
    }


def tensor_of(fields: dict[str, Any]) -> Value:
    """What `tensor` told."""
    found = Value(torch.empty((), dtype=dtype_of(fields["dtype"])))
    found.shape, found._stride = tuple(map(size_of, fields["sizes"])), tuple(map(size_of, fields["strides"]))
    found.requires_grad = bool(fields["requires_grad"])
    return found


# --- arguments ------------------------------------------------------------------------------------


def argument(value: Any, kind: str = "") -> dict[str, Any]:
    """An argument of a node, or an input or output of the graph. kind: the schema's type."""
    if isinstance(value, Node):
        return (
            {"as_sym_int": {"as_name": value.name}}
            if isinstance(value.meta.get("val"), SIZES)
            else {"as_tensor": {"name": value.name}}
        )
    if isinstance(value, (list, tuple)):
        return _listed(list(value), kind)
    for of, key in (
        (type(None), "as_none"),
        (bool, "as_bool"),
        (int, "as_int"),
        (float, "as_float"),
        (str, "as_string"),
    ):
        if isinstance(value, of):
            return {key: True if value is None else value}
    if isinstance(value, torch.dtype):
        return {"as_scalar_type": dtype_code(value)}
    if isinstance(value, torch.device):
        return {"as_device": {"type": value.type, "index": value.index}}
    if isinstance(value, torch.memory_format):
        return {"as_memory_format": next(code for code, known in _FORMATS.items() if known is value)}
    if isinstance(value, torch.layout):
        return {"as_layout": 7}
    raise TypeError(f"torch.export.save: an exported program's file cannot hold a {type(value).__name__}")


def _listed(items: list[Any], kind: str) -> dict[str, Any]:
    nodes = [item for item in items if isinstance(item, Node)]
    if "Tensor" in kind or (nodes and not isinstance(nodes[0].meta.get("val"), SIZES)):
        if None in items or "Tensor?" in kind:
            return {"as_optional_tensors": [argument(item) for item in items]}
        return {"as_tensors": [{"name": item.name} for item in items]}
    if nodes:
        return {"as_sym_ints": [argument(item).get("as_sym_int") or {"as_int": item} for item in items]}
    for of, key in ((bool, "as_bools"), (int, "as_ints"), (float, "as_floats"), (str, "as_strings")):
        if all(isinstance(item, of) for item in items):
            return {key: items} if items or "float" not in kind else {"as_floats": []}
    return {"as_floats": [float(item) for item in items]}


def argument_of(fields: dict[str, Any], known: dict[str, Node]) -> Any:
    """The argument that `argument` told; KeyError for names of no nodes, ValueError for what is no
    argument.
    """
    ((key, value),) = fields.items()
    if key in ("as_tensor", "as_sym_int"):
        return _node_of(value, known)
    if key in ("as_tensors", "as_sym_ints"):
        return [_node_of(item, known) for item in value]
    if key == "as_optional_tensors":
        return [argument_of(item, known) for item in value]
    wanted: Any = {"as_bool": bool, "as_int": int, "as_float": (int, float), "as_string": str}.get(key)
    items: Any = {"as_bools": bool, "as_ints": int, "as_floats": (int, float), "as_strings": str}.get(key)
    if (wanted and isinstance(value, wanted)) or (items and all(isinstance(item, items) for item in value)):
        return value
    other: dict[str, Any] = {
        "as_none": lambda: None,
        "as_scalar_type": lambda: dtype_of(value),
        "as_layout": lambda: torch.strided,
        "as_device": lambda: torch.device(value["type"]),
        "as_memory_format": lambda: _FORMATS[value],
    }
    if key not in other:
        raise ValueError(f"{fields!r} is no argument")
    return other[key]()


def _node_of(fields: dict[str, Any], known: dict[str, Node]) -> Any:
    return (
        int(fields["as_int"])
        if "as_int" in fields
        else known[fields["as_name"] if "as_name" in fields else fields["name"]]
    )


# --- structures -----------------------------------------------------------------------------------


def structure(tree: Tree) -> str:
    """A structure of tuples, lists and dicts."""
    return json.dumps([1, _structured(tree)])


def _structured(tree: Tree) -> dict[str, Any]:
    if tree.kind is None:
        return {"type": None, "context": None, "children_spec": []}
    if tree.kind not in _KINDS:
        raise TypeError(f"torch.export.save: an exported program's file cannot hold a {tree.kind.__name__}")
    context = json.dumps(list(tree.keys)) if tree.kind in (dict, OrderedDict) else "null"
    return {
        "type": _KINDS[tree.kind],
        "context": context,
        "children_spec": [_structured(c) for c in tree.children_specs],
    }


def structure_of(text: str) -> Tree:
    """The structure that `structure` told; ValueError for another kind."""
    return _tree(json.loads(text)[1])


def _tree(fields: dict[str, Any]) -> Tree:
    if fields["type"] is None:
        return LEAF
    kind = next((k for k, name in _KINDS.items() if name == fields["type"]), None)
    if kind is None:
        raise ValueError(f"{fields['type']!r} is no structure that is read from files")
    keys = json.loads(fields["context"]) if kind in (dict, OrderedDict) else None
    children = [_tree(child) for child in fields["children_spec"]]
    if keys is not None and len(keys) != len(children):
        raise ValueError("a dict of another length than its keys")
    return Tree(kind, keys, children)


def identifier(name: Any) -> str:
    """A name that becomes part of a program's text; ValueError if it is none."""
    if not isinstance(name, str) or not re.fullmatch(r"[^\W\d]\w*", name):
        raise ValueError(f"{name!r} is no name")
    return name
