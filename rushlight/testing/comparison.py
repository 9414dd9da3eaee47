"""assert_close: nested results taken apart into pairs, then each pair compared.

The structure (types, lengths, keys) is checked whole before any value is. A comparison returns the text
of what differs, or None.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import rushlight as torch
from rushlight.testing import values

_Compare = Callable[[Any, Any, "Rules"], "str | None"]
_Pair = tuple[_Compare, Any, Any, tuple[Any, ...]]


@dataclass(frozen=True)
class Rules:
    """The options of one call of `assert_close`."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    allow_subclasses: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool


def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
                 atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
                 check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False,
                 msg: str | Callable[[str], str] | None = None) -> None:
    """Raise AssertionError unless `|actual - expected| <= atol + rtol * |expected|` in every element.

    Takes tensors, NumPy arrays, numbers, booleans, None, and sequences and mappings of these. Infinities
    are close only if equal, NaNs only with `equal_nan`. Shape, and as the `check_*` options say device,
    dtype, layout and stride, must agree; with `check_dtype=False` both sides are promoted. Tensors on the
    meta device have only their attributes compared.

    rtol, atol: both or neither (ValueError). By default the larger of the two dtypes': float16 (1e-3, 1e-5),
    bfloat16 (1.6e-2, 1e-5), float32 and complex64 (1.3e-6, 1e-5), float64 and complex128 (1e-7, 1e-7),
    others zero. float8 is compared for equality only.
    allow_subclasses: False asks for equal types, not for related ones.
    msg: the error's text, or a function from the text made here to the one to raise.

    Raises TypeError where two inputs cannot be compared at all (an array with a tensor, strings).
    """
    if (rtol is None) != (atol is None):
        raise ValueError("Both 'rtol' and 'atol' must be either specified or omitted, but got no "
                         f"{'rtol' if rtol is None else 'atol'}.")
    rules = Rules(rtol, atol, equal_nan, allow_subclasses, check_device, check_dtype, check_layout,
                  check_stride)
    for compare, left, right, path in list(_pairs(actual, expected, rules, ())):
        text = compare(left, right, rules)
        if text is not None:
            text += _place(path)
            raise AssertionError(msg(text) if callable(msg) else msg if isinstance(msg, str) else text)


def _place(path: tuple[Any, ...]) -> str:
    return f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}" if path else ""


def _pairs(actual: Any, expected: Any, rules: Rules, path: tuple[Any, ...]) -> Iterator[_Pair]:
    if all(isinstance(x, Sequence) and not isinstance(x, str) for x in (actual, expected)):
        if len(actual) != len(expected):
            raise AssertionError(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
                                 + _place(path))
        keys: Any = range(len(actual))
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        keys = _common_keys(actual, expected, path)
    else:
        yield _comparison(actual, expected, rules, path), actual, expected, path
        return
    for key in keys:
        yield from _pairs(actual[key], expected[key], rules, (*path, key))


def _common_keys(actual: Mapping[Any, Any], expected: Mapping[Any, Any], path: tuple[Any, ...]) -> list[Any]:
    missing, additional = expected.keys() - actual.keys(), actual.keys() - expected.keys()
    if missing or additional:
        raise AssertionError("The keys of the mappings do not match:\n"
                             f"Missing keys in the actual mapping: {_sorted(missing)}\n"
                             f"Additional keys in the actual mapping: {_sorted(additional)}" + _place(path))
    return _sorted(actual)


def _sorted(keys: Any) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:  # keys of types that have no common order
        return list(keys)


def _comparison(actual: Any, expected: Any, rules: Rules, path: tuple[Any, ...]) -> _Compare:
    """How to compare two things that are no containers; TypeError if there is no way."""
    both = (actual, expected)
    if actual is None or expected is None:
        return values.nones
    logical = [isinstance(x, (bool, np.bool_)) for x in both]
    if all(logical):
        return values.booleans
    if all(isinstance(x, (int, float, complex, np.number, np.bool_)) for x in both):
        if any(logical):
            raise RuntimeError(f"a bool is compared only with a bool, but got {type(actual)} and "
                               f"{type(expected)}: convert one of them{_place(path)}")
        return values.numbers
    if _related(actual, expected, rules) and all(_is_tensor_like(x) for x in both):
        return values.tensors
    raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and "
                    f"{type(expected)}.{_place(path)}")


def _related(actual: Any, expected: Any, rules: Rules) -> bool:
    if rules.allow_subclasses:
        return isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    return type(actual) is type(expected)


def _is_tensor_like(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return True
    try:
        torch.as_tensor(value)
    except Exception:  # the value's own __array__ may raise anything
        return False
    return True
