"""torch.export.save and load: exported programs in PyTorch's zip files (.pt2), whose program is JSON, not
pickle.

Tensors are records of bytes beside their descriptions. Everything that is read is checked before it becomes
part of a graph: names are identifiers, targets are known ops, sizes are expressions of + - * //, records have
their lengths.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from contextlib import nullcontext
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.serialization.atomic import replacing
from rushlight.export import arguments, overloads
from rushlight.export.numbers.symbolic import SIZES
from rushlight.export.program import ExportedProgram
from rushlight.export.signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
    user_output,
)
from rushlight.export.symbols import UNBOUNDED, Dim, Place, Symbol
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node

_KINDS = {
    InputKind.PARAMETER: ("parameter", "parameter_name"),
    InputKind.BUFFER: ("buffer", "buffer_name"),
    InputKind.CONSTANT_TENSOR: ("tensor_constant", "tensor_constant_name"),
}


def save(
    ep: ExportedProgram,
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Write a program to a path or file object. extra_files: further texts by name. TypeError for no
    program.
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead."
        )
    path = os.fspath(f) if isinstance(f, (str, os.PathLike)) else None
    name = "archive" if path is None else os.path.splitext(os.path.basename(path))[0]
    with nullcontext(f) if path is None else replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        for part, text in _parts(ep, extra_files or {}).items():
            archive.writestr(f"{name}/{part}", text)


def _parts(ep: ExportedProgram, extra: dict[str, Any]) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "archive_format": "pt2",
        "archive_version": "0",
        ".data/version": "6\n",
        "byteorder": "little",
        "models/model.json": json.dumps(_model(ep)),
    }
    for folder, name, tensors in (
        ("weights", "weight", ep.state_dict),
        ("constants", "tensor", ep.constants),
    ):
        config: dict[str, Any] = {}
        paths: dict[Any, str] = {}
        for key, t in tensors.items():
            path = paths.setdefault(
                (t.data_ptr(), tuple(t.shape), t.dtype) if t.numel() else key, f"{name}_{len(paths)}"
            )
            parts[f"data/{folder}/{path}"] = np.ascontiguousarray(t.detach()._array).tobytes()
            plain = t.detach().contiguous().requires_grad_(t.requires_grad)
            config[key] = {
                "path_name": path,
                "is_param": isinstance(t, torch.nn.Parameter),
                "use_pickle": False,
                "tensor_meta": arguments.tensor(plain),
            }
        parts[f"data/{folder}/model_{folder}_config.json"] = json.dumps({"config": config})
    if ep.example_inputs is not None:
        sample = io.BytesIO()
        torch.save(ep.example_inputs, sample)
        parts["data/sample_inputs/model.pt"] = sample.getvalue()
    return parts | {f"extra/{key}": text for key, text in extra.items()}


# --- writing --------------------------------------------------------------------------------------


def _model(ep: ExportedProgram) -> dict[str, Any]:
    graph, signature = ep.graph, ep.graph_signature
    held = [n for n in graph.nodes if n.op == "placeholder"]
    inputs = [
        arguments.argument(s.arg.value)
        if isinstance(s.arg, ConstantArgument)
        else {"as_tensor": {"name": n.name}}
        for n, s in zip(held, signature.input_specs, strict=True)
    ]
    outputs = [arguments.argument(v) for v in graph.output_node().args[0]]
    values = {n.name: n.meta["val"] for n in graph.nodes if "val" in n.meta}
    fields = {
        "inputs": inputs,
        "outputs": outputs,
        "nodes": [_node(n) for n in graph.nodes if _is_written(n)],
        "tensor_values": {k: arguments.tensor(v) for k, v in values.items() if not isinstance(v, SIZES)},
        "sym_int_values": {k: arguments.size(v) for k, v in values.items() if isinstance(v, SIZES)},
        "sym_bool_values": {},
        "is_single_tensor_return": False,
        "custom_obj_values": {},
        "sym_float_values": {},
    }
    specs = [_input(s, given) for s, given in zip(signature.input_specs, inputs, strict=True)]
    call = {
        "fqn": "",
        "signature": {
            "inputs": [],
            "outputs": [],
            "in_spec": arguments.structure(ep._in_spec),
            "out_spec": arguments.structure(ep._out_spec),
            "forward_arg_names": ep._forward_names,
        },
    }
    ranges = {
        s.name: {"min_val": s.low, "max_val": None if s.high == UNBOUNDED else s.high} for s in ep._symbols
    }
    return {
        "graph_module": {
            "graph": fields,
            "signature": {
                "input_specs": specs,
                "output_specs": [_output(s, v) for s, v in zip(signature.output_specs, outputs, strict=True)],
            },
            "module_call_graph": [call],
            "metadata": {},
            "treespec_namedtuple_fields": {},
        },
        "opset_version": {"aten": 10},
        "range_constraints": ranges,
        "schema_version": {"major": 8, "minor": 20},
        "verifiers": ["TRAINING"],
        "torch_version": torch.__version__,
        "guards_code": [],
    }


def _is_written(node: Node) -> bool:
    """Whether a node is written by itself; items of a result are written with it."""
    return node.op == "call_function" and getattr(node.target, "__name__", "") != "getitem"


def _input(spec: InputSpec, given: Any) -> dict[str, Any]:
    if spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, ConstantArgument):
        return {"constant_input": {"name": spec.arg.name, "value": given}}
    if spec.kind is InputKind.USER_INPUT:
        return {"user_input": {"arg": given}}
    kind, name = _KINDS[spec.kind]
    kept = {} if spec.persistent is None else {"persistent": spec.persistent}
    return {kind: {"arg": given["as_tensor"], name: spec.target, **kept}}


_MUTATIONS = {
    OutputKind.BUFFER_MUTATION: ("buffer_mutation", "buffer_name"),
    OutputKind.PARAMETER_MUTATION: ("parameter_mutation", "parameter_name"),
    OutputKind.USER_INPUT_MUTATION: ("user_input_mutation", "user_input_name"),
}


def _output(spec: OutputSpec, value: Any) -> dict[str, Any]:
    if spec.kind not in _MUTATIONS:
        return {"user_output": {"arg": value}}
    kind, name = _MUTATIONS[spec.kind]
    return {kind: {"arg": value["as_tensor"], name: spec.target}}


def _output_of(told: dict[str, Any], value: Any, targets: set[str]) -> OutputSpec:
    """An output as `_output` told it; ValueError for another, or one that changes what is not there."""
    if set(told) == {"user_output"}:
        return user_output(value)
    for kind, (field, name) in _MUTATIONS.items():
        if set(told) == {field} and isinstance(value, Node) and told[field][name] in targets:
            return OutputSpec(kind, TensorArgument(value.name), told[field][name])
    raise ValueError(f"{told} is no output of a program")


def _node(node: Node) -> dict[str, Any]:
    types, target = {"a": "", "b": ""}, f"_operator.{node.target.__name__}"
    if hasattr(node.target, "_schema"):
        types = {p.name: p.type for p in node.target._schema.arguments}
        target = f"torch.ops.{node.target}"
    given = [(1, *pair) for pair in zip(types, node.args, strict=False)]
    inputs = [
        {"name": k, "arg": arguments.argument(v, types[k]), "kind": kind}
        for kind, k, v in given + [(2, *pair) for pair in node.kwargs.items()]
    ]
    trace = {"stack_trace": node.stack_trace} if node.stack_trace else {}
    return {
        "target": target,
        "inputs": inputs,
        "outputs": _results(node),
        "metadata": trace,
        "is_hop_single_tensor_return": None,
        "name": node.name,
    }


def _results(node: Node) -> list[dict[str, Any]]:
    if "results" not in node.meta:
        return [arguments.argument(node)] if "val" in node.meta else []
    items = {user.args[1]: user.name for user in node.users}
    names = [{"name": items.get(i, f"{node.name}_unused_{i}")} for i in range(node.meta["results"])]
    many = not node.target._schema.text.rpartition("-> ")[2].startswith("(")
    return [{"as_tensors": names}] if many else [{"as_tensor": name} for name in names]


# --- reading --------------------------------------------------------------------------------------


def load(
    f: Any, *, extra_files: dict[str, Any] | None = None, expected_opset_version: dict[str, int] | None = None
) -> ExportedProgram:
    """The program in a file that `save`, or PyTorch's, wrote. extra_files: its keys' texts are put in.

    RuntimeError for a file that is damaged, or holds no program; FileNotFoundError without one.
    """
    try:
        with zipfile.ZipFile(f) as archive:
            parts = {name.partition("/")[2]: name for name in archive.namelist()}
            texts = {} if extra_files is None else extra_files
            for key in texts:
                texts[key] = archive.read(parts[f"extra/{key}"]).decode()
            return _program(lambda part: archive.read(parts[part]), "data/sample_inputs/model.pt" in parts)
    except (
        KeyError,
        ValueError,
        TypeError,
        IndexError,
        AttributeError,
        RuntimeError,
        AssertionError,
        SyntaxError,
        EOFError,
        StopIteration,
        zipfile.BadZipFile,
    ) as error:
        raise RuntimeError(
            f"torch.export.load: {getattr(f, 'name', f)} is damaged, or holds no exported "
            f"program: {type(error).__name__}: {error}"
        ) from error


def _program(read: Any, sampled: bool) -> ExportedProgram:
    model = json.loads(read("models/model.json"))
    if model["schema_version"]["major"] != 8:
        raise ValueError(f"schema version {model['schema_version']}, where 8 is known")
    state, constants = (_tensors(read, folder) for folder in ("weights", "constants"))
    told_graph, signature = model["graph_module"]["graph"], model["graph_module"]["signature"]
    specs = [_input_of(s) for s in signature["input_specs"]]
    for s in specs:
        if s.kind is not InputKind.USER_INPUT and s.target not in state and s.target not in constants:
            raise KeyError(f"no tensor is named {s.target!r}")
    graph = _graph(told_graph, specs)
    if set(signature) != {"input_specs", "output_specs"}:
        raise ValueError(f"a signature has inputs and outputs, got {sorted(signature)}")
    targets = {s.target or s.arg.name for s in specs}
    outputs = [
        _output_of(told, value, targets)
        for told, value in zip(signature["output_specs"], graph.output_node().args[0], strict=True)
    ]
    call = model["graph_module"]["module_call_graph"][0]["signature"]
    inner, outer = arguments.structure_of(call["in_spec"]), arguments.structure_of(call["out_spec"])
    names = [arguments.identifier(name) for name in call["forward_arg_names"]]
    for key in inner.children_specs[1].keys:
        arguments.identifier(key)
    sample = (
        torch.load(io.BytesIO(read("data/sample_inputs/model.pt")), weights_only=True) if sampled else None
    )
    known = [_symbol(name, bounds) for name, bounds in model["range_constraints"].items()]
    _place(known, specs, graph)
    return ExportedProgram(
        GraphModule(torch.nn.Module(), graph),
        ExportGraphSignature(specs, outputs),
        state,
        constants,
        known,
        inner,
        outer,
        names,
        sample,
    )


def _tensors(read: Any, folder: str) -> dict[str, Any]:
    found, made = {}, {}
    for name, entry in json.loads(read(f"data/{folder}/model_{folder}_config.json"))["config"].items():
        if entry["use_pickle"]:
            raise NotImplementedError(f"{name!r} is a pickle, which is not read")
        meta, path = arguments.tensor_of(entry["tensor_meta"]), entry["path_name"]
        key = path, meta.shape, meta._stride
        if key not in made:
            made[key] = _tensor(
                read(f"data/{folder}/{path}"), meta, entry["tensor_meta"]["storage_offset"]["as_int"]
            )
            if entry["is_param"]:
                made[key] = torch.nn.Parameter(made[key], requires_grad=meta.requires_grad)
        found[name] = made[key]
    return found


def _tensor(data: bytes, meta: Any, offset: int) -> Any:
    whole = torch.frombuffer(bytearray(data), dtype=meta.dtype) if data else torch.empty(0, dtype=meta.dtype)
    last = offset + sum((n - 1) * s for n, s in zip(meta.shape, meta._stride, strict=True)) + 1
    if 0 not in meta.shape and (last > whole.numel() or min((*meta._stride, offset, 0)) < 0):
        raise ValueError(f"a record of {len(data)} bytes is too short for {meta}")
    return whole.as_strided(meta.shape, meta._stride, offset)


def _input_of(entry: dict[str, Any]) -> InputSpec:
    ((key, fields),) = entry.items()
    if key == "constant_input":
        constant = ConstantArgument(
            arguments.identifier(fields["name"]), arguments.argument_of(fields["value"], {})
        )
        return InputSpec(InputKind.USER_INPUT, constant, None)
    if key == "user_input" and "as_tensor" in fields["arg"]:
        tensor = TensorArgument(arguments.identifier(fields["arg"]["as_tensor"]["name"]))
        return InputSpec(InputKind.USER_INPUT, tensor, None)
    kind, (_, name) = next((k, v) for k, v in _KINDS.items() if v[0] == key)
    return InputSpec(
        kind,
        TensorArgument(arguments.identifier(fields["arg"]["name"])),
        str(fields[name]),
        fields.get("persistent"),
    )


def _graph(fields: dict[str, Any], specs: list[InputSpec]) -> Graph:
    graph, known = Graph(), {}
    values: dict[str, Any] = {k: arguments.tensor_of(v) for k, v in fields["tensor_values"].items()}
    values |= {k: arguments.size_of(v) for k, v in fields["sym_int_values"].items()}

    def keep(name: str, node: Node) -> None:
        known[name] = node
        if name in values:
            node.meta["val"] = values[name]

    for leaf, spec in enumerate(specs):
        node = graph.placeholder(arguments.identifier(spec.arg.name))
        node.name, node.meta["leaf"] = spec.arg.name, leaf
        keep(spec.arg.name, node)
    for entry in fields["nodes"]:
        target = overloads.named(entry["target"])
        args = [arguments.argument_of(a["arg"], known) for a in entry["inputs"] if a["kind"] == 1]
        kwargs = {
            arguments.identifier(a["name"]): arguments.argument_of(a["arg"], known)
            for a in entry["inputs"]
            if a["kind"] == 2
        }
        name = entry.get("name") or overloads.plain(target)
        node = graph.call_function(target, tuple(args), kwargs, name=arguments.identifier(name))
        if hasattr(target, "_schema"):
            target.bound(tuple(args), kwargs)
        node.meta["stack_trace"] = entry["metadata"].get("stack_trace")
        _kept(graph, node, entry["outputs"], keep)
    graph.output(tuple(arguments.argument_of(v, known) for v in fields["outputs"]))
    return graph


def _kept(graph: Graph, node: Node, outputs: list[Any], keep: Any) -> None:
    names = [
        item["name"]
        for out in outputs
        for item in (
            out["as_tensors"] if "as_tensors" in out else [out["as_tensor"]] if "as_tensor" in out else []
        )
    ]
    if not outputs:
        return
    if len(outputs) == 1 and "as_tensors" not in outputs[0]:
        keep(names[0] if names else outputs[0]["as_sym_int"]["as_name"], node)
        return
    if names:
        node.meta["results"] = len(names)
    getitem = overloads.named("_operator.getitem")
    for i, name in enumerate(names):
        part = graph.call_function(getitem, (node, i), name=arguments.identifier(name))
        part.meta.update(node.meta)
        keep(name, part)


def _symbol(name: str, bounds: dict[str, Any]) -> Symbol:
    most = bounds["max_val"]
    low = int(bounds["min_val"] or 0)
    given = Dim(arguments.identifier(name), min=low, max=None if most is None else max(int(most), low + 1))
    return Symbol(name, 2, given)


def _place(known: list[Symbol], specs: list[InputSpec], graph: Graph) -> None:
    """Tell symbols which dimensions of the caller's inputs they are."""
    nodes = [n for n, s in zip(graph.nodes, specs, strict=False) if s.kind is InputKind.USER_INPUT]
    for leaf, node in enumerate(nodes):
        for d, value in enumerate(getattr(node.meta.get("val"), "shape", ())):
            for symbol in known:
                if isinstance(value, SIZES) and value.expression == symbol.name:
                    symbol.places[Place(leaf, d)] = lambda x: x
                    symbol.hint = max(value.hint, symbol.hint)
