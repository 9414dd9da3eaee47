"""Whether `dynamic_shapes` is told as the inputs are built."""

from __future__ import annotations

from typing import Any, NoReturn

import rushlight as torch
from rushlight._engine.core.pytree import kind_of
from rushlight.export.errors import UserError
from rushlight.export.symbols import Dim, _Hint, children

_EACH = "a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC"
_BUILT = (dict, list, tuple)


def check(inputs: Any, shapes: Any) -> None:
    """UserError where what is said of an input has another structure than the input, or is no shape.

    inputs: a dict of the arguments by name; shapes: a dict, or a sequence of what is said of each.
    """
    if isinstance(shapes, dict):
        if shapes.keys() != inputs.keys():
            raise UserError(_names(inputs, shapes))
    elif isinstance(shapes, (tuple, list)):
        inputs = type(shapes)(inputs.values())
    else:
        return
    if shapes:
        _check(inputs, shapes, "")


def _names(inputs: dict[str, Any], shapes: dict[Any, Any]) -> str:
    only = list(inputs.values())
    enclosed = len(only) == 1 and next(iter(inputs)) not in shapes and isinstance(only[0], dict)
    hint = (
        "Since here `inputs` is a list/tuple enclosing a single dict, maybe you just forgot to enclose "
        "`dynamic_shapes` in a list/tuple?"
        if enclosed
        else "Alternatively, you could also ignore arg names entirely and specify `dynamic_shapes` as a "
        "list/tuple matching `inputs`."
    )
    return (
        "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names "
        f"{list(inputs)} of `inputs`, but here they are {list(shapes)}. {hint}"
    )


def _mismatch(what: str) -> NoReturn:
    raise UserError(f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: {what}")


def _check(value: Any, shape: Any, path: str) -> None:
    """Go through a container beside what is said of it; None says that nothing below may change."""
    if isinstance(value, torch.Tensor):
        _of_tensor(value, shape, path)
    elif shape is None or kind_of(value) is None:
        return
    elif type(value) not in _BUILT:  # a program's class: told by its parts in order
        parts = [item for _, item in children(value)]
        if isinstance(shape, (list, tuple)) and len(shape) == len(parts):
            _each(type(shape)(parts), shape, path)
    elif type(shape) not in _BUILT:
        _mismatch(f"`inputs{path}` is a {type(value)}, but `dynamic_shapes{path}` is not")
    elif type(value) is not type(shape):
        _mismatch(f"`inputs{path}` is a {type(value)}, but `dynamic_shapes{path}` is a {type(shape)}")
    else:
        _each(value, shape, path)


def _each(value: Any, shape: Any, path: str) -> None:
    """The same of each part of a container."""
    if isinstance(value, dict):
        if value.keys() != shape.keys():
            _mismatch(
                f"`inputs{path}` has keys {list(value)}, but `dynamic_shapes{path}` has keys {list(shape)}"
            )
        for key, item in value.items():
            _check(item, shape[key], f"{path}[{key!r}]")
        return
    if len(value) != len(shape):
        _mismatch(
            f"`inputs{path}` has {len(value)} elements, but `dynamic_shapes{path}` has {len(shape)} elements"
        )
    for i, item in enumerate(value):
        _check(item, shape[i], f"{path}[{i}]")


def _of_tensor(t: Any, shape: Any, path: str) -> None:
    """UserError for what says nothing of a tensor's dims."""
    where = f"`dynamic_shapes{path}`"
    if shape is None:
        return
    if isinstance(shape, _Hint) or not isinstance(shape, (dict, tuple, list)):
        raise UserError(
            f"Unexpected input tensor shape {shape} specified at {where} (expected either a list/tuple of "
            f"dimensions, or a dict mapping indices to dimensions, where each dimension is an int, {_EACH})"
        )
    if not isinstance(shape, dict) and len(shape) != t.dim():
        raise UserError(
            f"Expected dynamic shape spec {shape} specified at {where} to have the same length as the actual "
            f"tensor shape {t.shape} (expected {t.dim()}, but got {len(shape)} instead)"
        )
    for i, dim in shape.items() if isinstance(shape, dict) else enumerate(shape):
        if dim is None or isinstance(dim, (int, Dim, _Hint)):
            continue
        what = f"mapped to index {i}" if isinstance(shape, dict) else f"#{i}"
        raise UserError(
            f"Unexpected dimension {what} in input tensor shape {shape} specified at {where} (expected None, "
            f"an int, {_EACH}, {' ' * isinstance(shape, dict)}but got {dim!r} instead)"
        )
