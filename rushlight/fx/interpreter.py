"""Running a graph node by node, and rewriting it on the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from rushlight.fx import traceback as notes
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule, attribute
from rushlight.fx.node import Node, map_arg
from rushlight.fx.proxy import Proxy
from rushlight.fx.tracer import Tracer


class Interpreter:
    """Runs a GraphModule's nodes in order; subclasses override what they want to see: `run_node`, or the
    method of a node's kind (`call_function`, `call_method`, ...).
    """

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module, self.graph = module, module.graph if graph is None else graph
        self.submodules = dict(module.named_modules())
        self.garbage_collect_values = garbage_collect_values
        self.env: dict[Node, Any] = {}
        self.args_iter: Iterator[Any] = iter(())

    def run(
        self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True
    ) -> Any:
        """The graph's result for these inputs. initial_env: results that are known already.

        enable_io_processing: take arguments as the module's forward does (`Graph.process_inputs`), not as the
        graph's own inputs.
        """
        given = self.graph.process_inputs(*args) if enable_io_processing else args
        self.env, self.args_iter = dict(initial_env or {}), iter(given)
        last = {used: node for node in self.graph.nodes for used in node.all_input_nodes}
        for node in self.graph.nodes:
            if node not in self.env:
                self.env[node] = self.run_node(node)
            if node.op == "output":
                found = self.env[node]
                return self.graph.process_outputs(found) if enable_io_processing else found
            if self.garbage_collect_values:
                for used in node.all_input_nodes:
                    if last[used] is node:
                        self.env.pop(used, None)
        return None

    def run_node(self, n: Node) -> Any:
        """The result of one node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        if not notes.should_preserve_node_meta:
            return getattr(self, n.op)(n.target, args, kwargs)
        with self._set_current_node(n):
            return getattr(self, n.op)(n.target, args, kwargs)

    def _set_current_node(self, node: Node) -> AbstractContextManager[None]:
        """Within the `with`, what is made is made for a node."""
        return notes.set_current_meta(node, f"Interpreter_{type(self).__name__}")

    def boxed_run(self, args_list: list[Any]) -> Any:
        """run(*args_list), which clears the list, so that an input's memory is free after its last use."""
        inputs = [node for node in self.graph.nodes if node.op == "placeholder"]
        if len(args_list) != len(inputs):
            detail = "extra" if len(args_list) > len(inputs) else "missing"
            raise RuntimeError(
                f"Interpreter.boxed_run expected {len(inputs)} arguments for placeholders "
                f"but received {len(args_list)} ({detail} arguments)"
            )
        env = dict(zip(inputs, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The next input; all that are left for a target that begins with `*`."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """What the module holds under that name."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """target(*args, **kwargs)."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        """args[0].target(*args[1:], **kwargs)."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The submodule's result."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The graph's result."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """What the module holds under a dotted name."""
        return attribute(self.module, target)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Any, Any]:
        """A node's arguments, as values."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """`args` with each node's value."""

        def value(used: Node) -> Any:
            if used not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {used}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[used]

        return map_arg(args, value)


class Transformer(Interpreter):
    """Interpreter whose values are Proxies, so that running it writes a new graph."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = Tracer()
        self.tracer.graph, self.tracer.root = self.new_graph, module

    def run_node(self, n: Node) -> Any:
        """The Proxy of what stands for a node."""
        found = super().run_node(n)
        if isinstance(found, Proxy) and "is_wrapped" in n.meta:
            found.node.meta["is_wrapped"] = n.meta["is_wrapped"]
        return found

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A new graph's input."""
        return Proxy(self.new_graph.placeholder(target, default_value=args[0] if args else ...), self.tracer)

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A new graph's attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call of the same submodule in the new graph."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call of the same function in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module with the rewritten graph, whose nodes keep what was noted of the old ones."""
        with notes.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            made = self.new_graph.output(self.tracer.create_arg(result))
            made.meta.update(self.graph.output_node().meta)
        return GraphModule(self.module, self.new_graph)
