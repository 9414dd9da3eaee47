"""What nodes of an exported program are, as PyTorch's users read it: fake tensors with symbolic sizes."""

from __future__ import annotations

import operator
from typing import Any

from rushlight._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from rushlight.export.listener import Value
from rushlight.export.numbers.environment import CallMethodKey
from rushlight.export.numbers.expressions import Known, parsed, symbol
from rushlight.export.numbers.symbolic import Numbers, SymFloat, SymInt
from rushlight.export.symbols import UNBOUNDED, Sym, Symbol
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.utils._pytree import SequenceKey


def numbers_of(known: list[Symbol]) -> Numbers:
    """The numbers of a program that is not being recorded."""
    ranges = {s.name: (s.low, s.high) for s in known}
    found = Numbers(Graph(), Known(ranges), {s.name: s.hint for s in known}, {s.name for s in known}, dict)
    found.backed = {s.name for s in known if s.places}
    found.close()
    return found


class Fakes:
    """Turns what a record knows about tensors into fake tensors of one mode."""

    def __init__(self, numbers: Numbers, mode: FakeTensorMode | None = None) -> None:
        self.numbers = numbers
        self.mode = mode or FakeTensorMode(shape_env=numbers.env(), export=True)
        self.mode.static_shapes = False

    def module(self, module: Any) -> None:
        """All nodes of a graph module, and of those that it holds."""
        for part in module.modules():
            if isinstance(part, GraphModule):
                for node in part.graph.nodes:
                    if "val" in node.meta:
                        node.meta["val"] = self.value(node.meta["val"])

    def bindings(self) -> None:
        """Note at nodes which symbols they are the first to have, and where in their values."""
        for name, (node, dim) in self.numbers.unbacked.items():
            if self.numbers.known.follows(name, self.numbers.backed):
                continue
            path: tuple[Any, ...] = ()
            if dim is not None:
                path = CallMethodKey("size"), SequenceKey(dim)
            if node.target is operator.getitem:
                node, path = node.args[0], (SequenceKey(node.args[1]), *path)
            node.meta.setdefault("unbacked_bindings", {})[symbol(name)] = path

    def value(self, value: Any) -> Any:
        """What a node is: a tensor, a number, or several."""
        if isinstance(value, Value):
            return self.tensor(value)
        if isinstance(value, Sym):
            return self.number(value)
        if type(value) in (tuple, list):
            return type(value)(map(self.value, value))
        return value

    def number(self, value: Any) -> Any:
        """A size."""
        if not isinstance(value, Sym) or value.kind == "bool":
            return value
        expr = parsed(value.expression)
        for name in expr.free():
            self.numbers.known.ranges.setdefault(name, (-UNBOUNDED, UNBOUNDED))
        kind: Any = SymFloat if value.kind == "float" else SymInt
        return kind.of(value.hint, self.numbers, expr, None)

    def tensor(self, value: Value) -> FakeTensor:
        """A tensor."""
        sizes, steps = ([self.number(n) for n in told] for told in (value.shape, value.stride()))
        shape, strides = ([int.__int__(n) for n in told] for told in (sizes, steps))
        try:
            made = FakeTensor.of(self.mode, shape, strides, sizes, steps, value.dtype, value.device)
        except OverflowError:
            raise ValueError(f"there is no tensor of the sizes {shape} and strides {strides}") from None
        made.requires_grad = value.requires_grad
        return made
