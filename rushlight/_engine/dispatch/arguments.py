"""From what a caller wrote to what a row takes: binding, checking, PyTorch's TypeErrors."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.device import device
from rushlight._engine.core.errors import wrong_type
from rushlight._engine.core.recording import KEPT
from rushlight._engine.dispatch import older
from rushlight._engine.ops import forms
from rushlight._engine.ops.signature import REQUIRED, Param, rename_keywords
from rushlight._engine.ops.table import Row
from rushlight._engine.tensors.tensor import Tensor


def given_dtype(op: str, value: Any) -> dt.dtype | None:
    """A dtype, or None, as it is handed to `op`; Python's number types mean dtypes as well."""
    found = dt.of_python(value)
    if not (found is None or isinstance(found, dt.dtype)):
        raise wrong_type(op, "dtype", "torch.dtype", value)
    return found


def bind(
    row: Row, args: tuple[Any, ...], kwargs: dict[str, Any], params: tuple[Param, ...] | None = None
) -> dict[str, Any]:
    """Every parameter's value by name, in order; TypeError in PyTorch's manner."""
    params = row.params if params is None else params
    if kwargs:
        kwargs = rename_keywords(params, row.name, without_missing(kwargs))
    positional = [p for p in params if not p.keyword_only]
    args = spread_ints(row, positional, args)
    earlier = older.newer(row.name, args) if len(args) > len(positional) else None
    if earlier is not None:
        args, kwargs = earlier[0], {**kwargs, **earlier[1]}
    if len(args) > len(positional):
        raise TypeError(
            f"{row.display_name}() takes {len(positional)} positional arguments but {len(args)} "
            f"were given; {forms.how_called(row.name, params)}"
        )
    bound = {p.name: v for p, v in zip(positional, args, strict=False)}
    for key, value in kwargs.items():
        if key in bound:
            raise TypeError(f"{row.display_name}() got multiple values for argument '{key}'")
        bound[key] = value
    values = {}
    for position, p in enumerate(params):
        value = bound.get(p.name, p.default)
        if value is REQUIRED and p.type == "*Any":
            value = ()
        if value is REQUIRED:
            raise TypeError(
                f'{row.display_name}() missing 1 required positional arguments: "{p.name}"; '
                f"{forms.how_called(row.name, params)}"
            )
        values[p.name] = check(row, p, value, position)
    return values


def without_missing(kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keywords without those that a generated function handed on though nobody gave them."""
    return {name: value for name, value in kwargs.items() if value is not REQUIRED}


def spread_ints(row: Row, positional: Sequence[Param], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, ints from a *Ints parameter's place on as one: x.view(2, 3) is x.view((2, 3))."""
    for place, p in enumerate(positional):
        several = p.type == "*Any" and len(args) > place + 1
        if p.varargs and len(args) > place and (several or not isinstance(args[place], (tuple, list))):
            alone = len(args) == place + 1 and not several
            if alone and (isinstance(args[place], np.ndarray) or not hasattr(args[place], "__index__")):
                return args
            return (*args[:place], tuple(args[place:]))
    return args


def check(row: Row, p: Param, value: Any, position: int) -> Any:
    """One argument against its schema type; converts what PyTorch converts."""
    if p.is_list:
        return _tensor_list(row, p, value, position)
    if p.is_tensor:
        if isinstance(value, Tensor) or value is p.default or (value is None and "None" in p.type):
            return value
        if p.takes_number and is_number(value):
            return plain_number(value)
        _mismatch(row, p, "Tensor", value, position)
    if p.is_number:
        if value is p.default or (value is None and "None" in p.type):
            return value
        if isinstance(value, Tensor) and value._geometry.ndim == 0 and not value.requires_grad:
            return value.item()  # of one that requires grad PyTorch asks that its loss is written
        if is_number(value):
            return plain_number(value)
        _mismatch(row, p, "Number", value, position)
    checker = _CHECKS.get(p.plain_type)
    if checker is None or value is p.default:
        return plain_number(value)
    if value is None:
        if p.type.endswith("None"):
            return value
        _mismatch(row, p, p.type, value, position)
    return checker(row, p, value, position)


def is_number(value: Any) -> bool:
    """Whether `value` stands for a Python number (NumPy scalars do)."""
    return isinstance(value, (int, float, complex, np.number, np.bool_, numbers.Number))


def plain_number(value: Any) -> Any:
    """A NumPy scalar as the Python number it is."""
    return value.item() if isinstance(value, np.generic) else value


# What PyTorch's losses that are Python functions ask of which arguments, before an op is called.
_ASKED_FIRST = {
    **dict.fromkeys(
        ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy"),
        ("size", ("input", "target", "weight")),
    ),
    "binary_cross_entropy_with_logits": ("size", ("input", "target")),
    "gaussian_nll_loss": ("size", ("input",)),
    "margin_ranking_loss": ("dim", ("input1", "input2", "target")),
}


def _mismatch(row: Row, p: Param, wanted: str, value: Any, position: int) -> Any:
    if p.name == "reduction":  # PyTorch's losses are Python functions, which look it up
        raise ValueError(f"{value} is not a valid value for reduction")
    asked, of = _ASKED_FIRST.get(row.name, ("", ()))
    if p.name in of:
        getattr(value, asked)  # AttributeError of what is far from a tensor
    raise wrong_type(row.display_name, p.name, wanted, value, None if p.keyword_only else position + 1)


def _tensor_list(row: Row, p: Param, value: Any, position: int) -> Any:
    if isinstance(value, Tensor):
        _mismatch(row, p, "tuple of Tensors", value, position)
    if not isinstance(value, (list, tuple)):
        if value is None and "None" in p.type:
            return value
        _mismatch(row, p, "tuple of Tensors", value, position)
    for i, v in enumerate(value):
        if not isinstance(v, Tensor) and not (v is None and "None" in p.type):
            raise TypeError(
                f"expected Tensor as element {i} in argument {position}, but got {type(v).__name__}"
            )
    return value


def _int(row: Row, p: Param, value: Any, position: int) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        if isinstance(value, Tensor) and value._geometry.ndim == 0 and value._geometry.dtype.kind in "iu":
            return value.item()
        if isinstance(value, bool):
            _mismatch(row, p, "int", value, position)
        if not hasattr(value, "__index__") or isinstance(value, Tensor):
            _mismatch(row, p, "int", value, position)
    return value if value.__class__ in KEPT else int(value.__index__())


def _ints(row: Row, p: Param, value: Any, position: int) -> Any:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return value if value.__class__ in KEPT else int(value)
    if isinstance(value, Tensor):
        if value._geometry.dtype.kind in "iu" and value._geometry.ndim <= 1:
            return value.tolist()
        _mismatch(row, p, "tuple of ints", value, position)
    if not isinstance(value, (tuple, list)):
        _mismatch(row, p, "tuple of ints", value, position)
    return tuple([_int_item(row, p, v, i, position) for i, v in enumerate(value)])


def _int_item(row: Row, p: Param, value: Any, i: int, position: int) -> Any:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return value if value.__class__ in KEPT else int(value)
    if isinstance(value, Tensor) and value._geometry.size == 1 and value._geometry.dtype.kind in "iu":
        return value.item()
    if hasattr(value, "__index__") and not isinstance(value, (bool, Tensor)):
        return int(value.__index__())
    raise TypeError(
        f"{row.display_name}(): argument '{p.name}' (position {position + 1}) must be tuple of ints, "
        f"but found element of type {type(value).__name__} at pos {i}"
    )


def _float(row: Row, p: Param, value: Any, position: int) -> Any:
    number: Any = value
    if isinstance(value, Tensor) and value._geometry.ndim == 0:
        return number._real_number()
    if not isinstance(value, (int, float, np.number)):
        _mismatch(row, p, "float", value, position)
    return value if value.__class__ in KEPT else float(value)


def _bool(row: Row, p: Param, value: Any, position: int) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, Tensor) and value._geometry.size == 1:
        return bool(value)
    if isinstance(value, int):
        return bool(value)
    return bool(_mismatch(row, p, "bool", value, position))


def _str(row: Row, p: Param, value: Any, position: int) -> str:
    return value if isinstance(value, str) else str(_mismatch(row, p, "str", value, position))


def _dtype(row: Row, p: Param, value: Any, position: int) -> dt.dtype:
    if isinstance(value, dt.dtype):
        return value
    builtin = dt.OF_PYTHON.get(value) if isinstance(value, type) else None
    if builtin is None:
        _mismatch(row, p, "torch.dtype", value, position)
    return builtin  # type: ignore[return-value]


def _device(row: Row, p: Param, value: Any, position: int) -> device:
    return value if isinstance(value, device) else device(value)


_CHECKS: dict[str, Any] = {
    "int": _int,
    "Ints": _ints,
    "float": _float,
    "bool": _bool,
    "str": _str,
    "dtype": _dtype,
    "device": _device,
}
