"""Nodes' arguments, sizes and structures as PyTorch's files of exported programs spell them, and read
back.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any

import rushlight as torch
from rushlight._engine.core.dtype import NAMED
from rushlight._engine.core.pytree import Tree
from rushlight.export.files.sizes import size, size_of
from rushlight.export.listener import Value
from rushlight.export.numbers.symbolic import SIZES, SymBool, SymFloat
from rushlight.fx.node import Node
from rushlight.utils._pytree import treespec_dumps, treespec_loads

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


def dtype_code(dtype: Any) -> int:
    """A dtype's number."""
    return DTYPES[str(dtype).removeprefix("torch.")]


def dtype_of(code: int) -> Any:
    """The dtype of a number; KeyError for none."""
    return _BY_CODE[code]


# --- tensors -------------------------------------------------------------------------------------


def tensor(value: Any) -> dict[str, Any]:
    """What is known about a tensor."""
    return {
        "dtype": dtype_code(value.dtype),
        "sizes": [size(n) for n in value.shape],
        "requires_grad": bool(value.requires_grad),
        "device": {"type": value.device.type, "index": value.device.index},
        "strides": [size(n) for n in value.stride()],
        "storage_offset": {"as_int": 0},
        "layout": 7,
    }


def tensor_of(fields: dict[str, Any]) -> Value:
    """What `tensor` told."""
    found = Value(torch.empty((), dtype=dtype_of(fields["dtype"])))
    found.shape, found._stride = tuple(map(size_of, fields["sizes"])), tuple(map(size_of, fields["strides"]))
    found.requires_grad = bool(fields["requires_grad"])
    where = fields["device"]
    found.device = torch.device(where["type"]) if where["index"] is None else torch.device(**where)
    return found


# --- arguments ------------------------------------------------------------------------------------


def kind_of(value: Any) -> str:
    """What a node is: "sym_int", "sym_float", "sym_bool" or "tensor"."""
    if isinstance(value, SymBool):
        return "sym_bool"
    if isinstance(value, SymFloat):
        return "sym_float"
    return f"sym_{getattr(value, 'kind', 'int')}" if isinstance(value, SIZES) else "tensor"


def argument(value: Any, kind: str = "") -> dict[str, Any]:
    """An argument of a node, or an input or output of the graph. kind: the schema's type."""
    if isinstance(value, Node):
        own = kind_of(value.meta.get("val"))
        return (
            {"as_tensor": {"name": value.name}} if own == "tensor" else {f"as_{own}": {"as_name": value.name}}
        )
    if isinstance(value, (list, tuple)):
        return _listed(list(value), kind)
    if isinstance(value, complex):
        return {"as_complex": {"real": value.real, "imag": value.imag}}
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
    if isinstance(value, dict):
        return {"as_string_to_argument": {str(key): argument(item) for key, item in value.items()}}
    raise TypeError(f"torch.export.save: an exported program's file cannot hold a {type(value).__name__}")


def _listed(items: list[Any], kind: str) -> dict[str, Any]:
    nodes = [item for item in items if isinstance(item, Node)]
    if "Tensor" in kind or (nodes and not isinstance(nodes[0].meta.get("val"), SIZES)):
        if None in items or "Tensor?" in kind:
            return {"as_optional_tensors": [argument(item) for item in items]}
        return {"as_tensors": [{"name": item.name} for item in items]}
    if nodes:
        own = kind_of(nodes[0].meta.get("val")).removeprefix("sym_")
        spelled = [argument(item).get(f"as_sym_{own}") or {f"as_{own}": item} for item in items]
        return {f"as_sym_{own}s": spelled}
    if items and all(isinstance(item, (list, tuple)) for item in items):
        whole = all(isinstance(n, int) for item in items for n in item)
        return {"as_int_lists" if whole else "as_float_lists": [list(item) for item in items]}
    if not items:
        kinds = {"bool": "as_bools", "float": "as_floats", "str": "as_strings"}
        return {next((key for of, key in kinds.items() if of in kind), "as_ints"): []}
    for of, key in ((bool, "as_bools"), (int, "as_ints"), (float, "as_floats"), (str, "as_strings")):
        if all(isinstance(item, of) for item in items):
            return {key: items}
    return {"as_floats": [float(item) for item in items]}


def argument_of(fields: dict[str, Any], known: dict[str, Node]) -> Any:
    """The argument that `argument` told; KeyError for names of no nodes, ValueError for what is no
    argument.
    """
    ((key, value),) = fields.items()
    if key in ("as_tensor", "as_sym_int", "as_sym_float", "as_sym_bool"):
        return _node_of(value, known)
    if key in ("as_tensors", "as_sym_ints", "as_sym_floats", "as_sym_bools"):
        return [_node_of(item, known) for item in value]
    if key == "as_string_to_argument":
        return {str(name): argument_of(item, known) for name, item in value.items()}
    if key == "as_complex":
        return complex(float(value["real"]), float(value["imag"]))
    if key in ("as_int_lists", "as_float_lists"):
        number = int if key == "as_int_lists" else float
        return [[number(n) for n in item] for item in value]
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
    for key, of in (("as_int", int), ("as_bool", bool), ("as_float", float)):
        if key in fields:
            return of(fields[key])
    return known[fields["as_name"] if "as_name" in fields else fields["name"]]


# --- structures -----------------------------------------------------------------------------------


def structure(tree: Tree) -> str:
    """A structure of containers that have a name in files."""
    return treespec_dumps(tree)


def structure_of(text: str) -> Tree:
    """The structure that `structure` told; ValueError for what is none."""
    found = treespec_loads(text)
    _check(found)
    return found


def _check(tree: Tree) -> None:
    if tree.kind in (dict, OrderedDict) and len(tree.keys) != tree.num_children:
        raise ValueError("a dict of another length than its keys")
    for child in tree.children_specs:
        _check(child)


def identifier(name: Any) -> str:
    """A name that becomes part of a program's text; ValueError if it is none."""
    if not isinstance(name, str) or not re.fullmatch(r"[^\W\d]\w*", name):
        raise ValueError(f"{name!r} is no name")
    return name
