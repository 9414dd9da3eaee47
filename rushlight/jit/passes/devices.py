"""Where a program's tensors are: on the device that an op is told, or on that of what it reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import rushlight as torch
from rushlight.jit.passes.shapes import STRUCTURE, UNKNOWN, Shapes
from rushlight.jit.program.graphs import Graph
from rushlight.jit.program.ir import Example, Node
from rushlight.jit.program.resolve import resolve
from rushlight.jit.program.types import TENSOR

_MOVES = {"aten::cuda": "cuda", "aten::cpu": "cpu", "aten::to_mkldnn": "mkldnn"}
# Ops whose result is where their first tensor is, whatever the others are.
_OF_FIRST = ("aten::view_as", "aten::expand_as", "aten::reshape_as")


class Devices(Shapes):
    """Finds out where the values of one program are."""

    def node(self, node: Node) -> None:
        """What a node gives."""
        told = _STRUCTURE.get(node.kind)
        if told is not None:
            told(self, node)
            return
        resolve(node)
        if node.schema is None or node.blocks:
            return
        device = self.device(node)
        for value in node.outputs:
            if value.type == TENSOR:
                value.example = replace(value.example or Example(), device=device)

    def device(self, node: Node) -> Any:
        """Where the results of an op are; None where nobody can tell."""
        if node.kind in _MOVES:
            return torch.device(_MOVES[node.kind])
        tensors = [v.example or Example() for v in node.inputs if v.type == TENSOR]
        if node.kind in _OF_FIRST:
            return tensors[0].device
        if node.kind == "aten::type_as":
            return tensors[1].device
        for parameter, value in zip(node.schema.parameters, node.inputs, strict=True):
            if parameter.raw.startswith("Device"):
                known = self.known.get(value, None if value.type.kind == "NoneType" else UNKNOWN)
                if known is not None:
                    return None if known is UNKNOWN else torch.device(known)
        return _common(tensors)


def _common(tensors: list[Example]) -> Any:
    """The device of several tensors, of which numbers on the CPU may go along with any other's."""
    if not tensors or any(one.device is None for one in tensors):
        return None
    cpu = [one for one in tensors if one.device.type == "cpu" and one.sizes == ()]
    others = {one.device for one in tensors if not (one.device.type == "cpu" and one.sizes == ())}
    if not others:
        return cpu[0].device
    return others.pop() if len(others) == 1 else None


def _constant(shapes: Shapes, node: Node) -> None:
    value = node.attrs.get("value")
    if isinstance(value, torch.Tensor):
        node.output.example = replace(node.output.example or Example(), device=value.device)
    else:
        shapes.set(node.output, value)


_STRUCTURE = {**STRUCTURE, "prim::Constant": _constant}


def propagate_device(graph: Graph) -> bool:
    """Write down where all tensors are whose device follows from those of the inputs."""
    Devices(("device",)).block(graph._function.block)
    graph.edited()
    return True
