"""An exported program of the description that its file has.

All that is read is checked before it becomes part of a graph: names are identifiers, targets are known
functions, sizes are expressions of these.
"""

from __future__ import annotations

import json
import math
import operator
from typing import Any

import rushlight as torch
from rushlight._export.verifier import load_verifier
from rushlight._ops import HigherOrderOperator
from rushlight.export import overloads
from rushlight.export.files import arguments
from rushlight.export.files.metadata import metadata_of
from rushlight.export.files.sizes import size_of
from rushlight.export.files.writing import KINDS, MUTATIONS
from rushlight.export.program import ExportedProgram, ModuleCallEntry, ModuleCallSignature, placed
from rushlight.export.recording.fakes import Fakes, numbers_of
from rushlight.export.signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
    user_output,
)
from rushlight.export.symbols import UNBOUNDED, Dim, Symbol
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node

_OF_NUMBERS = "getitem add mul sub truediv ge le gt lt eq ne floordiv mod and_ or_ xor not_ pow neg pos abs"
_OF_BITS = "lshift rshift"
_OF_TORCH = "sym_int sym_float sym_ite sym_max sym_min sym_not sym_sqrt"


def target_of(name: str) -> Any:
    """The function that files call so; KeyError for one that is not known."""
    space, _, last = name.rpartition(".")
    if space == "_operator" and last in (*_OF_NUMBERS.split(), *_OF_BITS.split()):
        return getattr(operator, last)
    if space in ("builtins", "math") and last in ("round", "ceil", "floor", "trunc", "abs", "pow"):
        return {"round": round, "abs": abs}.get(last) or getattr(math, last)
    if space == "torch" and last in _OF_TORCH.split():
        return getattr(torch, last)
    if space == "torch.ops.higher_order":
        return getattr(torch.ops.higher_order, last)
    return overloads.named(name)


def program_of(
    model: dict[str, Any], state: dict[str, Any], constants: dict[str, Any], sample: Any
) -> ExportedProgram:
    """The program of a description, with its tensors. KeyError, ValueError, ... for what is none."""
    told, signature = model["graph_module"]["graph"], model["graph_module"]["signature"]
    entry = model["graph_module"]["module_call_graph"][0]["signature"]
    specs = [
        input_of(s, given, f"input_{i}")
        for i, (s, given) in enumerate(zip(signature["input_specs"], told["inputs"], strict=True))
    ]
    for s in specs:
        if s.kind is not InputKind.USER_INPUT and s.target not in state and s.target not in constants:
            raise KeyError(f"no tensor is named {s.target!r}")
    reader = Reader(told, [s.arg.name for s in specs])
    if set(signature) != {"input_specs", "output_specs"}:
        raise ValueError(f"a signature has inputs and outputs, got {sorted(signature)}")
    targets = {s.target or s.arg.name for s in specs}
    outputs = [
        output_of(of, value, targets)
        for of, value in zip(signature["output_specs"], reader.graph.output_node().args[0], strict=True)
    ]
    inner, outer = arguments.structure_of(entry["in_spec"]), arguments.structure_of(entry["out_spec"])
    names = [arguments.identifier(name) for name in entry["forward_arg_names"] or ()]
    for key in inner.children_specs[1].keys:
        arguments.identifier(key)
    known = [_symbol(name, bounds) for name, bounds in model["range_constraints"].items()]
    nodes = list(zip(reader.graph.nodes, specs, strict=False))
    placed(known, [n for n, s in nodes if s.kind is InputKind.USER_INPUT])
    module = GraphModule(reader.root, reader.graph)
    Fakes(numbers_of(known)).module(module)
    tuples = model["graph_module"].get("treespec_namedtuple_fields") or {}
    for key, text in (model["graph_module"].get("metadata") or {}).items():
        module.meta[key] = json.loads(text)
    if tuples:
        module.meta["treespec_namedtuple_fields"] = {k: list(v["field_names"]) for k, v in tuples.items()}
    signed = ExportGraphSignature(specs, outputs)
    made = ExportedProgram.of(module, signed, state, constants, known, inner, outer, names, sample)
    made._calls = [_call(e) for e in model["graph_module"]["module_call_graph"]]
    made._verifiers = [load_verifier(name) for name in model.get("verifiers") or ()] or made._verifiers
    return made


def _call(entry: dict[str, Any]) -> ModuleCallEntry:
    own = entry.get("signature")
    if own is None:
        return ModuleCallEntry(str(entry["fqn"]))
    inner, outer = arguments.structure_of(own["in_spec"]), arguments.structure_of(own["out_spec"])
    inputs, outputs = ([_told(a) for a in own[key]] for key in ("inputs", "outputs"))
    signature = ModuleCallSignature(inputs, outputs, inner, outer, own.get("forward_arg_names"))
    return ModuleCallEntry(str(entry["fqn"]), signature)


def _told(fields: dict[str, Any]) -> Any:
    if "as_tensor" in fields:
        return TensorArgument(arguments.identifier(fields["as_tensor"]["name"]))
    if "as_name" in (fields.get("as_sym_int") or ()):
        return SymIntArgument(arguments.identifier(fields["as_sym_int"]["as_name"]))
    return ConstantArgument("", arguments.argument_of(fields, {}))


# --- graphs --------------------------------------------------------------------------------------


class Reader:
    """Reads a graph: `graph` is it, `root` holds the graphs of functions within. names: of the inputs."""

    def __init__(self, fields: dict[str, Any], names: list[str] | None = None) -> None:
        self.graph, self.root = Graph(), torch.nn.Module()
        self.known: dict[str, Node] = {}
        self.values: dict[str, Any] = {k: arguments.tensor_of(v) for k, v in fields["tensor_values"].items()}
        for kind in ("int", "bool", "float"):
            told = fields.get(f"sym_{kind}_values") or {}
            self.values |= {k: size_of(v) for k, v in told.items()}
        for leaf, given in enumerate(fields["inputs"]):
            name = arguments.identifier(names[leaf] if names else _name_of(given))
            node = self.graph.placeholder(name)
            node.name, node.meta["leaf"] = name, leaf
            self._keep(name, node)
        for entry in fields["nodes"]:
            self._node(entry)
        outputs = [self._value(v) for v in fields["outputs"]]
        single = fields.get("is_single_tensor_return") and names is None
        self.graph.output(outputs[0] if single else tuple(outputs))

    def _keep(self, name: str, node: Node) -> None:
        self.known[name] = node
        if name in self.values:
            node.meta["val"] = self.values[name]
        elif node.op == "placeholder":  # what is the same in every call
            node.meta["val"] = None

    def _value(self, fields: dict[str, Any]) -> Any:
        if "as_graph" not in fields:
            return arguments.argument_of(fields, self.known)
        name, inner = arguments.identifier(fields["as_graph"]["name"]), Reader(fields["as_graph"]["graph"])
        setattr(self.root, name, GraphModule(inner.root, inner.graph, name))
        return self.graph.create_node("get_attr", name, name=name)

    def _node(self, entry: dict[str, Any]) -> None:
        target = target_of(entry["target"])
        args = [self._value(a["arg"]) for a in entry["inputs"] if a["kind"] != 2]
        kwargs = {
            arguments.identifier(a["name"]): self._value(a["arg"]) for a in entry["inputs"] if a["kind"] == 2
        }
        name = arguments.identifier(entry.get("name") or overloads.plain(target))
        if isinstance(target, HigherOrderOperator):
            name = name if entry.get("name") else target._name
        node = self.graph.call_function(target, tuple(args), kwargs, name=name)
        if hasattr(target, "_schema"):
            target.bound(tuple(args), kwargs)
        node.meta.update(metadata_of(entry["metadata"]))
        self._results(node, entry["outputs"])

    def _results(self, node: Node, outputs: list[Any]) -> None:
        """The items of a result are nodes, but for those that are not used."""
        if not outputs:
            return
        listed = len(outputs) == 1 and "as_tensors" in outputs[0]
        if len(outputs) == 1 and not listed and not isinstance(node.target, HigherOrderOperator):
            self._keep(_name_of(outputs[0]), node)
            return
        names = (
            [item["name"] for item in outputs[0]["as_tensors"]] if listed else [_names_of(o) for o in outputs]
        )
        self._parts(node, names, node.name)

    def _parts(self, node: Node, names: list[Any], own: str) -> None:
        node.meta["results"] = len(names)
        told = {k: v for k, v in node.meta.items() if k not in ("results", "val")}
        for i, name in enumerate(names):
            plain = f"{own}_unused_{i}"
            several = isinstance(name, list)
            if name == plain or (several and all(n == f"{plain}_{j}" for j, n in enumerate(name))):
                continue
            label = "getitem" if several else arguments.identifier(name)
            part = self.graph.call_function(operator.getitem, (node, i), name=label)
            part.meta.update(told)
            if several:
                self._parts(part, name, plain)
            else:
                self._keep(name, part)
        kind: Any = list if len(getattr(getattr(node.target, "_schema", None), "returns", ())) == 1 else tuple
        node.meta["val"] = kind(
            [self.values.get(n) for n in name] if isinstance(name, list) else self.values.get(name)
            for name in names
        )


def _names_of(fields: dict[str, Any]) -> Any:
    """The name of a result, or those of several tensors."""
    return [item["name"] for item in fields["as_tensors"]] if "as_tensors" in fields else _name_of(fields)


def _name_of(fields: dict[str, Any]) -> str:
    """The name of a node that an argument is."""
    ((_, value),) = fields.items()
    if not isinstance(value, dict):
        raise ValueError(f"{fields!r} names no node")
    return str(value["as_name"] if "as_name" in value else value["name"])


# --- inputs and outputs --------------------------------------------------------------------------


def input_of(entry: dict[str, Any], given: Any, name: str) -> InputSpec:
    """An input; ValueError for what is none. name: what it is called where that is not told."""
    ((key, fields),) = entry.items()
    if key == "constant_input":
        constant = ConstantArgument(
            arguments.identifier(fields["name"]), arguments.argument_of(fields["value"], {})
        )
        return InputSpec(InputKind.USER_INPUT, constant, None)
    if key == "user_input":
        arg = _told(fields["arg"])
        if isinstance(arg, ConstantArgument):
            arg = ConstantArgument(name, arg.value)
        return InputSpec(InputKind.USER_INPUT, arg, None)
    kind, (_, field) = next((k, v) for k, v in KINDS.items() if v[0] == key)
    return InputSpec(
        kind,
        TensorArgument(arguments.identifier(fields["arg"]["name"])),
        str(fields[field]),
        fields.get("persistent"),
    )


def output_of(told: dict[str, Any], value: Any, targets: set[str]) -> OutputSpec:
    """An output; ValueError for what is none, or for one that changes what is not there."""
    if set(told) == {"user_output"}:
        return user_output(value)
    for kind, (field, name) in MUTATIONS.items():
        if set(told) == {field} and isinstance(value, Node) and told[field][name] in targets:
            return OutputSpec(kind, TensorArgument(value.name), told[field][name])
    raise ValueError(f"{told} is no output of a program")


def _symbol(name: str, bounds: dict[str, Any]) -> Symbol:
    low, most = bounds["min_val"], bounds["max_val"]
    least = 0 if low is None else int(low)
    given = Dim(
        arguments.identifier(name), min=least, max=None if most is None else max(int(most), least + 1)
    )
    made = Symbol(name, 2, given)
    if low is None:
        made.low = -UNBOUNDED
    return made
