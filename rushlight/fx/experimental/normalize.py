"""Graphs in which what may be written in several ways is written in one."""

from __future__ import annotations

import operator
from typing import Any

import rushlight as torch
from rushlight.fx.experimental.schema_type_annotation import AnnotateTypesWithSchema
from rushlight.fx.interpreter import Transformer
from rushlight.fx.node import Node, map_aggregate
from rushlight.fx.operator_schemas import create_type_hint, normalize_function, normalize_module

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """Rewrites a module: arguments of functions and modules go by name, defaults among them; not
    `normalize_to_only_use_kwargs`: positional ones stay.

    Where a function has several signatures, `node.meta["type"]` says the types of what nodes give.
    """

    def __init__(self, module: Any, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.node_map: dict[Any, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        """The Proxy of what stands for a node, with its notes and its type."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)

        def type_of(arg: Any) -> Any:
            return n.meta.get("type") if isinstance(arg, Node) else type(arg)

        if n.op == "call_function":
            given: Any = map_aggregate(n.args, type_of)
            types = tuple(create_type_hint(of) for of in given)
            named = {name: type_of(value) for name, value in kwargs.items()}
            found = self.call_function(n.target, args, kwargs, types, named)
        else:
            found = super().run_node(n)
        if n.op != "output":
            self.node_map[found] = n
            found.node.meta, found.node.type = n.meta, n.type
        return found

    def call_function(
        self, target: Any, args: Any, kwargs: Any, arg_types: Any = None, kwarg_types: Any = None
    ) -> Any:
        """A call of the same function with its arguments by name."""
        only = self.normalize_to_only_use_kwargs
        found = normalize_function(target, args, kwargs, arg_types, kwarg_types, only)
        if found is None:
            return super().call_function(target, args, kwargs)
        return self.tracer.create_proxy("call_function", target, *found)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call of the same module with its arguments by name."""
        found = normalize_module(self.module, target, args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *((args, kwargs) if found is None else found))


class NormalizeOperators(AnnotateTypesWithSchema):
    """Rewrites a module: functions of torch that an operator calls as well are called by the operator."""

    binary_magic_method_remap = {
        torch.add: operator.add,
        torch.mul: operator.mul,
        torch.sub: operator.sub,
        torch.div: operator.truediv,
        torch.floor_divide: operator.floordiv,
        torch.remainder: operator.mod,
        torch.eq: operator.eq,
        torch.ne: operator.ne,
        torch.lt: operator.lt,
        torch.le: operator.le,
        torch.gt: operator.gt,
        torch.ge: operator.ge,
    }

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call of the same function, or of the operator."""
        called = self.binary_magic_method_remap.get(target)
        if called is None or len(args) != 2:
            return super().call_function(target, args, kwargs)
        return super().call_function(called, args, {})
