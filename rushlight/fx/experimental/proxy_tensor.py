"""torch.fx.experimental.proxy_tensor: make_fx, which records what a call computes as a graph of aten ops.

A mode below autograd writes a node for each op that it hears; tensors are known by identity, or by lying in
the same way in the same memory. The function runs on the numbers that it is given, whatever `tracing_mode`
says: sizes are numbers of the graph.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight._engine.dispatch import arguments, interpreters
from rushlight._engine.dispatch.runners import pointwise
from rushlight._torch_dispatch.translation import AtenCall
from rushlight.export import overloads
from rushlight.fx.experimental.traced_branches import Branches, place_of
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node, map_aggregate
from rushlight.fx.proxy import Proxy
from rushlight.fx.tracer import GraphAppendingTracer, _types
from rushlight.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from rushlight.utils.weak import WeakIdKeyDictionary

__all__ = [
    "ProxyTorchDispatchMode",
    "PythonKeyTracer",
    "disable_proxy_modes_tracing",
    "dispatch_trace",
    "get_innermost_proxy_mode",
    "get_isolated_graphmodule",
    "get_proxy_mode",
    "make_fx",
]


class PythonKeyTracer(GraphAppendingTracer):
    """The tracer of the graph: what the function needs beside its arguments is the root's."""

    def __init__(self, graph: Graph | None = None) -> None:
        super().__init__(Graph() if graph is None else graph)
        self.root = torch.nn.Module()

    def within(self) -> PythonKeyTracer:
        """A tracer of a graph of its own."""
        return PythonKeyTracer()


class ProxyTorchDispatchMode(Branches, TorchDispatchMode):
    """Writes nodes to `tracer.graph`. decompositions: functions by overload, which are run in the op's
    place.
    """

    _opens = True

    def __init__(
        self, tracer: PythonKeyTracer, tracing_mode: str = "real", decompositions: Any = None
    ) -> None:
        super().__init__()
        self.tracer, self.tracing_mode = tracer, tracing_mode
        # Whether a number that depends on the arguments may not be read.
        self.refuses = True
        self.decompositions = decompositions or {}
        # Whether ops that PyTorch makes of others are nodes of their own.
        self.pre_dispatch = False
        self.nodes: dict[int, Node] = {}
        self.kept: list[Any] = []
        self.inner: set[Node] = set()
        self.places: dict[tuple[Any, ...], Node] = {}

    @classmethod
    def is_infra_mode(cls) -> bool:
        """True: it is the framework's own."""
        return True

    def run(self, row: Any, call: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """An op, whole where it is to be told before it is made of others."""
        aten = self._composite(row, call, args, kwargs) if self.pre_dispatch else None
        if aten is None:
            return super().run(row, call, args, kwargs)
        return self._named(aten, lambda: interpreters.within(self, call, args, kwargs))

    def _composite(self, row: Any, call: Any, args: Any, kwargs: dict[str, Any]) -> AtenCall | None:
        """The call of an op that PyTorch makes of others; None of one that is no such, or writes."""
        if kwargs.get("out") is not None or getattr(call, "writes", False):
            return None
        named = {name: value for name, value in kwargs.items() if name != "out"}
        bound = arguments.bind(row, args, named, pointwise.public_params(row))
        if bound.get("inplace") is True:
            return None
        chosen = overloads.chosen(row, bound, False)
        if chosen is None or not chosen[0].is_composite or chosen[0] in self.decompositions:
            return None
        return AtenCall(chosen[0], tuple(chosen[1]), chosen[2])

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in self.decompositions:
            with self:
                found = self.decompositions[func](*args, **kwargs)
            if found is not NotImplemented:
                return found
        if func._schema.op_name == "lift_fresh":  # what Python has, a constant
            return self.constant(func(*args, **kwargs))
        positional, named = map_aggregate((tuple(args), dict(kwargs)), self.argument)
        if func._schema.op_name == "_local_scalar_dense":
            if self.refuses and _depends(positional[0]):
                raise RuntimeError(
                    f"It appears that you're trying to get value out of a tracing tensor with {func} - "
                    "erroring out! It's likely that this is caused by data-dependent control flow or "
                    "similar. The graph would hold the number of this call; use torch.where or another op "
                    "of tensors instead."
                )
            return func(*args, **kwargs)
        found = func(*args, **kwargs)
        if func._schema.op_name == "_tensor_of":  # of an array of a row's: a constant, once it is used
            return found
        node = self.tracer.graph.call_function(func, positional, named, name=func._schema.op_name)
        if (
            self.pre_dispatch and func._schema.op_name == "detach"
        ):  # of what a gradient keeps, if nobody reads it
            self.inner.add(node)
        self.record(found, node)
        return found

    def constant(self, t: Any) -> Any:
        """A tensor of Python's data: an attribute of the root, of which the graph has a copy."""
        kept = self.node(t.clone())
        lifted = overloads.anyone("lift_fresh_copy.default")
        self.knows(t, self.tracer.graph.call_function(lifted, (kept,), name="lift_fresh_copy"))
        return t

    def _named(self, call: Any, run: Callable[[], Any]) -> Any:
        """An op that is told as those that it consists of, which stay where gradients need them."""
        before = set(self.tracer.graph.nodes)
        found = run()
        self.inner |= set(self.tracer.graph.nodes) - before
        positional, named = map_aggregate((tuple(call.args), dict(call.kwargs)), self.argument)
        node = self.tracer.graph.call_function(call.op, positional, named, name=call.op._schema.op_name)
        if call.take is not None:
            node = self.tracer.graph.call_function(operator.getitem, (node, call.take))
        self.record(found, node)
        return found

    def argument(self, value: Any) -> Any:
        """A tensor as its node; everything else as it is."""
        return self.node(value) if isinstance(value, torch.Tensor) else value

    def record(self, found: Any, node: Node) -> None:
        """`node` is what has been found from here on."""
        if isinstance(found, torch.Tensor):
            self.knows(found, node)
        elif isinstance(found, (tuple, list)):
            parts = []
            for i, item in enumerate(found):
                parts.append(self.tracer.graph.call_function(operator.getitem, (node, i)))
                self.record(item, parts[-1])
            told = [part.meta.get("val") for part in parts]
            node.meta.setdefault("val", tuple(told) if isinstance(found, tuple) else told)

    def knows(self, t: Any, node: Node) -> None:
        """`node` is the tensor from here on."""
        self.nodes[id(t)] = node
        self.kept.append(t)
        self.places[place_of(t)] = node
        node.meta.setdefault("val", t.detach() if t.requires_grad else t)

    def node(self, t: Any) -> Node:
        """The node of a tensor; what is not known becomes an attribute of the root."""
        known = self.nodes.get(id(t)) or self.places.get(place_of(t)) or self._from_around(t)
        if known is None:
            kind = "_param_constant" if isinstance(t, torch.nn.Parameter) else "_tensor_constant"
            number = 0
            while hasattr(self.tracer.root, f"{kind}{number}"):
                number += 1
            setattr(self.tracer.root, f"{kind}{number}", t)
            known = self.tracer.graph.get_attr(f"{kind}{number}")
            self.knows(t, known)
        return known


def _depends(node: Node) -> bool:
    """Whether what a node stands for is made from the arguments."""
    met, left = set[Node](), [node]
    while left:
        node = left.pop()
        if node.op == "placeholder":
            return True
        left += [other for other in node.all_input_nodes if other not in met]
        met.add(node)
    return False


def _place(t: Any) -> tuple[Any, ...]:
    return t.data_ptr(), t.dtype, tuple(t.shape), t.stride()


def _has_signature(function: Callable[..., Any]) -> bool:
    """Whether a trace has the names and the annotation of what it traces: a function without *args."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code is not None and not code.co_flags & inspect.CO_VARARGS


def _names(function: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """A name for each leaf of the arguments, after the parameters."""
    try:
        params = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        params = []
    simple = params and _has_signature(function)
    names: list[str] = []
    for i, arg in enumerate(args):
        base = params[i].name if simple and i < len(params) else f"arg{i}"
        names += [f"{base}_{number}" for number in range(1, len(flatten(arg)[0]) + 1)]
    return names


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Any = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
    **options: Any,
) -> Callable[..., GraphModule]:
    """A function that calls f(*args) and gives what was computed as a GraphModule of torch.ops.aten ops.

    decomposition_table: functions by overload that stand for ops. pre_dispatch: ops that PyTorch makes of
    others (linear, matmul) are nodes of their own. tracing_mode: "real", "fake" and "symbolic"
    record the same graph. ValueError for another; RuntimeError where f reads a number that depends on its
    arguments (`.item()`, a branch), unless _error_on_data_dependent_ops is False: then the graph holds it.
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise ValueError(f'tracing_mode must be "real", "fake" or "symbolic", got {tracing_mode!r}')

    def traced(*args: Any) -> GraphModule:
        tracer = PythonKeyTracer()
        mode = ProxyTorchDispatchMode(tracer, tracing_mode, decomposition_table)
        mode.refuses, mode.pre_dispatch = _error_on_data_dependent_ops, pre_dispatch
        leaves, spec = flatten(args)
        names, real = _names(f, args), tracing_mode == "real"
        own, copied = [], WeakIdKeyDictionary()  # an argument given twice is the input that comes last
        for name, leaf in zip(names, leaves, strict=True):
            node = tracer.graph.placeholder(name)
            if not isinstance(leaf, torch.Tensor):
                node.meta["val"] = leaf
            else:
                leaf = leaf if real else copied.setdefault(leaf, own_copy(leaf))
                mode.knows(leaf, node)
            own.append(leaf)
        # Without numbers of its own the function moves neither its arguments nor the generator.
        with mode, nullcontext() if real else torch.random.fork_rng():
            found = f(*spec.unflatten(own))
        # What is given back may be an argument, or a container.
        result = tree_map(mode.argument, found)
        told = _types(f) if _has_signature(f) else {}
        tracer.graph.output(result, told.get("return"))
        tracer.graph.eliminate_dead_code(lambda node: node not in mode.inner)
        nested = any(not isinstance(a, torch.Tensor) and flatten([a])[1].num_nodes > 2 for a in args)
        module = GraphModule(tracer.root, tracer.graph, getattr(f, "__name__", "GraphModule"))
        return _flattening(module) if nested else module

    return traced


def own_copy(x: torch.Tensor) -> torch.Tensor:
    """A leaf of the same values in memory of its own."""
    return x.detach().clone(memory_format=torch.preserve_format).requires_grad_(x.requires_grad)


def _flattening(module: GraphModule) -> GraphModule:
    """The module, called with the containers that its inputs were leaves of."""
    inner = module.forward
    module.forward = lambda *args: inner(*flatten(args)[0])
    return module


def dispatch_trace(root: Callable[..., Any], tracer: Any, concrete_args: tuple[Any, ...] = ()) -> GraphModule:
    """make_fx(root)(*concrete_args)."""
    return make_fx(root)(*concrete_args)


def get_isolated_graphmodule(
    func: Callable[..., Any],
    args: Any,
    kwargs: Any,
    tracing_mode: str = "real",
    decomposition_table: Any = None,
) -> GraphModule:
    """What func(*args, **kwargs) computes, as a graph of all tensors among the arguments."""
    leaves, spec = flatten((list(args), kwargs))

    def flat(*values: Any) -> Any:
        own_args, own_kwargs = spec.unflatten(values)
        return func(*own_args, **own_kwargs)

    return make_fx(flat, decomposition_table, tracing_mode)(*leaves)


def get_innermost_proxy_mode() -> Any:
    """The mode that is recording, or None."""
    return next(
        (m for m in reversed(_get_current_dispatch_mode_stack()) if isinstance(m, ProxyTorchDispatchMode)),
        None,
    )


get_proxy_mode = get_innermost_proxy_mode


@contextmanager
def disable_proxy_modes_tracing() -> Iterator[Any]:
    """A context in which nothing is recorded."""
    # few programs have modes
    from rushlight.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes() as modes:
        yield modes


def get_proxy_slot(
    obj: Any, tracer: Any, default: Any = None, transform: Callable[[Any], Any] = lambda p: p
) -> Any:
    """The Proxy of a tensor that is being traced, or the default."""
    mode = get_innermost_proxy_mode()
    node = mode.nodes.get(id(obj)) if mode is not None else None
    return default if node is None else transform(Proxy(node, tracer))
