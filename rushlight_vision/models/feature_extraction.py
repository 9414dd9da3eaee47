"""Features from inside of a model, by torch.fx: the names of what it computes, and a graph that ends at some.

A node's name is the path of the module that it lies in, and after a dot its own name where it is no call of
a module; the second of a name has `_1`.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from copy import deepcopy
from typing import Any

from rushlight import fx, nn
from rushlight._engine.core.callers import warn


class LeafModuleAwareTracer(fx.Tracer):
    """A tracer to which modules of some classes are single nodes."""

    def __init__(self, *args: Any, leaf_modules: Any = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.leaf_modules = tuple(leaf_modules)

    def is_leaf_module(self, m: nn.Module, module_qualname: str) -> bool:
        """Whether a module is a node of its own."""
        return isinstance(m, self.leaf_modules) or super().is_leaf_module(m, module_qualname)


class NodePathTracer(LeafModuleAwareTracer):
    """A tracer that notes each node's name in `node_to_qualname`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.current_module_qualname = ""
        self.node_to_qualname: Any = OrderedDict()

    def call_module(self, m: Any, forward: Any, args: Any, kwargs: Any) -> Any:
        """The call of a module, during which nodes lie in it."""
        before = self.current_module_qualname
        try:
            self.current_module_qualname = self.path_of_module(m)
            return super().call_module(m, forward, args, kwargs)
        finally:
            self.current_module_qualname = before

    def create_proxy(self, kind: str, target: Any, args: Any, kwargs: Any, *more: Any, **named: Any) -> Any:
        """A node, which gets its name."""
        proxy = super().create_proxy(kind, target, args, kwargs, *more, **named)
        name = self._name(self.current_module_qualname, proxy.node)
        self.node_to_qualname[proxy.node] = self._numbered(name)
        return proxy

    def _name(self, module: str, node: Any) -> str:
        if node.op == "call_module" and isinstance(node.target, str):
            return node.target
        plain = re.sub(r"_\d+$", "", node.name) if re.match(r".+_\d+$", node.name) else node.name
        return f"{module}.{plain}" if module else plain

    def _numbered(self, name: str) -> str:
        same = re.compile(rf"{re.escape(name)}(?:_(\d+))?$")
        numbers = [int(m[1] or 0) for m in map(same.match, self.node_to_qualname.values()) if m]
        return f"{name}_{max(numbers) + 1}" if numbers else name


def _traced(model: nn.Module, tracer_kwargs: Any, concrete_args: Any) -> tuple[Any, NodePathTracer]:
    tracer = NodePathTracer(**(tracer_kwargs or {}))
    graph = tracer.trace(model, concrete_args=concrete_args)
    return fx.GraphModule(tracer.root, graph, type(model).__name__), tracer


def get_graph_node_names(
    model: nn.Module,
    tracer_kwargs: Any = None,
    suppress_diff_warning: bool = False,
    concrete_args: Any = None,
) -> tuple[list[str], list[str]]:
    """The names of a model's nodes while training, and in evaluation."""
    training = model.training
    names = []
    for mode in (True, False):
        tracer = NodePathTracer(**(tracer_kwargs or {}))
        tracer.trace(model.train(mode), concrete_args=concrete_args)
        names.append(list(tracer.node_to_qualname.values()))
    model.train(training)
    if names[0] != names[1] and not suppress_diff_warning:
        warn(
            "The nodes obtained by tracing the model in eval mode are not the same as in train "
            "mode; give create_feature_extractor train_return_nodes and eval_return_nodes."
        )
    return names[0], names[1]


class DualGraphModule(fx.GraphModule):
    """A graph for training and one for evaluation, over the same modules."""

    def __init__(
        self, root: nn.Module, train_graph: Any, eval_graph: Any, class_name: str = "GraphModule"
    ) -> None:
        super().__init__(root, train_graph, class_name)
        wanted = {
            str(n.target)
            for g in (train_graph, eval_graph)
            for n in g.nodes
            if n.op in ("get_attr", "call_module")
        }
        for target in sorted(wanted):
            self._keep(root, target)
        self.train_graph, self.eval_graph = train_graph, eval_graph
        self.train(root.training)

    def _keep(self, root: nn.Module, target: str) -> None:
        *path, last = target.split(".")
        into: Any = self
        for name in path:
            if not hasattr(into, name):
                setattr(into, name, nn.Module())
            into, root = getattr(into, name), getattr(root, name)
        setattr(into, last, getattr(root, last))

    def train(self, mode: bool = True) -> Any:
        """Take the graph of this mode."""
        if mode != self.training or not hasattr(self, "_mode"):
            self._mode = mode
            self.graph = self.train_graph if mode else self.eval_graph
        return super().train(mode)


def _chosen(names: dict[Any, str], wanted: dict[str, str]) -> dict[str, Any]:
    """The last node whose name is, or begins with, each of those wanted; in the graph's order."""
    found, order = {}, list(names)
    for query, result in wanted.items():
        nodes = [n for n, name in names.items() if re.match(rf"^{re.escape(query)}(\.|$)", name)]
        if not nodes:
            raise ValueError(
                f"node: '{query}' is not present in model. Hint: use `get_graph_node_names` to "
                "make sure the `return_nodes` you specified are present. It may even be that "
                "you need to specify `train_return_nodes` and `eval_return_nodes` separately."
            )
        found[result] = nodes[-1]
    return dict(sorted(found.items(), key=lambda item: order.index(item[1])))


def create_feature_extractor(
    model: nn.Module,
    return_nodes: Any = None,
    train_return_nodes: Any = None,
    eval_return_nodes: Any = None,
    tracer_kwargs: Any = None,
    suppress_diff_warning: bool = False,
    concrete_args: Any = None,
) -> Any:
    """A module that gives a dict of features.

    `return_nodes`: {node's name: name in the result}, or a list of nodes' names, which they keep; for both
    modes, or `train_return_nodes` and `eval_return_nodes`. ValueError for a node that is not there.
    """
    if return_nodes is None and None in (train_return_nodes, eval_return_nodes):
        raise ValueError(
            "Either `return_nodes` or `train_return_nodes` and `eval_return_nodes` together, "
            "should be specified"
        )
    training, graphs = model.training, []
    for mode, own in ((True, train_return_nodes), (False, eval_return_nodes)):
        wanted = own if own is not None else return_nodes
        wanted = {
            str(k): str(v)
            for k, v in (wanted if isinstance(wanted, dict) else {n: n for n in wanted}).items()
        }
        made, tracer = _traced(model.train(mode), tracer_kwargs, concrete_args)
        graph = made.graph
        nodes = dict(zip(graph.nodes, tracer.node_to_qualname.values(), strict=False))
        results = _chosen(nodes, wanted)
        old = next(n for n in graph.nodes if n.op == "output")
        with graph.inserting_after(old):
            graph.output(results)
        graph.erase_node(old)
        graph.eliminate_dead_code()
        graphs.append(graph)
    model.train(training)
    return DualGraphModule(model, deepcopy(graphs[0]), deepcopy(graphs[1]), class_name=type(model).__name__)
