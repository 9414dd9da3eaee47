"""torch._export.pass_base: passes over exported graphs that run each node anew, and write what they call."""

from __future__ import annotations

import operator
import traceback
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import tree_map
from rushlight._ops import HigherOrderOperator, OpOverload, OpOverloadPacket
from rushlight.export.listener import Value
from rushlight.export.numbers.symbolic import SIZES
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.interpreter import Interpreter
from rushlight.fx.node import Node
from rushlight.fx.passes.infra.pass_base import PassBase, PassResult
from rushlight.fx.proxy import Proxy
from rushlight.fx.tracer import GraphAppendingTracer

__all__ = ["ExportPassBaseError", "NodeMetadata", "ProxyValue", "_ExportPassBaseDeprecatedDoNotUse"]


_OPS: Any = torch.ops.higher_order


class ExportPassBaseError(RuntimeError):
    """A graph that such a pass cannot run."""


class NodeMetadata:
    """What is known of a node, to hand to the node that takes its place."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = dict(data)

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.data[key] = value

    def copy(self) -> NodeMetadata:
        """Another one with the same entries."""
        return NodeMetadata(self.data)


class ProxyValue:
    """A value that is known in part (a tensor on the meta device, a number), and the node that makes it."""

    def __init__(self, data: Any, proxy: Any) -> None:
        self.data, self.proxy_or_node = data, proxy

    @property
    def node(self) -> Node:
        """The node."""
        found: Node = getattr(self.proxy_or_node, "node", self.proxy_or_node)
        return found

    @property
    def proxy(self) -> Any:
        """The node, as fx's Proxy."""
        return self.proxy_or_node

    def to_tensor(self) -> Any:
        """The tensor. AssertionError for another value."""
        if not isinstance(self.data, torch.Tensor):
            raise AssertionError(f"{self.data} is no tensor")
        return self.data

    def is_tensor(self) -> bool:
        """Whether it is a tensor."""
        return isinstance(self.data, torch.Tensor)


class _ExportPassBaseDeprecatedDoNotUse(PassBase):
    """Runs a graph's nodes and writes a new graph of what is called. Subclasses override call_operator and
    its like, and call them again with what is to be called instead.
    """

    def __init__(self) -> None:
        self.graph, self.root = Graph(), torch.nn.Module()
        self.node_debug_str: str | None = None

    @staticmethod
    def _create_dummy_node_metadata() -> NodeMetadata:
        return NodeMetadata({"stack_trace": "".join(traceback.format_stack(limit=1))})

    # --- what subclasses override --------------------------------------------------------------------

    def on_attr(self, attr: ProxyValue) -> None:
        """Something that the module holds is used."""

    def placeholder(self, name: str, arg: Any, meta: NodeMetadata) -> ProxyValue:
        """An input."""
        return self._noted(self.graph.placeholder(name), arg, meta)

    def call_operator(self, op: Any, args: Any, kwargs: Any, meta: NodeMetadata) -> ProxyValue:
        """A call of an op."""
        return self._fx("call_function", op, args, kwargs, meta)

    def call_sym(self, target: Any, args: Any, meta: NodeMetadata) -> ProxyValue:
        """A call of a function of sizes."""
        return self._fx("call_function", target, args, {}, meta)

    def call_getitem(self, value: Any, key: Any, meta: NodeMetadata) -> ProxyValue:
        """An item of a result."""
        return self._fx("call_function", operator.getitem, (value, key), {}, meta)

    def call_cond(
        self, pred: Any, true_fn: Any, false_fn: Any, inputs: Any, meta: NodeMetadata
    ) -> ProxyValue:
        """A branch."""
        branches = [self.call_submodule(f, tuple(inputs)).graph_module for f in (true_fn, false_fn)]
        return self._fx("call_function", _OPS.cond, (pred, *branches, inputs), {}, meta)

    def call_map(self, f: Any, mapped_args: Any, operands: Any, meta: NodeMetadata) -> ProxyValue:
        """A function of slices."""
        first = [ProxyValue(a.data[0], a.proxy) for a in mapped_args]
        made = self.call_submodule(f, (*first, *operands)).graph_module
        return self._fx("call_function", _OPS.map_impl, (made, mapped_args, operands), {}, meta)

    def output(self, results: Any, meta: NodeMetadata) -> Any:
        """The results."""
        node = self.graph.output(tree_map(self._argument, results))
        node.meta.update(meta.data)
        return results

    # --- running -------------------------------------------------------------------------------------

    def call(self, graph_module: GraphModule) -> PassResult:
        """The module with the graph that was written."""
        nodes = [n for n in graph_module.graph.nodes if n.op == "placeholder"]
        return self.call_submodule(graph_module, tuple(_data(n.meta.get("val")) for n in nodes))

    def call_submodule(self, graph_module: GraphModule, inputs: tuple[Any, ...]) -> PassResult:
        """The same for a graph of a function, called with these."""
        before = self.graph, self.root
        self.graph, self.root = Graph(), torch.nn.Module()
        self.graph.set_codegen(graph_module.graph._codegen)
        given = [v.data if isinstance(v, ProxyValue) else v for v in inputs]
        try:
            with torch.no_grad():
                _Runner(self, graph_module).run(*given, enable_io_processing=False)
            made = GraphModule(self.root, self.graph, type(graph_module).__name__)
        finally:
            self.graph, self.root = before
        made.meta.update(graph_module.meta)
        return PassResult(made, True)

    def _fx(self, kind: str, target: Any, args: Any, kwargs: Any, meta: NodeMetadata) -> ProxyValue:
        found = _run(target, _plain(args), _plain(kwargs), meta)
        positional, named = (tree_map(self._argument, a) for a in (args, kwargs))
        name = target._schema.op_name if isinstance(target, OpOverload) else None
        node = self.graph.create_node(kind, target, tuple(positional), named, name)
        return self._noted(node, found, meta)

    def _noted(self, node: Node, value: Any, meta: NodeMetadata) -> ProxyValue:
        node.meta = dict(meta.data)
        told = node.meta.get("val")
        if isinstance(value, torch.Tensor) and not _tells(told, value):
            node.meta["val"] = Value(value)
        return ProxyValue(value, Proxy(node, GraphAppendingTracer(self.graph)))

    def _argument(self, value: Any) -> Any:
        if isinstance(value, ProxyValue):
            return value.node
        if not isinstance(value, (torch.nn.Module, torch.Tensor)):
            return value
        prefix = "submodule" if isinstance(value, torch.nn.Module) else "_tensor_constant"
        number = 0
        while getattr(self.root, f"{prefix}_{number}", value) is not value:
            number += 1
        setattr(self.root, f"{prefix}_{number}", value)
        node = self.graph.create_node("get_attr", f"{prefix}_{number}")
        if isinstance(value, torch.Tensor):
            self.on_attr(self._noted(node, value, NodeMetadata({})))
        return node


class _Runner(Interpreter):
    """Calls a pass for each node."""

    def __init__(self, of: _ExportPassBaseDeprecatedDoNotUse, module: GraphModule) -> None:
        super().__init__(module)
        self.of, self.node = of, next(iter(module.graph.nodes))

    def run_node(self, n: Node) -> Any:
        """What stands for a node."""
        self.node, self.of.node_debug_str = n, n.format_node()
        return super().run_node(n)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        """An input."""
        return self.of.placeholder(
            target, super().placeholder(target, args, kwargs), NodeMetadata(self.node.meta)
        )

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The results."""
        return self.of.output(args[0], NodeMetadata(self.node.meta))

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call, by its kind."""
        meta = NodeMetadata(self.node.meta)
        if target is operator.getitem:
            value, key = args
            return self.of.call_getitem(value, key, meta)
        if isinstance(target, (OpOverload, OpOverloadPacket)):
            return self.of.call_operator(target, args, kwargs, meta)
        if isinstance(target, HigherOrderOperator):
            own: dict[Any, Callable[..., Any]] = {
                _OPS.cond: self.of.call_cond,
                _OPS.map_impl: self.of.call_map,
            }
            call = own.get(target)
            return call(*args, meta) if call else self.of._fx("call_function", target, args, kwargs, meta)
        if (
            getattr(target, "__module__", None) in ("_operator", "builtins", "math")
            or "sym_" in target.__name__
        ):
            return self.of.call_sym(target, args, meta)
        raise ExportPassBaseError(f"Unsupported target type: {target}")

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Refused: exported graphs call none."""
        raise ExportPassBaseError("call_module is not supported.")

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Refused: exported graphs call none."""
        raise ExportPassBaseError("call_method is not supported.")


def _plain(value: Any) -> Any:
    """Arguments as what is known of them, in Python's own containers."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        found = [_plain(item) for item in value]
        return found if isinstance(value, list) else tuple(found)
    return value.data if isinstance(value, ProxyValue) else value


def _data(told: Any) -> Any:
    """A tensor without numbers of what is known, or a number as it was."""
    if isinstance(told, (tuple, list)):
        return type(told)(map(_data, told))
    if isinstance(told, SIZES):
        return told.hint
    if not hasattr(told, "dtype") or not hasattr(told, "shape"):
        return getattr(told, "value", told)
    sizes = [n.hint if isinstance(n, SIZES) else n for n in told.shape]
    return torch.empty(sizes, dtype=told.dtype, device="meta")


def _tells(told: Any, value: Any) -> bool:
    """Whether what is known of a node is of such a tensor."""
    known = _data(told)
    return isinstance(known, torch.Tensor) and (known.shape, known.dtype) == (value.shape, value.dtype)


def _run(target: Any, args: Any, kwargs: Any, meta: NodeMetadata) -> Any:
    """What a call gives: what is known of it, where tensors without numbers do not tell."""
    if "val" in meta and not isinstance(target, OpOverload):
        return _data(meta["val"])
    try:
        return target(*args, **kwargs)
    except (RuntimeError, NotImplementedError, TypeError):
        if "val" in meta:
            return _data(meta["val"])
        raise
