"""Graphs: nodes in order, made, moved and erased by methods."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight.fx import names
from rushlight.fx.codegen import PythonCode, python_code
from rushlight.fx.conventions import CodeGen, _PyTreeCodeGen, _PyTreeInfo
from rushlight.fx.node import Node, map_arg

__all__ = ["CodeGen", "Graph", "_PyTreeCodeGen", "_PyTreeInfo"]


class NodeList:
    """The nodes of a graph, in order; they may be erased and added while one iterates."""

    def __init__(self, nodes: list[Node], step: int = 1) -> None:
        self._nodes, self._step = nodes, step

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Node]:
        return (node for node in self._nodes[:: self._step] if not node._erased)

    def __reversed__(self) -> NodeList:
        return NodeList(self._nodes, -self._step)

    def __contains__(self, node: object) -> bool:
        return node in self._nodes


class Graph:
    """A program as nodes; `print(graph)` shows them, a GraphModule runs them."""

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        self._nodes: list[Node] = []
        self._insert_at: tuple[Node, int] | None = None
        self._namespace = names.Namespace()
        self.owning_module, self._tracer_cls = owning_module, tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()

    @property
    def nodes(self) -> NodeList:
        """The nodes in order."""
        return NodeList(self._nodes)

    def output_node(self) -> Node:
        """The output."""
        return next(node for node in reversed(self._nodes) if node.op == "output")

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, with that target if one is given."""
        return [n for n in self._nodes if n.op == op and (target is None or n.target == target)]

    # --- making nodes ----------------------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node at the insertion point (the end, unless within inserting_before or inserting_after)."""
        name = self._namespace.create_name(name or names.suggested(target))
        node = Node(self, name, op, target, args or (), kwargs or {}, type_expr)
        if self._insert_at is None:
            self._nodes.append(node)
        else:
            beside, offset = self._insert_at
            self._nodes.insert(self._nodes.index(beside) + offset, node)
            if offset:
                self._insert_at = (node, 1)
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(node)
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An input."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, {}, name.lstrip("*"), type_expr)

    def _behind_inputs(self) -> AbstractContextManager[Any]:
        """Inside, new nodes stand behind the inputs and before all others."""
        first = next((n for n in self.nodes if n.op != "placeholder"), None)
        return nullcontext() if first is None else self.inserting_before(first)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """What the module holds under a dotted name."""
        if self.owning_module is not None and not _holds(self.owning_module, qualified_name):
            warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! "
                "Call GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to "
                "add the necessary Parameter, or nn.Module.register_buffer to add the necessary buffer"
            )
        return self.create_node(
            "get_attr", qualified_name, (), {}, qualified_name.replace(".", "_"), type_expr
        )

    def call_module(
        self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """A call of a submodule. AttributeError where the owning module has none of that name."""
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, None, type_expr)

    def call_method(
        self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """A call of a method of args[0]."""
        return self.create_node("call_method", method_name, args, kwargs, None, type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """The result; the last node."""
        return self.create_node("output", "output", (result,), {}, None, type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """A node like one of another graph, reading arg_transform(n) for each n that it reads."""
        args, kwargs = map_arg((node.args, node.kwargs), arg_transform)
        found = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        found.meta = dict(node.meta)
        return found

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """All nodes of another graph up to its output; its result in this graph's nodes."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                found = map_arg(node.args[0], val_map.__getitem__)
                return (found, node) if return_output_node else found
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo: Any = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls)
        made._codegen = copy.copy(self._codegen)
        known: dict[Node, Node] = {}
        for node in self._nodes:
            known[node] = made.node_copy(node, known.__getitem__)
        return made

    # --- their order -----------------------------------------------------------------------------

    def _inserting(self, beside: Node, offset: int) -> AbstractContextManager[None]:
        if beside.graph is not self:
            raise AssertionError("Node to insert " + ("after" if offset else "before") + " is not in graph.")
        # at once, so that the call alone moves it; the end of a `with` moves it back
        before, self._insert_at = self._insert_at, (beside, offset)

        @contextmanager
        def inside() -> Iterator[None]:
            try:
                yield
            finally:
                self._insert_at = before

        return inside()

    def inserting_before(self, n: Node | None = None) -> Any:
        """`with` it new nodes come before `n` (the first node)."""
        return self._inserting(n or self._nodes[0], 0)

    def inserting_after(self, n: Node | None = None) -> Any:
        """`with` it new nodes come after `n` (the last node)."""
        return self._inserting(n or self._nodes[-1], 1)

    def _beside(self, node: Node, step: int) -> Node:
        return self._nodes[(self._nodes.index(node) + step) % len(self._nodes)]

    def _move(self, node: Node, beside: Node, offset: int) -> None:
        if node is not beside:
            self._nodes.remove(node)
            self._nodes.insert(self._nodes.index(beside) + offset, node)

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out. RuntimeError while another one reads it."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users "
                f"in the graph: {to_erase.users}!"
            )
        if to_erase._erased:
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        to_erase._update((), {})
        to_erase._erased = True
        self._nodes.remove(to_erase)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase what nobody reads and what has no effect; whether anything was erased."""
        self.lint()
        before = len(self._nodes)
        for node in reversed(self.nodes):
            if not node.users and not (is_impure_node or Node.is_impure)(node):
                self.erase_node(node)
        return len(self._nodes) < before

    def lint(self) -> None:
        """RuntimeError for nodes that read what comes later or is no part of the graph, names that come
        twice, and targets that the owning module lacks.
        """
        seen: set[Node] = set()
        taken: set[str] = set()
        for node in self._nodes:
            for arg in node.all_input_nodes:
                about = f"Argument '{arg}' of Node '{node}' "
                if arg.graph is not self:
                    raise RuntimeError(
                        f"{about}does not belong to this Graph, but was used as an argument! "
                        "If you are copying nodes from another graph, make sure to use "
                        f"``arg_transform`` on node_copy() to remap values\n{self}"
                    )
                if arg not in seen:
                    raise RuntimeError(
                        f"{about}was used before it has been defined! Please check that Nodes "
                        f"in the graph are topologically ordered\n{self}"
                    )
            if node.name in taken:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            taken.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                try:
                    self._module(node.target)
                except AttributeError:
                    raise RuntimeError(
                        f"Node {node} target {node.target} references nonexistent attribute "
                        f"{node.target.rpartition('.')[2]} of {node.target.rpartition('.')[0]}"
                    ) from None

    def _module(self, target: str) -> Any:
        found = self.owning_module
        for part in target.split("."):
            found = getattr(found, part)
        return found

    # --- how it is called ------------------------------------------------------------------------

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let the function that the graph becomes take arguments, and give results, in that way."""
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        """The graph's inputs when its function is called with these arguments."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What its function returns when this is the graph's result."""
        return self._codegen.process_outputs(out)

    def on_generate_code(self, make_transformer: Callable[[Any], Callable[[list[str]], list[str]]]) -> Any:
        """Let a function of the text's lines change them; make_transformer gets the one before it, or None.

        It is in force at once; at the end of a `with` block around the result it is undone.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextmanager
        def undoing() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return undoing()

    # --- text ------------------------------------------------------------------------------------

    def python_code(self, root_module: str = "self", *, verbose: bool = False) -> PythonCode:
        """The source text of `forward`, and the globals that it needs. verbose: with types and places."""
        return python_code(self, root_module, verbose)

    def __str__(self) -> str:
        return "\n    ".join(["graph():", *[str(node.format_node()) for node in self._nodes]])

    def print_tabular(self) -> None:
        """Print the nodes as a table; needs the package `tabulate`."""
        try:
            from tabulate import tabulate
        except ImportError:
            print(
                "`print_tabular` relies on the library `tabulate`, which could not be found on this "
                "machine. Run `pip install tabulate` to install the library."
            )
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))


def _holds(module: Any, target: str) -> bool:
    """Whether a module has a module, a parameter or a buffer of a dotted name."""
    owner, _, name = target.rpartition(".")
    try:
        within = module.get_submodule(owner)
    except AttributeError:
        warn(f"Failed to fetch module {owner}!")
        return False
    return name in within._modules or name in within._parameters or name in within._buffers
