"""ExportedProgram: a graph of aten ops, its state, and what is known about its inputs' sizes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import rushlight as torch
from rushlight._engine.core.pytree import Tree
from rushlight.export._draft_export import DraftExportReport
from rushlight.export.decomp_utils import CustomDecompTable
from rushlight.export.signature import ConstantArgument, ExportGraphSignature, InputKind
from rushlight.export.symbols import Sym, Symbol, ValueRanges
from rushlight.fx.conventions import _PyTreeCodeGen, _PyTreeInfo
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule, put

STATE = {InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR}


@dataclass
class ModuleCallSignature:
    """What a module was called with and returned: names of nodes, and the structures they had."""

    inputs: list[Any]
    outputs: list[Any]
    in_spec: Tree
    out_spec: Tree
    forward_arg_names: list[str] | None = None

    def replace_all_uses_with(self, original_node: Any, new_node: Any) -> None:
        """Another node's name in place of one."""
        for argument in (*self.inputs, *self.outputs):
            if argument.name == original_node.name:
                argument.name = new_node.name


@dataclass
class ModuleCallEntry:
    """A module that was called: its name ("" is the program itself), and what with where that is known."""

    fqn: str
    signature: ModuleCallSignature | None = None


def default_decompositions() -> CustomDecompTable:
    """The table of all ops that `run_decompositions` takes apart, to delete from, or to add functions to."""
    return CustomDecompTable()


class CallSpec(NamedTuple):
    """The structures of a program's inputs and of its outputs."""

    in_spec: Any
    out_spec: Any


class ExportedProgram:
    """What `export` returns: `graph_module`, whose inputs are the state and the caller's inputs, and its
    `graph_signature`; `module()` is the program as a module that is called like the one it came from.
    """

    dialect = "TRAINING"

    def __init__(
        self,
        graph_module: GraphModule,
        signature: ExportGraphSignature,
        state: dict[str, Any],
        constants: dict[str, Any],
        symbols: list[Symbol],
        in_spec: Tree,
        out_spec: Tree,
        forward_names: list[str],
        example_inputs: Any,
    ) -> None:
        self._graph_module, self._graph_signature = graph_module, signature
        self._state_dict, self._constants, self._symbols = state, constants, symbols
        self._in_spec, self._out_spec = in_spec, out_spec
        self._forward_names, self._example_inputs = forward_names, example_inputs
        self._report: DraftExportReport | None = None

    @property
    def graph_module(self) -> Any:
        """The graph, as a module."""
        return self._graph_module

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._graph_module.graph

    @property
    def graph_signature(self) -> Any:
        """What its inputs and outputs are."""
        return self._graph_signature

    @property
    def state_dict(self) -> Any:
        """Parameters and persistent buffers by name."""
        return self._state_dict

    @property
    def constants(self) -> Any:
        """Other tensors by name."""
        return self._constants

    tensor_constants = constants

    @property
    def example_inputs(self) -> Any:
        """The inputs that it was exported with."""
        return self._example_inputs

    @property
    def range_constraints(self) -> dict[str, ValueRanges]:
        """The bounds of sizes that may change."""
        return _Shown({s.name: s.range for s in self._symbols})

    @property
    def call_spec(self) -> Any:
        """The structures of the inputs and of the outputs."""
        return CallSpec(self._in_spec, self._out_spec)

    @property
    def module_call_graph(self) -> list[ModuleCallEntry]:
        """The program and the modules that were called in it, in the order of their first calls."""
        own = ModuleCallSignature([], [], self._in_spec, self._out_spec, list(self._forward_names))
        paths = dict.fromkeys(
            path for node in self.graph.nodes for path, _ in node.meta.get("nn_module_stack", {}).values()
        )
        return [ModuleCallEntry("", own), *(ModuleCallEntry(path) for path in paths if path)]

    def _held(self, kind: InputKind) -> Iterator[tuple[str, Any]]:
        for s in self.graph_signature.input_specs:
            if s.kind is kind:
                yield s.target, self._tensor(s.target)

    def _tensor(self, name: str) -> Any:
        return self._state_dict[name] if name in self._state_dict else self._constants[name]

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """(name, parameter) of each."""
        return self._held(InputKind.PARAMETER)

    def named_buffers(self) -> Iterator[tuple[str, Any]]:
        """(name, buffer) of each."""
        return self._held(InputKind.BUFFER)

    def parameters(self) -> Iterator[Any]:
        """The parameters."""
        return (t for _, t in self.named_parameters())

    def buffers(self) -> Iterator[Any]:
        """The buffers."""
        return (t for _, t in self.named_buffers())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """RuntimeError, as in PyTorch: `module()` gives what can be called."""
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def module(self, check_guards: bool = True) -> GraphModule:
        """The program as a module; calling it compares the inputs' sizes with what was exported."""
        made, values = Graph(), {}
        root = torch.nn.Module()
        specs = self.graph_signature.input_specs
        holders = [n for n in self.graph.nodes if n.op == "placeholder"]
        inputs = [(n, s) for n, s in zip(holders, specs, strict=True) if s.kind not in STATE]
        for node, spec in zip(holders, specs, strict=True):
            if spec.kind in STATE:
                put(root, spec.target, self._tensor(spec.target))
                if spec.persistent is False:
                    owner, _, last = spec.target.rpartition(".")
                    root.get_submodule(owner)._non_persistent_buffers_set.add(last)
                values[node] = made.get_attr(spec.target)
        for node, _ in inputs:
            values[node] = made.placeholder(node.target)
            values[node].name, values[node].meta = node.name, dict(node.meta)
        if check_guards:
            root._guards_fn = Guards(self)
            made.call_module("_guards_fn", tuple(values[n] for n, _ in inputs))
        made.output(made.graph_copy(self.graph, values))
        made._codegen = _PyTreeCodeGen(_PyTreeInfo(self._forward_names, self._in_spec, self._out_spec))
        root.__dict__.update(_in_spec=self._in_spec, _out_spec=self._out_spec)
        found = _ExportedModule(root, made, "GraphModule")
        found.__dict__.update(_in_spec=self._in_spec, _out_spec=self._out_spec)
        return found

    def run_decompositions(
        self, decomp_table: dict[Any, Any] | None = None, **options: Any
    ) -> ExportedProgram:
        """The program in smaller ops: composite ops as the rows that they consist of.

        decomp_table: functions for overloads that are used instead; an empty one takes nothing apart.
        """
        from rushlight.export.tracing import decomposed  # it imports this file

        return decomposed(self, decomp_table)

    def __str__(self) -> str:
        shown = self.graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        signature = str(self.graph_signature).replace("\n", "\n    ")
        return (
            f"ExportedProgram:\n    {shown}\nGraph signature: {signature}\n"
            f"Range constraints: {self.range_constraints}\n"
        )

    def __deepcopy__(self, memo: Any) -> ExportedProgram:
        made = copy.copy(self)
        made._graph_module = copy.deepcopy(self._graph_module, memo)
        made._state_dict, made._constants = copy.deepcopy((self._state_dict, self._constants), memo)
        return made


class _Shown(dict[str, ValueRanges]):
    """A dict whose keys are shown as the symbols that they name."""

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{key}: {value}' for key, value in self.items())}}}"


class _ExportedModule(GraphModule):
    """The module of an exported program: it was recorded in one mode, and stays in it."""

    def train(self, mode: bool = True) -> Any:
        """Refused, as by PyTorch."""
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self) -> Any:
        """Refused, as by PyTorch."""
        raise NotImplementedError("Calling eval() is not supported yet.")


class Guards(torch.nn.Module):
    """Compares inputs with what was exported. It holds plain tuples, which torch.compile can guard."""

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        specs, nodes = program.graph_signature.input_specs, program.graph.nodes
        self.inputs = tuple(
            _expected(s.arg, n) for s, n in zip(specs, nodes, strict=False) if s.kind not in STATE
        )
        self.ranges = tuple((name, *bounds) for name, bounds in program.range_constraints.items())

    def forward(self, *args: Any) -> None:
        """AssertionError for an input of another size, dtype or value."""
        sizes: dict[str, int] = {}
        for (name, dtype, expected), given in zip(self.inputs, args, strict=True):
            if dtype is None:
                _hold(given == expected, f"{name} == {expected!r}")
                continue
            _hold(isinstance(given, torch.Tensor), f"isinstance({name}, torch.Tensor)")
            _hold(given.dtype == dtype, f"{name}.dtype == {dtype}")
            _hold(given.dim() == len(expected), f"{name}.dim() == {len(expected)}")
            for d, wanted in enumerate(expected):
                self.one(f"{name}.size()[{d}]", given.shape[d], wanted, sizes)

    def one(self, name: str, size: int, wanted: Any, sizes: dict[str, int]) -> None:
        """Compare a size with a number, or with an expression of sizes."""
        bounds = next((bounds for bounds in self.ranges if bounds[0] == wanted), None)
        if bounds is None or wanted in sizes:
            # An expression of sizes that come later cannot be compared yet.
            known = not isinstance(wanted, str) or bool(sizes)
            _hold(
                not known or size == (Sym(wanted, 0).at(sizes) if isinstance(wanted, str) else wanted),
                f"{name} == {wanted}",
            )
            return
        _hold(size >= bounds[1], f"{name} >= {bounds[1]}")
        _hold(size <= bounds[2], f"{name} <= {bounds[2]}")
        sizes[wanted] = size


def _expected(arg: Any, node: Any) -> tuple[Any, ...]:
    if isinstance(arg, ConstantArgument):
        return arg.name, None, arg.value
    value = node.meta["val"]
    return arg.name, value.dtype, tuple(str(n) if isinstance(n, Sym) else n for n in value.shape)


def _hold(true: bool, what: str) -> None:
    if not true:
        raise AssertionError(f"Guard failed: {what}")
