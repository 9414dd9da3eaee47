"""ExportedProgram: a graph of aten ops, its state, and what is known about its inputs' sizes."""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import rushlight as torch
from rushlight._engine.core.pytree import Tree, flatten
from rushlight.export._draft_export import DraftExportReport
from rushlight.export._tree_utils import in_order, reorder_kwargs
from rushlight.export.decomp_utils import CustomDecompTable
from rushlight.export.functional import copied_back
from rushlight.export.numbers.expressions import Atom, Expr, Relation, number, parsed, symbol
from rushlight.export.numbers.symbolic import SIZES
from rushlight.export.recording.module_inputs import modules_as_inputs
from rushlight.export.signature import ConstantArgument, ExportGraphSignature, InputKind
from rushlight.export.symbols import UNBOUNDED, Dim, Place, Symbol, ValueRanges
from rushlight.fx.conventions import CodeGen, _PyTreeCodeGen, _PyTreeInfo
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule, put
from rushlight.fx.interpreter import Interpreter
from rushlight.fx.node import Node
from rushlight.fx.passes.infra.pass_manager import PassManager
from rushlight.fx.traceback import NodeSource, NodeSourceAction, preserve_node_meta

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

    _calls: list[ModuleCallEntry] | None
    _verifiers: list[type[Any]]

    def __init__(
        self,
        root: Any,
        graph: Graph,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Any],
        range_constraints: dict[Any, Any],
        module_call_graph: list[ModuleCallEntry],
        example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
        constants: dict[str, Any] | None = None,
        *,
        verifiers: list[type[Any]] | None = None,
    ) -> None:
        """A program of a graph whose inputs and outputs `graph_signature` tells.

        root: holds what the graph's get_attr nodes name. range_constraints: bounds of sizes, by symbol.
        module_call_graph: the first entry's signature has the structures of inputs and outputs. verifiers:
        classes that look the program over. SpecViolationError where something is not as it must be.
        """
        graph._codegen = CodeGen()
        own = module_call_graph[0].signature
        if own is None:
            raise AssertionError("the first entry of module_call_graph has no signature")
        made = GraphModule(root, graph, "GraphModule")
        if isinstance(root, GraphModule):
            made.meta.update(root.meta)
        self._set(
            made,
            graph_signature,
            state_dict,
            constants or {},
            _symbols_of(range_constraints, graph, graph_signature),
            own.in_spec,
            own.out_spec,
            list(own.forward_arg_names or ()),
            example_inputs,
        )
        self._calls = list(module_call_graph)
        self._verifiers = verifiers or [torch._export.verifier.Verifier]
        self.validate()

    @classmethod
    def of(cls, *fields: Any) -> ExportedProgram:
        """A program of what was recorded or read: see `_set`."""
        made = cls.__new__(cls)
        made._set(*fields)
        return made

    def _set(
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
        self._ranges: dict[Any, ValueRanges] | None = None
        self._report: DraftExportReport | None = None
        # The modules that were called, where they are not told by the nodes.
        self._calls = None
        self._verifiers = [torch._export.verifier.TrainingIRVerifier]
        # Relations of sizes that decided what the program did, and are no bounds.
        self._guards: list[Relation] = []
        # Whether the graph asserts such relations, so far as it can.
        self._deferred = False

    @property
    def verifiers(self) -> list[type[Any]]:
        """The classes that look the program over."""
        return self._verifiers

    @property
    def verifier(self) -> type[Any]:
        """The first of them."""
        return self._verifiers[0]

    @property
    def dialect(self) -> str:
        """The ops that the program may have: TRAINING, or ATEN without writes."""
        return str(self.verifier.dialect)

    def validate(self) -> None:
        """SpecViolationError where graph, signature and state do not fit one another."""
        for verifier in self._verifiers:
            verifier().check(self)

    _validate = validate

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
        """The inputs that it was exported with; others may be set, a pair of a tuple and a dict of keywords
        that have the program's structure, or None. ValueError for another.
        """
        return self._example_inputs

    @example_inputs.setter
    def example_inputs(self, value: Any) -> None:
        if value is not None:
            if not (
                isinstance(value, tuple)
                and len(value) == 2
                and isinstance(value[0], tuple)
                and isinstance(value[1], dict)
            ):
                raise ValueError(
                    "Example inputs should be a tuple containing example arguments (as a tuple), and example "
                    "kwargs (as a dictionary)."
                )
            value = value[0], reorder_kwargs(value[1], self._in_spec)
            if flatten(value)[1] != self._in_spec:
                raise ValueError(_of_another_structure(self._in_spec, value))
        self._example_inputs = value

    def _update(
        self,
        graph_module: Any,
        graph_signature: Any,
        *,
        state_dict: Any = None,
        constants: Any = None,
        verifiers: Any = None,
    ) -> ExportedProgram:
        """The program with another graph and signature, and with another state where that is given."""
        made = copy.copy(self)
        made._graph_module, made._graph_signature = graph_module, graph_signature
        _each_item_once(graph_module, graph_signature)
        made._state_dict = self._state_dict if state_dict is None else state_dict
        made._constants = self._constants if constants is None else constants
        made._verifiers = self._verifiers if verifiers is None else verifiers
        return made

    @property
    def range_constraints(self) -> dict[Any, ValueRanges]:
        """The bounds of sizes that may change, by symbol."""
        if self._ranges is None:
            self._ranges = {
                parsed(text): bounds for s in self._symbols for text, bounds in s.ranges().items()
            }
        return self._ranges

    @property
    def call_spec(self) -> Any:
        """The structures of the inputs and of the outputs."""
        return CallSpec(self._in_spec, self._out_spec)

    @property
    def module_call_graph(self) -> list[ModuleCallEntry]:
        """The program and the modules that were called in it, in the order of their first calls."""
        if self._calls is not None:
            return self._calls
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
        for name, held in self.graph_module.named_children():
            put(root, name, held)
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
        named = {(s.target or n.name): n for n, s in zip(holders, specs, strict=True)}
        results = made.graph_copy(self.graph, values)
        _sources(values)
        made.output(copied_back(self, made, results, lambda name: values[named[name]]))
        made._codegen = _PyTreeCodeGen(_PyTreeInfo(self._forward_names, self._in_spec, self._out_spec))
        root.__dict__.update(_in_spec=self._in_spec, _out_spec=self._out_spec)
        found = ExportedModule(root, made, "GraphModule")
        found.meta.update(self.graph_module.meta)
        for spec in specs:
            owner, _, last = (spec.target or "").rpartition(".")
            if spec.kind in STATE and spec.persistent is False:
                found.get_submodule(owner)._non_persistent_buffers_set.add(last)
            if spec.kind is InputKind.CONSTANT_TENSOR:  # an attribute, and no buffer
                holder = found.get_submodule(owner)
                holder.__dict__[last] = holder._buffers.pop(last)
        found.__dict__.update(_in_spec=self._in_spec, _out_spec=self._out_spec)
        return found

    def run_decompositions(
        self, decomp_table: dict[Any, Any] | None = None, **options: Any
    ) -> ExportedProgram:
        """The program in smaller ops: composite ops as the rows that they consist of.

        decomp_table: functions for overloads that are used instead; an empty one takes nothing apart.
        """
        from rushlight.export.tracing import decomposed  # it imports this file

        with modules_as_inputs(self._example_inputs):
            return decomposed(self, decomp_table)

    def _transform_do_not_use(self, *passes: Any) -> ExportedProgram:
        """The program after passes over its graph module (see torch.fx.passes.infra); itself where none
        changes anything.
        """
        found = PassManager(list(passes))(self.graph_module)
        if found.graph_module is self.graph_module and not found.modified:
            return self
        signature = copy.deepcopy(self.graph_signature)
        graph: Graph = found.graph_module.graph
        holders = [n for n in graph.nodes if n.op == "placeholder"]
        for node, spec in zip(holders, signature.input_specs, strict=False):
            spec.arg.name = node.name
        for value, out in zip(graph.output_node().args[0], signature.output_specs, strict=False):
            if not isinstance(out.arg, ConstantArgument):
                out.arg.name = value.name
        return self._update(found.graph_module, signature)

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


def _each_item_once(module: GraphModule, signature: Any) -> None:
    """One node for each item of an op's results, however often it is asked for."""
    first: dict[Any, Any] = {}
    gone = False
    for node in list(module.graph.nodes):
        if node.op != "call_function" or node.target is not operator.getitem:
            continue
        whole, item = node.args
        if not (isinstance(whole, Node) and isinstance(item, int)):
            continue
        known = first.setdefault((whole, item), node)
        if known is not node:
            gone = True
            node.replace_all_uses_with(known)
            module.graph.erase_node(node)
            signature.replace_all_uses(node.name, known.name)
    if gone:
        module.recompile()


def placed(known: list[Symbol], nodes: list[Any]) -> list[Symbol]:
    """The symbols, told which dimensions of the caller's inputs they are; nodes: these inputs."""
    for leaf, node in enumerate(nodes):
        for d, value in enumerate(getattr(node.meta.get("val"), "shape", ())):
            for own in known:
                if isinstance(value, SIZES) and value.expression == own.name:
                    own.places[Place(leaf, d)] = lambda x: x
                    own.hint = max(value.hint, own.hint)
    return known


def _symbols_of(ranges: dict[Any, Any], graph: Graph, signature: ExportGraphSignature) -> list[Symbol]:
    """The symbols of sizes whose bounds are told by name."""
    known = []
    for name, bounds in ranges.items():
        if not str(name).isidentifier():
            continue  # of what follows another symbol
        high, open_below = bounds.upper, bounds.lower == -UNBOUNDED
        low = 0 if open_below else int(bounds.lower)
        given = Dim(str(name), min=low, max=None if high == UNBOUNDED else max(int(high), low + 1))
        made = Symbol(str(name), 2, given)
        if open_below:
            made.low = -UNBOUNDED
        known.append(made)
    holders = [n for n in graph.nodes if n.op == "placeholder"]
    specs = zip(holders, signature.input_specs, strict=False)
    return placed(known, [n for n, s in specs if s.kind not in STATE])


def _of_another_structure(wanted: Any, given: Any) -> str:
    return (
        f"Trying to flatten user inputs with exported input tree spec: \n{wanted}\nbut actually got "
        f"inputs with tree spec of: \n{flatten(given)[1]}.\nPlease check that the inputs "
        "have the same number and type of args and kwargs as the ones you used when tracing."
    )


def _sources(values: dict[Node, Node]) -> None:
    """Note at the nodes of a program's module which node of the program each was."""
    create, replace = NodeSourceAction.CREATE, NodeSourceAction.REPLACE
    for old, new in values.items():
        source = NodeSource(old, "ExportedProgram.module()", create)
        if new.op == "get_attr" and old.op == "placeholder":
            lifted, source = source, NodeSource(old, "ExportedProgram.module().unlift()", [create, replace])
            source.from_node = [lifted]
        new.meta["from_node"] = [source]


class ExportedModule(GraphModule):
    """The module of an exported program: it was recorded in one mode, and stays in it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The program's result; ValueError for arguments of another structure."""
        wanted: Any = self.__dict__["_in_spec"]
        if not kwargs and not wanted.child(1).num_leaves and len(args) != len(wanted.child(0).children()):
            raise ValueError(_of_another_structure(wanted, (args, kwargs)))
        with modules_as_inputs((args, kwargs)):
            return super().__call__(*in_order(args, wanted.child(0)), **kwargs)

    def node_by_node(self, *args: Any, **kwargs: Any) -> Any:
        """The same, for those who write down what runs: they hear of each node (fx.traceback)."""
        leaves = flatten(
            (args, {k: kwargs[k] for k in self.__dict__["_in_spec"].child(1).keys if k in kwargs})
        )[0]
        with preserve_node_meta():
            found = _Noting(self, self.results).run(*leaves, enable_io_processing=False)
        return self.__dict__["_out_spec"].unflatten(found)

    @property
    def results(self) -> dict[str, Any]:
        """What nodes gave in a call node by node, by their names, while it is asked for."""
        found: dict[str, Any] = self.__dict__.setdefault("_results", {})
        return found

    def train(self, mode: bool = True) -> Any:
        """Refused, as by PyTorch."""
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self) -> Any:
        """Refused, as by PyTorch."""
        raise NotImplementedError("Calling eval() is not supported yet.")


class _Noting(Interpreter):
    """An Interpreter that keeps what nodes give."""

    def __init__(self, module: Any, results: dict[str, Any]) -> None:
        super().__init__(module)
        self.results = results

    def run_node(self, n: Any) -> Any:
        """The node's value."""
        found = self.results[n.name] = super().run_node(n)
        return found


class Guards(torch.nn.Module):
    """Compares inputs with what was exported. It holds plain tuples, which torch.compile can guard."""

    _is_impure = True  # a call of it stays though nobody reads it

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        specs, nodes = program.graph_signature.input_specs, program.graph.nodes
        self.inputs = tuple(
            _expected(s.arg, n) for s, n in zip(specs, nodes, strict=False) if s.kind not in STATE
        )
        self.ranges = tuple((s.name, s.low, s.high) for s in program._symbols if s.places)
        self.relations = tuple(program._guards)

    def forward(self, *args: Any) -> None:
        """AssertionError for an input of another size or value."""
        sizes: dict[str, int] = {}
        sources: dict[str, str] = {}
        solved: dict[str, Expr] = {}
        later: list[tuple[str, int, Expr]] = []
        for (name, kind, expected), given in zip(self.inputs, args, strict=True):
            if kind is None and isinstance(expected, torch.nn.Module):
                _hold(type(given) is type(expected), f"type({name}) == {type(expected).__name__}")
            elif kind is None:
                _hold(given is expected or given == expected, f"{name} == {expected!r}")
            elif kind is int:
                later += self.one(name, given, expected, sizes, sources)
            else:
                _hold(isinstance(given, torch.Tensor), f"isinstance({name}, torch.Tensor)")
                _hold(given.dim() == len(expected), f"{name}.dim() == {len(expected)}")
                for d, wanted in enumerate(expected):
                    later += self.one(f"{name}.size()[{d}]", given.shape[d], wanted, sizes, sources)
        for name, size, wanted in later:
            if not wanted.free() <= sizes.keys():
                solved |= _solve(name, size, wanted, sizes, sources)
        self.bounds(later, sizes, sources)
        told: dict[Any, str] = {}
        for name, size, wanted in later:
            _hold(
                size == wanted.at(sizes),
                _equal_text(name, wanted, sources, solved, told.setdefault(wanted, name)),
            )
        for relation in self.relations:
            if relation.free() <= sizes.keys() and not relation.parts:
                left, right = guard_text(relation.left, sources), guard_text(relation.right, sources)
                _hold(relation.at(sizes), f"{left} {relation.sign} {right}")

    def bounds(
        self, later: list[tuple[str, int, Expr]], sizes: dict[str, int], sources: dict[str, str]
    ) -> None:
        """Compare sizes with their bounds: those that follow others, too."""
        lowest = {name: low for name, low, _ in self.ranges}
        highest = {name: high for name, _, high in self.ranges}
        told = [(sources[name], size, symbol(name)) for name, size in sizes.items()]
        for name, size, wanted in [*later, *told]:
            if wanted.free() <= lowest.keys():
                ends = wanted.at(lowest), wanted.at(highest)
                _hold(size >= min(ends) or min(ends) <= 2, f"{name} >= {min(ends)}")
                _hold(size <= max(ends), f"{name} <= {max(ends)}")

    def one(
        self, name: str, size: int, wanted: Any, sizes: dict[str, int], sources: dict[str, str]
    ) -> list[tuple[str, int, Expr]]:
        """Compare a size with a number; note it as a symbol's where it is one; else it is compared later."""
        if not isinstance(wanted, str):
            _hold(size == wanted, f"{name} == {wanted}")
            return []
        if wanted.isidentifier() and wanted not in sizes:
            sizes[wanted], sources[wanted] = size, name
            for own, low, high in self.ranges:
                if own == wanted:
                    # As in PyTorch: 2 is where programs were recorded, and no bound of what they take.
                    _hold(size >= low or low <= 2, f"{name} >= {low}")
                    _hold(size <= high, f"{name} <= {high}")
            return []
        return [(name, size, parsed(wanted))]


def _equal_text(name: str, wanted: Expr, sources: dict[str, str], solved: dict[str, Expr], first: str) -> str:
    """That a size is what others say, in the words of a guard. first: a size that is the same."""
    if first != name:
        return f"{name} == {first}" if " " not in first else f"{first} == {name}"
    whole = wanted.put(solved)
    plus = whole.terms.get((), 0)
    alone = whole - number(plus)
    if plus and set(alone.terms.values()) == {1}:
        return f"{guard_text(alone, sources)} == {-plus} + {name}"
    right = guard_text(whole, sources)
    return f"{right} == {name}" if " " in right else f"{name} == {right}"


def _solve(
    name: str, size: int, wanted: Expr, sizes: dict[str, int], sources: dict[str, str]
) -> dict[str, Expr]:
    """The one symbol of an input's size that no input has itself; it, told by that size if it is a sum."""
    (own,) = wanted.free()
    plus = wanted.at({own: 0})
    by = wanted.at({own: 1}) - plus
    told = f"{-plus} + {name}" if plus else name
    _hold((size - plus) % by == 0, f"{f'({told})' if plus else told} % {by} == 0")
    sizes[own], sources[own] = (size - plus) // by, f"({told}) // {by}" if by != 1 else told
    return {own: symbol(name) - number(plus)} if by == 1 else {}


def guard_text(expr: Expr, sources: dict[str, str]) -> str:
    """An expression in the words of a guard: the number first, inputs for symbols."""
    parts = []
    for product, count in sorted(expr.terms.items(), key=lambda item: (item[0] != (), str(item[0]))):
        factors = [_atom_text(a, sources) for a in product]
        if count != 1 or not product:
            factors.insert(0, str(count))
        parts.append(" * ".join(map(_bracketed, factors) if len(factors) > 1 else factors))
    return " + ".join(parts) or "0"


def _atom_text(atom: Atom, sources: dict[str, str]) -> str:
    if not atom.args:
        return sources.get(atom.op, atom.op)
    shown = [guard_text(a, sources) for a in atom.args]
    sign = {"Mod": "%", "PythonMod": "%", "FloorDiv": "//"}.get(atom.op)
    if sign is None:
        return f"{atom.op}({', '.join(shown)})"
    return f" {sign} ".join(map(_bracketed, shown))


def _bracketed(text: str) -> str:
    return f"({text})" if " " in text else text


def _expected(arg: Any, node: Any) -> tuple[Any, ...]:
    name = node.meta.get("source", arg.name)
    if isinstance(arg, ConstantArgument):
        return name, None, arg.value
    value = node.meta["val"]
    if isinstance(value, SIZES):
        return name, int, value.expression
    return name, value.dtype, tuple(n.expression if isinstance(n, SIZES) else n for n in value.shape)


def _hold(true: bool, what: str) -> None:
    if not true:
        raise AssertionError(f"Guard failed: {what}")
