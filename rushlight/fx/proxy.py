"""Proxies: stand-ins for values, which write a node for whatever is done with them."""

from __future__ import annotations

import dis
import functools
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import rushlight as torch
from rushlight._engine.dispatch.methods import METHODS
from rushlight._engine.tensors.tensor import Tensor
from rushlight.fx import callsite, names, traceback as notes
from rushlight.fx.graph import Graph
from rushlight.fx.node import CONTAINERS, Node, map_aggregate, rebuilt

BASE = (str, int, float, bool, complex, torch.dtype, torch.device, torch.memory_format, torch.layout, range)


class Scope:
    """The module that a program is in while it is traced: its dotted name ("" for the root) and its class."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """`with` it `scope` says what `current_scope` does (from when it is made), then what it said before."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._before = (scope.module_path, scope.module_type)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type
        self._scope = scope

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *args: object) -> None:
        self._scope.module_path, self._scope.module_type = self._before


class TraceError(ValueError):
    """What a program does with a value cannot be told by a graph."""


class Proxy:
    """Stands for a node's value while a program is traced."""

    __getitem__: Callable[[Proxy, Any], Proxy]  # one of the operators below, each of which writes a node

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        """Record a call of the value."""
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        here = next((i for i in dis.get_instructions(frame.f_code) if i.offset == frame.f_lasti), None)
        if here is not None and here.opname == "UNPACK_SEQUENCE":
            return (self[i] for i in range(here.argval))
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to "
            "be recorded, please call torch.fx.wrap('len') at module scope"
        )

    def keys(self) -> Any:
        """What `**proxy` asks for."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        found: list[Any] = []
        _seen(found, args)
        _seen(found, kwargs)
        if len({id(p.tracer) for p in found}) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {[p.tracer for p in found]} while trying "
                f"to trace operations {orig_method}"
            )
        tracer = found[0].tracer
        name = orig_method.__name__
        if name.endswith("_") and hasattr(Tensor, name) and not name.startswith("__"):
            return tracer.create_proxy("call_method", name, (*args, *kwargs.values()), {})
        if orig_method is METHODS.get(name) or name in ("__getitem__", "__setitem__"):
            return tracer.create_proxy("call_method", name, args, kwargs)
        args, kwargs, shown = callsite.as_written(orig_method, args, kwargs)
        kind = "call_method" if isinstance(shown, str) else "call_function"
        return tracer.create_proxy(kind, shown, args, kwargs, names.suggested(shown))


def _seen(found: list[Any], value: Any) -> None:
    if isinstance(value, Proxy):
        found.append(value)
    elif isinstance(value, (tuple, list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            _seen(found, item)
    elif isinstance(value, slice):
        _seen(found, (value.start, value.stop, value.step))


class Attribute(Proxy):
    """An attribute of a value: a node if it is used, a method's name if it is called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        """Record a call of the method: a node call_method instead of reading the attribute."""
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class TracerBase:
    """What makes nodes for Proxies."""

    graph: Graph
    root: Any = None
    # Whether nodes are told where the program made them, and whether buffers are nodes as parameters are.
    record_stack_traces = False
    proxy_buffer_attributes = False
    # PyTorch's switches for programs that change tensors, or that assert.
    check_mutable_operations = False
    trace_asserts = False
    traced_func_name = "forward"
    # The module that the program is in, {its name and number of calls: (name, class)} of all around it, and
    # {a node's name: (name, class)}.
    scope: Scope
    module_stack: dict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, Any]]

    def _begin(self) -> None:
        """Note that the program is in no module yet."""
        self.scope, self.module_stack, self.node_name_to_scope = Scope("", None), {}, {}

    def create_node(
        self, kind: str, target: Any, args: Any, kwargs: Any, name: str | None = None, type_expr: Any = None
    ) -> Node:
        """A node of the graph; override it to see or refuse nodes."""
        if self.check_mutable_operations and kind == "call_function":
            # it loads PyTorch's schemas
            from rushlight.fx.operator_schemas import check_for_mutable_operation

            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if notes.should_preserve_node_meta:
            notes.note(node)
        elif self.module_stack:
            node.meta["nn_module_stack"] = dict(self.module_stack)
        if self.record_stack_traces and not node.stack_trace:
            frames = self._filter_traceback_frames(traceback.extract_stack())
            node.stack_trace = "".join(frames.format()) or None
        return node

    def _filter_traceback_frames(self, user_stack_summary: traceback.StackSummary) -> traceback.StackSummary:
        """The frames that nodes are told to come from, of all: the program's; override it to tell others."""
        return callsite.of_program(user_stack_summary)

    def proxy(self, node: Node) -> Proxy:
        """A Proxy for a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: Any,
        kwargs: Any,
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """A node for what was done with Proxies, and the Proxy of its result."""
        node = self.create_node(
            kind, target, self.create_arg(tuple(args)), self.create_arg(dict(kwargs)), name, type_expr
        )
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Any:
        """A value as an argument of a node; NotImplementedError for what graphs cannot hold."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(type(a), "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, dict):
            for key in a:
                map_aggregate(self.create_arg(key), functools.partial(_no_node, key))
        if isinstance(a, CONTAINERS):
            return rebuilt(a, self.create_arg)
        if a is None or a is ... or isinstance(a, (*BASE, Node)):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """A branch on a value."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """A loop over a value."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a "
            "*args or **kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed "
            "explanation of what types of control flow can be traced, and check out the Proxy docstring for "
            "help troubleshooting Proxy iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """`**value`."""
        return Attribute(obj, "keys")()


def _no_node(key: Any, part: Any) -> Any:
    if isinstance(part, Node):
        raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}")
    return part


class GraphAppendingTracer(TracerBase):
    """Writes to a graph that exists."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._begin()


class ParameterProxy(Proxy):
    """Stands for a parameter, of which the program may ask what a trace knows: sizes and their number.

    tracer, node: as for a Proxy; name: the parameter's; param: the parameter. AssertionError if it is none.
    """

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: torch.nn.Parameter) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, torch.nn.Parameter):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> torch.Size:
        """The parameter's sizes."""
        return self.param.shape

    def size(self) -> torch.Size:
        """The parameter's sizes."""
        return self.param.size()

    def dim(self) -> int:
        """The number of the parameter's dimensions."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The number of the parameter's dimensions."""
        return self.param.ndim

    def numel(self) -> int:
        """The number of the parameter's elements."""
        return self.param.numel()

    def nelement(self) -> int:
        """The number of the parameter's elements."""
        return self.param.nelement()


def _operator(name: str, reflected: bool) -> None:
    target = getattr(operator, name)

    def run(self: Proxy, *args: Any) -> Proxy:
        given = (*args, self) if reflected else (self, *args)
        return self.tracer.create_proxy("call_function", target, given, {})

    setattr(Proxy, f"__{'r' * reflected}{name.rstrip('_')}__", run)


for _name in names.MAGIC:
    _operator(_name, False)
    if _name in names.REFLECTABLE:
        _operator(_name, True)
setattr(Proxy, "__hash__", object.__hash__)
