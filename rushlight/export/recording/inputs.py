"""A program's inputs by name, and what `dynamic_shapes` says of each."""

from __future__ import annotations

import inspect
import re
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import broadcast, flatten
from rushlight.export.errors import UserError
from rushlight.export.numbers.symbolic import SIZES
from rushlight.export.signature import ConstantArgument, InputKind
from rushlight.export.symbols import children

_WORDLESS = re.compile("[^a-zA-Z0-9]")  # what no name in a graph has of keys


def paths(name: str, source: str, value: Any) -> list[tuple[str, str]]:
    """(name, source) of each leaf of an argument."""
    _, tree = flatten(value)
    if tree.kind is None:
        return [(name, source)]
    return [
        part
        for key, item in children(value)
        for part in paths(f"{name}_{_WORDLESS.sub('_', str(key.key))}", f"{source}{key.told}", item)
    ]


def distinct(names: list[str]) -> list[str]:
    """The names, with a number behind those that were there already."""
    found: dict[str, None] = {}
    for name in names:
        number, new = 0, name
        while new in found:
            number += 1
            new = f"{name}_{number}"
        found[new] = None
    return list(found)


def by_parameter(shapes: Any, forward: inspect.Signature, bound: dict[str, Any], names: list[str]) -> Any:
    """What `dynamic_shapes` says of each argument, by name: it may be in the order of the parameters, and
    tell those of *args and **kwargs together.
    """
    whole = isinstance(shapes, (tuple, list)) and len(shapes) == len(bound)
    if whole:
        shapes = dict(zip(bound, shapes, strict=True))
    if not isinstance(shapes, dict) or shapes.keys() != bound.keys():
        same = isinstance(shapes, (tuple, list)) and len(shapes) == len(names)
        return dict(zip(names, shapes, strict=True)) if same else shapes
    found: dict[str, Any] = {}
    for name, given in shapes.items():
        kind, value = forward.parameters[name].kind, bound[name]
        if kind is inspect.Parameter.VAR_POSITIONAL and value:
            if given is not None and len(given) != len(value):
                return shapes
            found |= {f"{name}_{i}": None if given is None else given[i] for i in range(len(value))}
        elif kind is inspect.Parameter.VAR_KEYWORD:
            found |= dict.fromkeys(value) if given is None else given
        else:
            found[name] = given
    return found


def spread(shapes: Any, order: dict[str, Any]) -> list[Any]:
    """What `dynamic_shapes` says of each leaf; a dict of it has the keys of `order`."""
    if shapes is None:
        return [None for value in order.values() for _ in flatten(value)[0]]
    if not isinstance(shapes, (dict, tuple, list)):
        raise UserError(f"Expected dynamic_shapes to be a dict, tuple or list, got {type(shapes)}")
    if isinstance(shapes, dict):
        shapes = [shapes[name] for name in order]
    if len(shapes) != len(order):
        raise UserError(
            "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs` "
            f"has {len(order)} elements, but `dynamic_shapes` has {len(shapes)} elements"
        )
    found = []
    for given, value in zip(shapes, order.values(), strict=True):
        tree = flatten(value)[1]
        whole = given is None or tree.kind is None
        found += (
            [given] * len(flatten(value)[0])
            if whole
            else (broadcast(given, tree) or _shaped_like(given, value))
        )
    return found


def _shaped_like(given: Any, value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor) or given is None or flatten(value)[1].kind is None:
        return [given]
    parts = [
        (given[i if isinstance(given, (tuple, list)) else key.key], item)
        for i, (key, item) in enumerate(children(value))
    ]
    return [part for below, item in parts for part in _shaped_like(below, item)]


def examples(program: Any) -> Any:
    """Inputs of the sizes and dtypes that a program tells, where there are no examples."""
    specs = program.graph_signature.input_specs
    given: list[Any] = []
    for node, spec in zip(program.graph.nodes, specs, strict=False):
        if spec.kind is not InputKind.USER_INPUT:
            continue
        value = node.meta.get("val")
        if isinstance(spec.arg, ConstantArgument):
            given.append(spec.arg.value)
        elif isinstance(value, SIZES):
            given.append(value.hint)
        else:
            sizes = [n.hint if isinstance(n, SIZES) else n for n in value.shape]
            given.append(torch.zeros(sizes, dtype=value.dtype, device=value.device))
    return program._in_spec.unflatten(given)
