"""Say what a graph's arguments are, before a pass finds out what follows from it."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.jit.program.graphs import Graph
from rushlight.jit.program.graphtypes import TYPES


def apply_input_props_using_example(graph: Graph, example_input: list[Any]) -> None:
    """Give the graph's tensor arguments the types of these examples; None leaves one as it is."""
    values = list(graph.inputs())
    if not values:
        return
    if values[0].type().kind() == "ClassType" and values[0].debugName() == "self":
        values = values[1:]
    if len(values) != len(example_input):
        raise RuntimeError("Number of inputs in graph does not match number of inputs in the example")
    for i, (value, example) in enumerate(zip(values, example_input, strict=True)):
        if example is None:
            continue
        is_tensor = value.type().kind() == "TensorType"
        if isinstance(example, torch.Tensor) != is_tensor:
            raise RuntimeError(f"Input {i} does not match type of example", value, example)
        if is_tensor:
            value.setType(TYPES["TensorType"].create_from_tensor(example))
