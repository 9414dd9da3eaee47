"""torch.export.unflatten: an exported program as modules with the submodules that it came from.

Nodes say which modules' forwards they were recorded in (`nn_module_stack`); neighbours of one module become
its graph, with what they use from outside as inputs. What has no such note (a program that was decomposed or
loaded) stays in the outermost graph.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import rushlight as torch
from rushlight._engine.core.pytree import Tree, flatten
from rushlight.export.functional import copied_back
from rushlight.export.overloads import Overload
from rushlight.export.program import STATE, ExportedProgram, Guards
from rushlight.export.signature import InputKind
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule, put
from rushlight.fx.interpreter import Interpreter
from rushlight.fx.node import Node, map_aggregate


class FlatArgsAdapter(abc.ABC):
    """Turns the arguments of a call, flat, into those that a program was exported with."""

    @abc.abstractmethod
    def adapt(
        self,
        target_spec: Tree,
        input_spec: Tree,
        input_args: list[Any],
        metadata: dict[str, Any] | None = None,
        obj: Any | None = None,
    ) -> list[Any]:
        """The arguments in the order of `target_spec`, of those that came as `input_spec`."""

    def get_flat_arg_paths(self) -> list[str]:
        """The names of the arguments that it gives; none by default."""
        return []


class Kept(NamedTuple):
    """What a module is called with and gives, as nodes, and their structures."""

    inputs: list[Any]
    outputs: list[Any]
    in_spec: Tree
    out_spec: Tree


class InterpreterModule(torch.nn.Module):
    """A submodule: its state, and a graph of its own that runs on tensors (no containers)."""

    def __init__(self) -> None:
        super().__init__()
        self.graph = Graph()
        self.calls: dict[str, int] = {}
        self._type: str | None = None
        # What it is called with, where that was to be kept.
        self.signature: Any = None

    def type_name(self) -> str | None:
        """The type of the module that it was."""
        return self._type

    def finalize(self) -> None:
        """Nothing is left to do."""

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
    ) -> str:
        """The graph as code, with what is known about its tensors."""
        shown: str = GraphModule(self, self.graph, "GraphModule").print_readable(print_output=print_output)
        return shown

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The graph's result. TypeError for arguments of another structure than was kept."""
        leaves = list(args)
        if self.signature is not None:
            leaves, spec = flatten((args, kwargs))
            if spec != self.signature.in_spec:
                raise TypeError(f"Expected the structure {self.signature.in_spec}, got {spec}.")
        found = Interpreter(self, graph=self.graph).run(*leaves, enable_io_processing=False)
        return found if self.signature is None else self.signature.out_spec.unflatten(found)


class InterpreterModuleDispatcher(torch.nn.Module):
    """A submodule that is called several times and does something else each time: the graphs of its calls, in
    their order.
    """

    def __init__(self, calls: Sequence[Any]) -> None:
        super().__init__()
        self.__dict__["calls"], self.done = list(calls), 0
        for call in dict.fromkeys(calls):
            _adopt(self, call)

    def type_name(self) -> str | None:
        """The type of the module that it was."""
        found: str | None = self.call_modules()[0].type_name()
        return found

    def call_modules(self) -> list[Any]:
        """The modules of its calls."""
        return list(self.__dict__["calls"])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the next call; after the last one, and after one that fails, it begins anew."""
        calls = self.call_modules()
        now, self.done = calls[self.done], (self.done + 1) % len(calls)
        try:
            return now(*args, **kwargs)
        except Exception:
            self.done = 0
            raise


class UnflattenedModule(InterpreterModule):
    """What `unflatten` returns: called like the module that was exported, with submodules of the same names.

    TypeError for arguments of another structure where no adapter translates them; AssertionError for other
    sizes or dtypes than were exported.
    """

    def __init__(
        self, export_module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None
    ) -> None:
        super().__init__()
        program = export_module
        self.flat_args_adapter, self.adapted = flat_args_adapter, False
        self.graph_signature, self.module_call_graph = program.graph_signature, program.module_call_graph
        self._in_spec, self._out_spec = program._in_spec, program._out_spec
        self.meta: dict[str, Any] = dict(program.graph_module.meta)
        outline = _Outline(program)
        self.graph = outline.of_program(self)
        _dispatched(self, {path.partition("@")[0] for path in outline.kept})
        for name in dict.fromkeys([*program.state_dict, *outline.state.values()]):
            put(self, name, outline.tensor(name))
            outline.mark(self, name)
        self.__dict__["_guards_fn"] = Guards(program)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The program's result."""
        leaves, spec = flatten((args, self._ordered(kwargs)))
        if spec != self._in_spec:
            if self.flat_args_adapter is None:
                raise TypeError(
                    "There is no flat args adapter specified. Are you sure you are calling this with the "
                    f"right arguments? Expected the structure {self._in_spec}, got {spec}."
                )
            leaves = self.flat_args_adapter.adapt(self._in_spec, spec, leaves, None, self)
            if len(leaves) != self._in_spec.num_leaves:
                raise TypeError(
                    f"Flat args adapter failed: expected {self._in_spec.num_leaves} arguments, got "
                    f"{len(leaves)}"
                )
        self._guards_fn(*leaves)
        found = Interpreter(self, graph=self.graph).run(*leaves, enable_io_processing=False)
        return self._out_spec.unflatten(found)

    def _ordered(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments in the order in which they were exported."""
        known = self._in_spec.child(1).keys or ()
        return {name: kwargs[name] for name in known if name in kwargs} | kwargs


def unflatten(module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None) -> UnflattenedModule:
    """The program as a module with the submodules that it came from, each with its part of the graph.

    flat_args_adapter: translates arguments of another structure.
    """
    return UnflattenedModule(module, flat_args_adapter)


class _Outline:
    """A program's nodes, by the modules that they were recorded in."""

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program
        self.copies: dict[int, Any] = {}
        graph = Graph()
        graph.output(graph.graph_copy(program.graph, {}))
        nodes = list(graph.nodes)
        specs = program.graph_signature.input_specs
        holders = [n for n in nodes if n.op == "placeholder"]
        self.state = {n: s.target for n, s in zip(holders, specs, strict=True) if s.kind in STATE}
        self.named = {(s.target or n.name): n for n, s in zip(holders, specs, strict=True)}
        self.inputs = [n for n in holders if n not in self.state]
        self.body = [n for n in nodes if n.op not in ("placeholder", "output")]
        self.results = graph.output_node().args[0]
        for node in self.body:
            # State that was written to is what the state is, for all modules.
            if (
                isinstance(node.target, Overload)
                and node.target._schema.writes
                and node.args[0] in self.state
            ):
                node.replace_all_uses_with(node.args[0])
        self.by_name = {n.name: n for n in nodes}
        self.kept = {e.fqn: e.signature for e in program.module_call_graph if e.fqn and e.signature}
        self.temporary = {s.target for s in specs if s.kind is InputKind.BUFFER and s.persistent is False}

    def tensor(self, name: str) -> Any:
        """The state of a name: a copy of the program's, the same for the same tensor."""
        own = self.program._tensor(name)
        if id(own) not in self.copies:
            copy = own.detach().clone()
            parameter = isinstance(own, torch.nn.Parameter)
            self.copies[id(own)] = torch.nn.Parameter(copy, own.requires_grad) if parameter else copy
        return self.copies[id(own)]

    def of_program(self, root: InterpreterModule) -> Graph:
        """The outermost graph; `root` gets the submodules."""
        self.fill(root, "", 0, self.body, self.inputs, self.results)
        return root.graph

    def fill(
        self,
        module: InterpreterModule,
        path: str,
        depth: int,
        body: Sequence[Node],
        inputs: Any,
        results: Any,
    ) -> None:
        """Write a module's graph: `body` by these inputs, giving these results."""
        made, values = module.graph, {}
        for i, node in enumerate(inputs):
            holder = made.placeholder(node.name if isinstance(node, Node) else f"arg_{i}")
            if isinstance(node, Node) and node not in values:
                values[node] = holder
                holder.meta = dict(node.meta)

        def value(node: Node) -> Node:
            if node not in values:
                name = self.state[node].removeprefix(f"{path}." if path else "")
                put(module, name, self.tensor(self.state[node]))
                self.mark(module, name, self.state[node])
                values[node] = made.get_attr(name)
            return values[node]

        for child, group in groupby(body, lambda node: _below(node, path, depth)):
            nodes = list(group)
            if child is None:
                for node in nodes:
                    if node.op == "get_attr":
                        put(module, node.target, self.program.graph_module.get_submodule(node.target))
                    values[node] = made.node_copy(node, value)
                continue
            self._call(module, path, child, depth, nodes, values, value)
        found = map_aggregate(results, lambda a: value(a) if isinstance(a, Node) else a)
        if not path:
            found = copied_back(self.program, made, found, lambda name: value(self.named[name]))
        made.output(found)

    def _call(
        self,
        module: InterpreterModule,
        above: str,
        child: tuple[str, str],
        depth: int,
        nodes: Any,
        values: Any,
        value: Any,
    ) -> None:
        """Write the call of a submodule, and note what its results are in `values`."""
        made, inside = module.graph, set(nodes)
        uses = self._used(nodes, child[1])
        gives = [n for n in nodes if any(user not in inside for user in n.users)]
        noted = _shared_notes(nodes)
        kept = self._signature(child[0], uses, gives)
        called = self._child(module, above, child, depth, nodes, uses, gives, kept)
        if kept is None:
            call = made.call_module(called, tuple(map(value, uses)))
            results = list(enumerate(gives)) if len(gives) > 1 else []
            values |= dict.fromkeys(gives, call)
        else:
            given = [value(n) if isinstance(n, Node) else n for n in kept.inputs]
            call = made.call_module(called, *kept.in_spec.unflatten(given))
            results = [(i, n) for i, n in enumerate(kept.outputs) if n in gives]
            for n in gives:
                if n not in kept.outputs:  # one of its inputs, that it has written into
                    values[n] = value(_itself(n, kept.outputs, kept.inputs))
        call.meta.update({"custom": noted} if noted else {})
        for i, node in results:
            values[node] = made.call_function(_item if kept is None else _leaf, (call, i))
        for node in gives:
            values[node].meta |= {k: v for k, v in node.meta.items() if k != "custom" or not noted}

    def _signature(self, name: str, uses: Any, gives: Any) -> Any:
        """What is kept of a call: its inputs and outputs as nodes; None where there is nothing, or where it
        is not all that the module uses and gives.
        """
        told = self.kept.get(name)
        if told is None or not all(map(_is_plain, (told.in_spec, told.out_spec))):
            return None
        inputs, outputs = (
            [self.by_name.get(a.name) if a.name else a.value for a in told_of]
            for told_of in (told.inputs, told.outputs)
        )
        if not {_itself(n, outputs, inputs) for n in gives} <= {
            n for n in (*inputs, *outputs) if isinstance(n, Node)
        }:
            return None
        if not set(uses) <= {n for n in inputs if isinstance(n, Node)}:
            return None
        return Kept(inputs, outputs, told.in_spec, told.out_spec)

    def _child(
        self,
        module: InterpreterModule,
        above: str,
        child: tuple[str, str],
        depth: int,
        nodes: Any,
        uses: Any,
        gives: Any,
        kept: Any,
    ) -> str:
        """The submodule for a call: that of an earlier call which did the same, or a new one."""
        own, (called, path) = InterpreterModule(), child
        name = path.removeprefix(f"{above}." if above else "")
        own._type = next(
            (kind for n in nodes for where, kind in n.meta["nn_module_stack"].values() if where == path), None
        )
        own.signature = kept
        if kept is not None:
            self.fill(own, path, depth + 1, nodes, kept.inputs, tuple(kept.outputs))
        else:
            self.fill(own, path, depth + 1, nodes, uses, gives[0] if len(gives) == 1 else tuple(gives))
        told = called.partition("@")[2]  # which call it is of a module that is called elsewhere, too
        count = max(module.calls.get(name, 0), int(told) if told.isdigit() and not above else 0)
        module.calls[name] = count + 1
        for earlier in range(count):
            known = _there(module, _call_name(name, earlier))
            if known is not None and _alike(known, own):
                return _call_name(name, earlier)
        held = _there(module, _call_name(name, count))
        if held is not None:  # modules within it were called on their own
            _adopt(own, held)
        put(module, _call_name(name, count), own)
        return _call_name(name, count)

    def _used(self, nodes: Sequence[Node], path: str) -> list[Node]:
        """What nodes use from outside, but for the state of their own module."""
        inside = set(nodes)
        used = dict.fromkeys(used for node in nodes for used in node.all_input_nodes if used not in inside)
        return [n for n in used if not self.state.get(n, "").startswith(f"{path}.")]

    def mark(self, module: Any, name: str, whole: str | None = None) -> None:
        """A buffer that is not in the state dict is not in the new one either."""
        if (whole or name) in self.temporary:
            owner, _, last = name.rpartition(".")
            module.get_submodule(owner)._non_persistent_buffers_set.add(last)


def _dispatched(whole: Any, kept: set[str]) -> None:
    """Make one module of those that are the calls of one whose signature was kept."""
    for above, module in list(whole.named_modules()):
        if not isinstance(module, InterpreterModule):
            continue
        calls: dict[str, list[Node]] = {}
        for node in module.graph.find_nodes(op="call_module"):
            calls.setdefault(node.target.partition("@")[0], []).append(node)
        for name, nodes in calls.items():
            targets = dict.fromkeys(node.target for node in nodes)
            if f"{above}.{name}".lstrip(".") not in kept or len(targets) < 2:
                continue
            dispatcher = InterpreterModuleDispatcher([module.get_submodule(n.target) for n in nodes])
            for target in targets:
                owner, _, last = target.rpartition(".")
                delattr(module.get_submodule(owner), last)
            put(module, name, dispatcher)
            for node in nodes:
                node.target = name


def _shared_notes(nodes: Sequence[Node]) -> dict[str, Any]:
    """What the program noted at all nodes alike, which is noted at the call of their module instead."""
    first, *others = [node.meta.get("custom") or {} for node in nodes]
    shared = {k: v for k, v in first.items() if all(k in own and own[k] == v for own in others)}
    for node in nodes if shared else ():
        rest = {k: v for k, v in node.meta["custom"].items() if k not in shared}
        node.meta = {**node.meta, "custom": rest}
    return shared


def _there(module: Any, name: str) -> Any:
    """A submodule; None where there is none."""
    for part in name.split("."):
        module = getattr(module, part, None)
    return module if isinstance(module, torch.nn.Module) else None


def _adopt(own: Any, other: Any) -> None:
    """Give a module the state and the submodules of another one, beside its own."""
    for name, t in other.named_parameters(recurse=False):
        own.register_parameter(name, t)
    for name, t in other.named_buffers(recurse=False):
        own.register_buffer(name, t, persistent=name not in other._non_persistent_buffers_set)
    for name, child in other.named_children():
        mine = getattr(own, name, None)
        if mine is None:
            setattr(own, name, child)
        elif isinstance(child, InterpreterModule) and not isinstance(mine, InterpreterModule):
            _adopt(child, mine)
            setattr(own, name, child)
        elif mine is not child:
            _adopt(mine, child)


def _itself(node: Any, outputs: Sequence[Any], inputs: Sequence[Any]) -> Any:
    """The input of a module that a node is: one that is written into, or converted to what it is."""
    while node not in outputs and node not in inputs and isinstance(node.target, Overload):
        first = node.args[0] if node.args else None
        name = node.target._schema.op_name
        told = [getattr(n, "meta", {}).get("val") for n in (node, first)]
        same = (
            name == "to" and len({(getattr(v, "dtype", v), str(getattr(v, "device", v))) for v in told}) == 1
        )
        if not isinstance(first, Node) or not (same or (node.target._schema.writes and name.endswith("_"))):
            return node
        node = first
    return node


def _leaf(values: Any, index: int) -> Any:
    """One of the tensors of a result of any structure."""
    return flatten(values)[0][index]


def _item(values: Any, index: int) -> Any:
    """One of several results."""
    return values[index]


def _call_name(name: str, count: int) -> str:
    return f"{name}@{count}" if count else name


def _below(node: Node, path: str, depth: int) -> tuple[str, str] | None:
    """The call of a module below that of `path` that a node was recorded in, and the module's path; None of
    the module's own nodes.
    """
    noted = node.meta.get("nn_module_stack", {}).items()
    stack = [(key.removeprefix("L__self__"), where) for key, (where, _) in noted if where]
    below = stack[depth] if len(stack) > depth else None
    return below if below is not None and below[1].startswith(f"{path}." if path else "") else None


def _is_plain(spec: Any) -> bool:
    """Whether a structure is of what nodes may have as arguments."""
    if spec.is_leaf():
        return True
    return spec.type in (tuple, list, dict) and all(map(_is_plain, spec.children()))


def _alike(a: Any, b: Any) -> bool:
    """Whether two modules have the same graph and state, whatever their nodes are called."""
    return bool(_shape(a) == _shape(b))


def _shape(module: Any) -> Any:
    if not isinstance(module, InterpreterModule):
        return type(module)
    number = {node: i for i, node in enumerate(module.graph.nodes)}
    found = []
    for node in module.graph.nodes:
        given = map_aggregate(
            (node.args, node.kwargs), lambda a: f"%{number[a]}" if isinstance(a, Node) else a
        )
        target = "" if node.op == "placeholder" else node.target
        held = _shape(module.get_submodule(target)) if node.op == "call_module" else None
        found.append((node.op, target, repr(given), held))
    return found
