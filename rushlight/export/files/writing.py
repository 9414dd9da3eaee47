"""The description of an exported program, as its file has it: dicts and lists that JSON holds."""

from __future__ import annotations

import copy
import json
from collections import namedtuple
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import Tree
from rushlight._ops import HigherOrderOperator
from rushlight.export.files import arguments
from rushlight.export.files.metadata import metadata
from rushlight.export.files.sizes import size
from rushlight.export.program import ExportedProgram, ModuleCallEntry
from rushlight.export.signature import (
    ConstantArgument,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)
from rushlight.export.symbols import UNBOUNDED
from rushlight.fx.node import Node
from rushlight.utils import _pytree

KINDS = {
    InputKind.PARAMETER: ("parameter", "parameter_name"),
    InputKind.BUFFER: ("buffer", "buffer_name"),
    InputKind.CONSTANT_TENSOR: ("tensor_constant", "tensor_constant_name"),
}
MUTATIONS = {
    OutputKind.BUFFER_MUTATION: ("buffer_mutation", "buffer_name"),
    OutputKind.PARAMETER_MUTATION: ("parameter_mutation", "parameter_name"),
    OutputKind.USER_INPUT_MUTATION: ("user_input_mutation", "user_input_name"),
}
VERSION = (8, 20)
_NOTED = {"custom"}  # what programs note at a whole graph


def model(ep: ExportedProgram, opset_version: dict[str, int] | None = None) -> dict[str, Any]:
    """The whole description. TypeError for what a file cannot hold."""
    signature = ep.graph_signature
    constants = {
        s.arg.name: s.arg.value for s in signature.input_specs if isinstance(s.arg, ConstantArgument)
    }
    fields = graph_fields(_once(ep.graph_module), constants)
    specs = [_input(s, v) for s, v in zip(signature.input_specs, fields["inputs"], strict=True)]
    outputs = [_output(s, v) for s, v in zip(signature.output_specs, fields["outputs"], strict=True)]
    ranges = {
        str(name): _bounds(found) for name, found in ep.range_constraints.items() if str(name).isidentifier()
    }
    return {
        "graph_module": {
            "graph": fields,
            "signature": {"input_specs": specs, "output_specs": outputs},
            "module_call_graph": [_call(entry) for entry in ep.module_call_graph],
            "metadata": {
                key: json.dumps(ep.graph_module.meta[key]) for key in _NOTED & ep.graph_module.meta.keys()
            },
            "treespec_namedtuple_fields": _named_tuples(ep),
        },
        "opset_version": {"aten": 10, **(opset_version or {})},
        "range_constraints": ranges,
        "schema_version": dict(zip(("major", "minor"), VERSION, strict=True)),
        "verifiers": [v.dialect for v in ep.verifiers],
        "torch_version": torch.__version__,
        "guards_code": [],
    }


def _bounds(found: Any) -> dict[str, Any]:
    low, high = found.lower, found.upper
    return {
        "min_val": None if low == -UNBOUNDED else _whole(low, up=True),
        "max_val": None if high == UNBOUNDED else _whole(high, up=False),
    }


def _whole(edge: Any, up: bool) -> int:
    """The whole number next to an edge, within."""
    return -int(-edge // 1) if up else int(edge // 1)


def _named_tuples(ep: ExportedProgram) -> dict[str, Any]:
    """The fields of the named tuples among inputs and outputs, by the names that files have for these."""
    found: dict[str, Any] = {}

    def look(tree: Tree) -> None:
        kind = tree.context if tree.type is namedtuple else tree.type
        if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
            name = _pytree.SUPPORTED_SERIALIZED_TYPES[kind].serialized_type_name
            found[name] = {"field_names": list(kind._fields)}
        for child in tree.children_specs:
            look(child)

    look(ep._in_spec)
    look(ep._out_spec)
    return found


def _call(entry: ModuleCallEntry) -> dict[str, Any]:
    own = entry.signature
    if own is None:
        return {"fqn": entry.fqn, "signature": None}
    return {
        "fqn": entry.fqn,
        "signature": {
            "inputs": [_told(a) for a in own.inputs],
            "outputs": [_told(a) for a in own.outputs],
            "in_spec": arguments.structure(own.in_spec),
            "out_spec": arguments.structure(own.out_spec),
            "forward_arg_names": own.forward_arg_names,
        },
    }


def _told(arg: Any) -> dict[str, Any]:
    """An argument of a module's call."""
    if isinstance(arg, TensorArgument):
        return {"as_tensor": {"name": arg.name}}
    if isinstance(arg, SymIntArgument):
        return {"as_sym_int": {"as_name": arg.name}}
    return arguments.argument(arg.value)


# --- graphs --------------------------------------------------------------------------------------


def graph_fields(module: Any, constants: dict[str, Any]) -> dict[str, Any]:
    """A graph, and graphs of functions within it. constants: inputs that are the same in every call."""
    graph = module.graph
    held = [n for n in graph.nodes if n.op == "placeholder"]
    results = graph.output_node().args[0]
    single = not isinstance(results, (tuple, list))
    outputs = [results] if single else results
    values = {
        n.name: n.meta["val"] for n in graph.nodes if n.op != "get_attr" and n.meta.get("val") is not None
    }
    kinds: dict[str, dict[str, Any]] = {"sym_int": {}, "sym_bool": {}, "sym_float": {}, "tensor": {}}
    for name, value in values.items():
        kind = arguments.kind_of(value)
        if kind != "tensor":
            kinds[kind][name] = size(value)
        elif hasattr(value, "dtype"):
            kinds[kind][name] = arguments.tensor(value)
    inputs = [arguments.argument(constants.get(n.name, n)) for n in held]
    return {
        "inputs": inputs,
        "outputs": [arguments.argument(v) for v in outputs],
        "nodes": [_node(module, n) for n in graph.nodes if _is_written(n)],
        **{f"{kind}_values": told for kind, told in kinds.items()},
        "is_single_tensor_return": single,
        "custom_obj_values": {},
    }


def _is_written(node: Node) -> bool:
    """Whether a node is written by itself; items of a result are written with it."""
    return node.op == "call_function" and getattr(node.target, "__name__", "") != "getitem"


def _node(module: Any, node: Node) -> dict[str, Any]:
    operator = isinstance(node.target, HigherOrderOperator)
    return {
        "target": target_name(node.target),
        "inputs": [_argument(module, *told) for told in _given(node)],
        "outputs": _results(node),
        "metadata": metadata(node),
        "is_hop_single_tensor_return": False if operator else None,
        "name": node.name,
    }


def target_name(target: Any) -> str:
    """What files call a function."""
    if isinstance(target, HigherOrderOperator):
        return f"torch.ops.higher_order.{target._name}"
    if hasattr(target, "_schema"):
        return f"torch.ops.{target}"
    module = "torch" if target.__module__.startswith(torch.__name__) else target.__module__
    return f"{module}.{target.__name__}"


def _given(node: Node) -> list[tuple[int, str, Any, str]]:
    """(kind, name, value, type) of each argument."""
    if isinstance(node.target, HigherOrderOperator):
        return [(1, "", v, "") for v in node.args] + [(2, k, v, "") for k, v in node.kwargs.items()]
    types = {chr(ord("a") + i): "" for i in range(len(node.args))}
    if hasattr(node.target, "_schema"):
        types = {p.name: p.type for p in node.target._schema.arguments}
    given = [(1, *pair) for pair in zip(types, node.args, strict=False)]
    return [(kind, k, v, types.get(k, "")) for kind, k, v in given + [(2, *p) for p in node.kwargs.items()]]


def _argument(module: Any, kind: int, name: str, value: Any, of: str) -> dict[str, Any]:
    if isinstance(value, Node) and value.op == "get_attr":
        held = module.get_submodule(value.target)
        told = {"as_graph": {"name": value.target, "graph": graph_fields(held, {})}}
        return {"name": name, "arg": told, "kind": kind}
    return {"name": name, "arg": arguments.argument(value, of), "kind": kind}


def _results(node: Node) -> list[dict[str, Any]]:
    value = node.meta.get("val")
    schema = getattr(node.target, "_schema", None)
    if "results" not in node.meta:
        return [] if value is None else [arguments.argument(node)]
    items = _items(node)
    many = schema is not None and not schema.text.rpartition("-> ")[2].startswith("(")
    count = node.meta["results"] if many or schema is None else max(node.meta["results"], len(schema.returns))
    found: list[dict[str, Any]] = []
    for i in range(count):
        held = value[i] if isinstance(value, (tuple, list)) and i < len(value) else None
        name = f"{node.name}_unused_{i}"
        if isinstance(held, (tuple, list)):
            own = _items(items[i]) if i in items else {}
            names = [own[j].name if j in own else f"{name}_{j}" for j in range(len(held))]
            found.append({"as_tensors": [{"name": n} for n in names]})
        else:
            found.append(arguments.argument(items[i]) if i in items else {"as_tensor": {"name": name}})
    return [{"as_tensors": [told["as_tensor"] for told in found]}] if many else found


def _items(node: Node) -> dict[Any, Node]:
    """The nodes that take items of a result."""
    return {u.args[1]: u for u in node.users if getattr(u.target, "__name__", "") == "getitem"}


def _once(module: Any) -> Any:
    """The module, in which each item of a result is taken by one node."""

    def repeated(graph: Any) -> list[tuple[Node, Node]]:
        first: dict[Any, Node] = {}
        several = [n for n in graph.nodes if n.op == "call_function" and not _is_written(n)]
        return [(n, first[key]) for n in several if first.setdefault(key := tuple(n.args), n) is not n]

    if not repeated(module.graph):
        return module
    made = copy.deepcopy(module)
    for node, other in repeated(made.graph):
        node.replace_all_uses_with(other)
        made.graph.erase_node(node)
    return made


# --- inputs and outputs --------------------------------------------------------------------------


def _input(spec: InputSpec, given: Any) -> dict[str, Any]:
    if spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, ConstantArgument):
        return {"constant_input": {"name": spec.arg.name, "value": given}}
    if spec.kind is InputKind.USER_INPUT:
        return {"user_input": {"arg": given}}
    kind, name = KINDS[spec.kind]
    kept = {} if spec.persistent is None else {"persistent": spec.persistent}
    return {kind: {"arg": given["as_tensor"], name: spec.target, **kept}}


def _output(spec: OutputSpec, value: Any) -> dict[str, Any]:
    if spec.kind not in MUTATIONS:
        return {"user_output": {"arg": value}}
    kind, name = MUTATIONS[spec.kind]
    return {kind: {"arg": value["as_tensor"], name: spec.target}}
