"""torch._export.serde.dynamic_shapes: dynamic_shapes as what JSON can hold, and back."""

from __future__ import annotations

import ast
from dataclasses import asdict, dataclass
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import kind_of, tree_map
from rushlight.export.errors import UserError
from rushlight.export.recording.shapes_given import check
from rushlight.export.symbols import UNBOUNDED, Dim, _Hint, children

__all__ = ["DynamicShapesSpec", "RootDim", "_dump_dynamic_shapes", "_load_dynamic_shapes"]


@dataclass
class RootDim:
    """The bounds of a Dim, and the names of those that follow it."""

    min: int
    max: int | None
    derived: list[str]


@dataclass
class DynamicShapesSpec:
    """dynamic_shapes with names in the place of Dims, and these by name."""

    dynamic_shapes: Any
    dims: dict[str, RootDim]


def _dump_dynamic_shapes(
    dynamic_shapes: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, to_dict: bool = False
) -> Any:
    """A DynamicShapesSpec, or a dict of its contents: a list for each tensor of `args` and `kwargs`, which
    has a size that stays as a number, another by its Dim's name.
    """
    dims: dict[str, RootDim] = {}
    shapes = None
    if dynamic_shapes is not None:
        given = tuple(dynamic_shapes.values()) if isinstance(dynamic_shapes, dict) else tuple(dynamic_shapes)
        values = (*args, *(kwargs or {}).values())
        check(dict(enumerate(values)), given)
        shapes = tuple(_written(value, shape, dims) for value, shape in zip(values, given, strict=True))
    spec = DynamicShapesSpec(shapes, {name: dims[name] for name in sorted(dims)})
    return asdict(spec) if to_dict else spec


def _written(value: Any, shape: Any, dims: dict[str, RootDim]) -> Any:
    if isinstance(value, torch.Tensor):
        if shape is None:
            return ["_DimHint.STATIC"] * value.dim()
        told = [shape.get(d) if isinstance(shape, dict) else shape[d] for d in range(value.dim())]
        return [_dim(size if dim is None else dim, dims) for size, dim in zip(value.shape, told, strict=True)]
    if isinstance(value, dict):
        return {k: _written(v, None if shape is None else shape[k], dims) for k, v in value.items()}
    if kind_of(value) is not None and not isinstance(value, (tuple, list)):  # a program's class: its parts
        value = [item for _, item in children(value)]
    if isinstance(value, (tuple, list)):
        parts = [_written(v, None if shape is None else shape[i], dims) for i, v in enumerate(value)]
        return tuple(parts) if isinstance(value, tuple) else parts
    return None


def _dim(dim: Any, dims: dict[str, RootDim]) -> Any:
    if isinstance(dim, _Hint):
        return f"_DimHint.{dim.kind}"
    if not isinstance(dim, Dim):
        return dim
    root = dim.root
    own = dims.setdefault(root.__name__, RootDim(root.min, None if root.max == UNBOUNDED else root.max, []))
    if dim is not root and dim.__name__ not in own.derived:
        own.derived = sorted([*own.derived, dim.__name__])
    return dim.__name__


def _load_dynamic_shapes(spec: Any, from_dict: bool = False) -> Any:
    """The dynamic_shapes of a DynamicShapesSpec, or of a dict of its contents. UserError for another."""
    if from_dict:
        spec = _of_dict(spec)
    elif not isinstance(spec, DynamicShapesSpec):
        raise UserError(f"Expected `spec` to be a DynamicShapesSpec, got {type(spec)}")
    if spec.dynamic_shapes is None:
        return None
    known: dict[str, Dim] = {}
    for name, info in spec.dims.items():
        if not name.isidentifier():
            raise UserError(f"Expected `spec['dims']` keys to be symbols, got {name}")
        known[name] = Dim(name, min=info.min, max=info.max)
        for text in info.derived:
            known[text] = _derived(text, name, known[name])

    def read(value: Any) -> Any:
        if value is None or isinstance(value, int):
            return value
        if not isinstance(value, str):
            raise UserError(
                "Expected leaves in `spec['dynamic_shapes']` to be ints, None, Dim.AUTO/STATIC, symbols, "
                f" or derived expressions, got {value}"
            )
        kind = value.removeprefix("_DimHint.")
        if kind != value:
            return getattr(Dim, kind)
        if value not in known:
            raise UserError(
                "Expected dims in `spec['dynamic_shapes']` to be tracked in `spec['dims']`, "
                f"got {value} which is not in {spec.dims.keys()}"
            )
        return known[value]

    return tree_map(read, spec.dynamic_shapes)


def _of_dict(spec: Any) -> DynamicShapesSpec:
    if not isinstance(spec, dict):
        raise UserError(f"With from_dict=True, expected `spec` to be a dict, got {type(spec)}")
    if sorted(spec) != ["dims", "dynamic_shapes"]:
        raise UserError(
            "With from_dict=True, expected `spec` to have keys `dims` and `dynamic_shapes`, "
            f"instead found {spec.keys()}"
        )
    dims = {}
    for name, told in spec["dims"].items():
        if not isinstance(name, str):
            raise UserError(f"Expected `spec['dims']` keys to be strings for symbols, got key {type(name)}")
        if sorted(told) != ["derived", "max", "min"]:
            raise UserError(
                "Expected `spec['dims']` values to have keys `derived`, `max`, and `min`, "
                f"instead found {told.keys()}"
            )
        for end, types in (("min", int), ("max", (int, type(None)))):
            if not isinstance(told[end], types):
                kinds = "an int" if end == "min" else "an int or None"
                raise UserError(
                    f"Expected dims in `spec['dims']` to map `{end}` to {kinds}, got {name}: {told[end]}"
                )
        derived = told["derived"]
        if not isinstance(derived, list) or not all(isinstance(text, str) for text in derived):
            raise UserError(
                "Expected dims in `spec['dims']` to map `derived` to a list of derived expressions, "
                f"got {name}: {derived}"
            )
        dims[name] = RootDim(**told)
    return DynamicShapesSpec(spec["dynamic_shapes"], dims)


def _derived(text: str, name: str, dim: Dim) -> Dim:
    """The Dim that an expression like 2*dim + 1 says."""
    tree = ast.parse(text, mode="eval")
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if names != {name}:
        raise UserError(f"Expected derived expressions in to have {name} as the only free symbol, got {text}")
    if not all(
        isinstance(
            n, (ast.Expression, ast.BinOp, ast.Name, ast.Constant, ast.Load, ast.Add, ast.Sub, ast.Mult)
        )
        for n in ast.walk(tree)
    ):
        raise UserError(f"Expected derived expressions to be linear expressions, got {text}")
    found: Any = eval(compile(tree, "<dim>", "eval"), {"__builtins__": {}}, {name: dim})
    found.__name__ = text
    made: Dim = found
    return made
