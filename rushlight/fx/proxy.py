"""Proxies: stand-ins for values, which write a node for whatever is done with them."""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Iterator
from typing import Any

from rushlight._engine.tensors.tensor import Tensor
from rushlight.fx import callsite, names
from rushlight.fx.node import Node


class TraceError(ValueError):
    """What a program does with a value cannot be told by a graph."""


class Proxy:
    """Stands for a node's value while a program is traced."""

    def __init__(self, node: Node, tracer: Any = None) -> None:
        if tracer is None:
            from rushlight.fx.tracer import GraphAppendingTracer

            tracer = GraphAppendingTracer(node.graph)
        self.tracer, self.node = tracer, node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
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
        args, kwargs, shown = callsite.as_written(orig_method, args, kwargs)
        kind = "call_method" if isinstance(shown, str) else "call_function"
        return tracer.create_proxy(kind, shown, args, kwargs, names.suggested(shown))


def _seen(found: list[Any], value: Any) -> None:
    if isinstance(value, Proxy):
        found.append(value)
    elif isinstance(value, (tuple, list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            _seen(found, item)


class Attribute(Proxy):
    """An attribute of a value: a node if it is used, a method's name if it is called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        """The node that reads the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


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
Proxy.__hash__ = object.__hash__
