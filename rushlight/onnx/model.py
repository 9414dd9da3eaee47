"""An exported program as an ONNX model, and its file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import rushlight as torch
from rushlight._engine.core import dtype as dt
from rushlight._engine.serialization.atomic import replacing
from rushlight.export import overloads
from rushlight.export.numbers.symbolic import SIZES
from rushlight.export.program import ExportedProgram
from rushlight.export.signature import ConstantArgument, InputKind
from rushlight.fx.node import Node, map_aggregate
from rushlight.onnx import op_forms
from rushlight.onnx.builder import Builder, Ref, element, tensor
from rushlight.onnx.derived import pointwise
from rushlight.onnx.errors import UnsupportedOperatorError, refused
from rushlight.onnx.exporter import WRITTEN
from rushlight.onnx.forms import Forms

_DEFAULTS = {
    "keepdim": False,
    "start": None,
    "step": 1,
    "dim": None,
    "correction": None,
    "unbiased": None,
    "src": None,
    "reduce": None,
    "divisor_override": None,
    "value": None,
    "other": None,
    "p": None,
    "ord": None,
    "weight": None,
}


def converted(
    program: ExportedProgram,
    input_names: Sequence[str] | None,
    output_names: Sequence[str] | None,
    opset: int,
    weights: bool,
    axes: dict[str, dict[int, str]],
) -> Any:
    """The model of a program."""
    writer = _Writer(program, list(input_names or ()), list(output_names or ()), axes)
    graph = writer.graph(weights)
    written = max(opset, WRITTEN)
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", written)],
        producer_name="rushlight",
        producer_version=torch.__version__,
        ir_version=10 if written < 23 else 11,
    )
    # As PyTorch's: what cannot be told in an earlier opset stays in this one.
    with suppress(RuntimeError):
        return onnx.version_converter.convert_version(model, opset) if opset < WRITTEN else model
    return model


def checked(model: Any) -> Any:
    """The model without nodes and constants that say nothing, if onnx's checker passes it."""
    graph = model.graph
    ends = {v.name for v in graph.output}
    nodes = _named_at_once(_read(list(graph.node), ends), ends)
    used = ends.union(*(n.input for n in nodes))
    kept_constants = [t for t in graph.initializer if t.name in used]
    for field, kept in ((graph.node, nodes), (graph.initializer, kept_constants)):
        kept = [type(item).FromString(item.SerializeToString()) for item in kept]
        del field[:]
        field.extend(kept)
    onnx.checker.check_model(model, full_check=model.ByteSize() < 2**30)
    return model


def _read(nodes: list[Any], outputs: set[str]) -> list[Any]:
    """The nodes that something reads, without Identities between them."""
    other: dict[str, str] = {}
    for n in nodes:
        n.input[:] = [other.get(name, name) for name in n.input]
        if n.op_type == "Identity" and n.output[0] not in outputs:
            other[n.output[0]] = n.input[0]
    used, kept = set(outputs), []
    for n in reversed(nodes):
        if used.intersection(n.output):
            used.update(n.input)
            kept.append(n)
    return kept[::-1]


def _named_at_once(nodes: list[Any], outputs: set[str]) -> list[Any]:
    """The nodes, where what makes an output has its name, not an Identity behind it."""
    made = {name for n in nodes for name in n.output}
    names: dict[str, str] = {}
    kept = []
    for n in nodes:
        if n.op_type == "Identity" and n.input[0] in made - outputs - names.keys():
            names[n.input[0]] = n.output[0]
        else:
            kept.append(n)
    for n in kept:
        n.input[:] = [names.get(name, name) for name in n.input]
        n.output[:] = [names.get(name, name) for name in n.output]
    return kept


class _Writer:
    """Writes a program's nodes."""

    def __init__(
        self, program: ExportedProgram, inputs: list[str], outputs: list[str], axes: dict[str, dict[int, str]]
    ) -> None:
        self.program, self.inputs, self.outputs, self.axes = program, inputs, outputs, axes
        self.builder = Builder()
        self.known: dict[Node, Any] = {}
        self.dims = {s.name: getattr(s.given, "__name__", s.name) for s in program._symbols}

    def graph(self, weights: bool) -> Any:
        """The graph."""
        nodes = list(self.program.graph.nodes)
        results = [v for v in nodes[-1].args[0]]
        self.builder.names |= {*self.inputs, *self.outputs}
        given = self._inputs(weights)
        for node in nodes:
            if node.op == "call_function":
                self._node(node)
        ends = [self._end(v, i) for i, v in enumerate(v for v in results if v is not None)]
        kept = [tensor(name, array) for name, array in self.builder.constants.items()]
        return helper.make_graph(self.builder.nodes, "main_graph", given, ends, kept)

    def _inputs(self, weights: bool) -> list[Any]:
        given: list[Any] = []
        names = iter(self.inputs)
        specs = self.program.graph_signature.input_specs
        for node, spec in zip(self.program.graph.nodes, specs, strict=False):
            if spec.kind is not InputKind.USER_INPUT and weights:
                t = self.program._tensor(spec.target)
                self.known[node] = self.builder.constant(t.detach()._array, spec.target, t.dtype)
            elif isinstance(spec.arg, ConstantArgument):
                self.known[node] = spec.arg.value
            else:
                wanted = next(names, node.target) if spec.kind is InputKind.USER_INPUT else spec.target
                self._input(node, wanted, given)
        return given

    def _input(self, node: Node, name: str, given: list[Any]) -> None:
        value = node.meta["val"]
        self.builder.names.add(name)
        ref = self.known[node] = Ref.of(name, value.dtype, value.shape)
        given.append(helper.make_tensor_value_info(name, element(value.dtype), self._dims(value.shape, name)))
        for d, size in enumerate(value.shape):
            if (
                isinstance(size, SIZES)
                and size.expression in self.dims
                and size.expression not in self.builder.sizes
            ):
                self.builder.hint = f"{name}_size_{d}"
                self.builder.sizes[size.expression] = self.builder.Shape(
                    ref, start=d, end=d + 1, to_dtype=dt.int64
                )

    def _dims(self, shape: Any, name: str) -> list[Any]:
        told = self.axes.get(name, {})
        return [
            told.get(d) or self.dims.get(n.expression, n.expression) if isinstance(n, SIZES) else int(n)
            for d, n in enumerate(shape)
        ]

    def _end(self, value: Any, i: int) -> Any:
        """An output, under its name."""
        name = self.outputs[i] if i < len(self.outputs) else None
        if isinstance(value, Node) and isinstance(value.meta["val"], SIZES):
            ref, shape, dtype = self.builder.Squeeze(self.builder.shape([self.known[value]])), (), dt.int64
        elif isinstance(value, Node):
            ref, shape, dtype = self.known[value], value.meta["val"].shape, value.meta["val"].dtype
        else:
            ref = self.builder.constant(np.asarray(value))
            shape, dtype = (), ref.dtype
        made = [o for n in self.builder.nodes for o in n.output]
        if name is not None or ref not in made:
            name = name or self.builder.fresh(f"{ref}_out")
            self.builder.names.discard(name)
            self.builder.hint = name
            ref = self.builder.Identity(ref)
        return helper.make_tensor_value_info(ref, element(dtype), self._dims(shape, name or ref))

    # --- one node --------------------------------------------------------------------------------

    def _node(self, node: Node) -> None:
        if not isinstance(node.target, overloads.Overload):
            if getattr(node.target, "__name__", "") != "getitem":
                self.known[node] = node.meta["val"]
            return
        if node.target._schema.op_name in ("sym_size", "_assert_tensor_metadata"):
            self.known[node] = node.meta.get("val")
            return
        self.builder.hint = node.name
        self.builder.where = (node.stack_trace or "").strip()
        items = {
            user.args[1]: user for user in node.users if getattr(user.target, "__name__", "") == "getitem"
        }
        outs = [items.get(i) for i in range(node.meta["results"])] if "results" in node.meta else [node]
        told = node.meta["val"] if "results" in node.meta else [node.meta["val"]]
        try:
            found = self._form(node, [value for value in told if value is not None])
        except UnsupportedOperatorError as error:
            raise refused(node, str(error)) from None
        except (TypeError, ValueError, KeyError, AttributeError, NotImplementedError) as error:
            raise refused(node, f"{type(error).__name__}: {error}") from None
        parts = list(found) if isinstance(found, list) else [found]
        for out, ref in zip(outs, parts, strict=True):
            if out is not None:
                value = out.meta["val"]
                ref.dtype, ref.shape = value.dtype, value.shape
                self.known[out] = ref

    def _form(self, node: Node, outs: list[Any]) -> Any:
        args, kwargs = map_aggregate(
            (node.args, node.kwargs), lambda a: self.known[a] if isinstance(a, Node) else a
        )
        bound = node.target.bound(tuple(args), kwargs)
        schema = node.target._schema
        if schema.op_name in op_forms.FORMS:
            own = bound.get("self", bound.get("input"))
            arguments = {**_DEFAULTS, "self": own, "input": own, **bound}
            return op_forms.written(schema.op_name, Forms(self.builder, outs), arguments)
        row, matched = node.target.row()
        if row.kind != "pointwise":
            raise UnsupportedOperatorError(
                "there is neither a form of it in onnx/op_forms.py nor an expression of it"
            )
        given = {p.name: bound.get(matched.get(p.name), p.default) for p in row.params}
        return pointwise(self.builder, row, given, outs[0])


# --- files ----------------------------------------------------------------------------------------


def written(model: Any, destination: Any, external: bool) -> None:
    """Write a model's file, and the file beside it that holds its tensors."""
    path = os.fspath(destination) if isinstance(destination, (str, os.PathLike)) else None
    if external and path is not None:
        model = _apart(model, path)
    with nullcontext(destination) if path is None else replacing(path) as file:
        file.write(model.SerializeToString())


def _apart(model: Any, path: str) -> Any:
    """The model with its tensors in `path.data`."""
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    name, offset = f"{os.path.basename(path)}.data", 0
    large = [t for t in copied.graph.initializer if len(t.raw_data) > 1024]
    if not large:
        return copied
    with replacing(f"{path}.data") as file:
        for t in large:
            data = t.raw_data
            file.write(data)
            t.ClearField("raw_data")
            t.data_location = TensorProto.EXTERNAL
            for key, value in (("location", name), ("offset", offset), ("length", len(data))):
                t.external_data.add(key=key, value=str(value))
            offset += len(data)
    return copied
