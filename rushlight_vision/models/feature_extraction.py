"""Features from inside of a model, by torch.fx: the names of what it computes, and a graph that ends at some.

A node's name is the path of the module that it lies in, and after a dot its own name where it is no call of
a module; the second of a name has `_1`.
"""

from __future__ import annotations

import math
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
        """A node's path without a number at its end, be that fx's or of a module's own name (`ln_1`)."""
        if node.op == "call_module":
            name = module
        else:
            name = f"{module}.{node.name}" if module else node.name
        return re.sub(r"(?<=.)_\d+$", "", name)

    def _numbered(self, name: str) -> str:
        same = re.compile(rf"{re.escape(name)}(?:_(\d+))?$")
        numbers = [int(m[1] or 0) for m in map(same.match, self.node_to_qualname.values()) if m]
        return f"{name}_{max(numbers) + 1}" if numbers else name


def _with_leaves(tracer_kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The options of a tracer to which torchvision.ops and math are nodes of their own, too."""
    from rushlight_vision import ops

    options = dict(tracer_kwargs or {})
    layers = {
        c for name in ops.__all__ if isinstance(c := getattr(ops, name), type) and issubclass(c, nn.Module)
    }
    options["autowrap_modules"] = (*options.get("autowrap_modules", ()), math, ops)
    options["leaf_modules"] = [*options.get("leaf_modules", ()), *layers]
    return options


def _traced(model: nn.Module, tracer_kwargs: dict[str, Any], concrete_args: Any) -> tuple[Any, Any]:
    """The graph of a model in the mode that it is in, and its nodes' names."""
    tracer = NodePathTracer(**tracer_kwargs)
    return tracer.trace(model, concrete_args=concrete_args), tracer.node_to_qualname


def _warn_of_differences(training: list[str], evaluating: list[str]) -> None:
    if training != evaluating:
        warn(
            "The nodes obtained by tracing the model in eval mode are not the same as in train "
            "mode; give create_feature_extractor train_return_nodes and eval_return_nodes."
        )


def get_graph_node_names(
    model: nn.Module,
    tracer_kwargs: dict[str, Any] | None = None,
    suppress_diff_warning: bool = False,
    concrete_args: Any = None,
) -> tuple[list[str], list[str]]:
    """The names of a model's nodes while training, and in evaluation."""
    training, options = model.training, _with_leaves(tracer_kwargs)
    try:
        names = [
            list(_traced(model.train(mode), options, concrete_args)[1].values()) for mode in (True, False)
        ]
    finally:
        model.train(training)
    if not suppress_diff_warning:
        _warn_of_differences(*names)
    return names[0], names[1]


class DualGraphModule(fx.GraphModule):
    """A graph for training and one for evaluation, over the same modules."""

    def __init__(
        self, root: nn.Module, train_graph: Any, eval_graph: Any, class_name: str = "GraphModule"
    ) -> None:
        super().__init__(root, train_graph, class_name)
        for node in [*train_graph.nodes, *eval_graph.nodes]:
            if node.op in ("get_attr", "call_module"):
                self._keep(root, str(node.target))
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

    def __deepcopy__(self, memo: dict[int, Any]) -> DualGraphModule:
        apart = ("_graph", "train_graph", "eval_graph")
        plain: nn.Module = nn.Module()
        made: Any = DualGraphModule.__new__(type(self))
        memo[id(self)] = made
        plain.__dict__.update(deepcopy({k: v for k, v in self.__dict__.items() if k not in apart}, memo))
        graphs = deepcopy(self.train_graph), deepcopy(self.eval_graph)
        DualGraphModule.__init__(made, plain, *graphs, class_name=type(self).__name__)
        type(made).meta = deepcopy(self.meta, memo)
        found: DualGraphModule = made
        return found

    def train(self, mode: bool = True) -> Any:
        """Take the graph of this mode."""
        if mode != self.training or not hasattr(self, "_mode"):
            self._mode = mode
            self.graph = self.train_graph if mode else self.eval_graph
        return super().train(mode)


def _chosen(graph: Any, names: dict[Any, str], wanted: dict[str, str]) -> dict[str, Any]:
    """Of each name wanted the last node of that name, or in a module of that name; in the graph's order."""
    found, left = {}, dict(wanted)
    for query in wanted:
        if not any(name == query or name.startswith(f"{query}.") for name in names.values()):
            raise ValueError(
                f"node: '{query}' is not present in model. Hint: use `get_graph_node_names` to "
                "make sure the `return_nodes` you specified are present. It may even be that "
                "you need to specify `train_return_nodes` and `eval_return_nodes` separately."
            )
    for node in reversed(graph.nodes):
        name = names.get(node, "")  # a constant has none
        for query in [q for q in left if name == q or name.startswith(f"{q}.")][:1]:
            found[left.pop(query)] = node
    return dict(reversed(found.items()))


def _by_name(nodes: Any) -> dict[str, str]:
    """{node's name: name in the result} of such a dict, or of a list of names, which they keep."""
    pairs = nodes.items() if isinstance(nodes, dict) else zip(nodes, nodes, strict=True)
    return {str(node): str(name) for node, name in pairs}


def _of_both_modes(return_nodes: Any, train: Any, evaluation: Any) -> tuple[dict[str, str], dict[str, str]]:
    """What is wanted while training and in evaluation; ValueError where that is not said, or said twice."""
    if return_nodes is None and train is None and evaluation is None:
        raise ValueError(
            "Either `return_nodes` or `train_return_nodes` and `eval_return_nodes` together, "
            "should be specified"
        )
    if (train is None) != (evaluation is None):
        raise ValueError(
            "If any of `train_return_nodes` and `eval_return_nodes` are specified, then both should be "
            "specified"
        )
    if return_nodes is not None and train is not None:
        raise ValueError(
            "`return_nodes` is for both modes: with it, `train_return_nodes` and `eval_return_nodes` "
            "should not be specified"
        )
    if return_nodes is not None:
        return _by_name(return_nodes), _by_name(return_nodes)
    return _by_name(train), _by_name(evaluation)


def create_feature_extractor(
    model: nn.Module,
    return_nodes: Any = None,
    train_return_nodes: Any = None,
    eval_return_nodes: Any = None,
    tracer_kwargs: dict[str, Any] | None = None,
    suppress_diff_warning: bool = False,
    concrete_args: Any = None,
) -> DualGraphModule:
    """A module that gives a dict of features.

    `return_nodes`: {node's name: name in the result}, or a list of nodes' names, which they keep; for both
    modes, or `train_return_nodes` and `eval_return_nodes`. ValueError for a node that is not there.
    """
    both = _of_both_modes(return_nodes, train_return_nodes, eval_return_nodes)
    training, options = model.training, _with_leaves(tracer_kwargs)
    graphs, names = [], []
    try:
        for mode, wanted in zip((True, False), both, strict=True):
            graph, known = _traced(model.train(mode), options, concrete_args)
            fx.GraphModule(model, graph)  # whose modules say what of the graph is dead
            found = _chosen(graph, known, wanted)
            for node in [n for n in graph.nodes if n.op == "output"]:
                graph.erase_node(node)
            graph.output(found)
            graph.eliminate_dead_code()
            graphs.append(graph)
            names.append(list(known.values()))
    finally:
        model.train(training)
    if not suppress_diff_warning:
        _warn_of_differences(*names)
    made = DualGraphModule(model, graphs[0], graphs[1], class_name=type(model).__name__)
    made.train(training)
    return made
