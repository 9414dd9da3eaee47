"""TestCase.assertEqual's comparison: assert_close's, and numbers with tensors, sets, texts, any objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set as AbstractSet
from numbers import Number
from types import SimpleNamespace as Rules  # the arguments of one call, as of assert_close
from typing import Any

import numpy as np

import rushlight as torch
from rushlight.testing import comparison

# Python's numbers are as exact as tensors made of them.
_DTYPES = {float: torch.float32, complex: torch.complex64}


def assert_equal(
    actual: Any,
    expected: Any,
    msg: Callable[[str], str] | None,
    *,
    floors: tuple[float, float],
    rtol: float | None,
    atol: float | None,
    **checks: Any,
) -> None:
    """Raise AssertionError unless both are the same.

    floors: the least (rtol, atol) where none are given.
    checks: assert_close's options.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("Both 'rtol' and 'atol' must be either specified or omitted, but got only one")
    rules = Rules(rtol=rtol, atol=atol, allow_subclasses=True, floors=floors, **checks)
    _compare(actual, expected, rules, msg, ())


def _compare(
    actual: Any, expected: Any, rules: Rules, msg: Callable[[str], str] | None, path: tuple[Any, ...]
) -> None:
    if any(isinstance(x, np.ndarray) and x.dtype.kind not in "biufc" for x in (actual, expected)):
        # texts and objects, which no tensor holds
        actual, expected = (x.tolist() if _is_tensor(x) else list(x) for x in (actual, expected))
    if _is_tensor(actual) and isinstance(expected, (list, tuple)):
        expected = torch.as_tensor(expected, dtype=_as_tensor(actual).dtype)
    elif _is_tensor(expected) and isinstance(actual, (list, tuple)):
        actual = torch.as_tensor(actual, dtype=_as_tensor(expected).dtype)
    try:
        children = _children(actual, expected, path)
    except AssertionError as error:
        raise AssertionError(msg(str(error)) if msg else str(error)) from None
    if children is None:
        text = _difference(actual, expected, rules)
        if text is not None:
            text += comparison.place(path)
            raise AssertionError(msg(text) if msg else text)
        return
    for key in children:
        _compare(actual[key], expected[key], rules, msg, (*path, key))


def _children(actual: Any, expected: Any, path: tuple[Any, ...]) -> Any:
    """The keys of two containers of one kind; None if they are not."""
    if all(isinstance(x, Sequence) and not isinstance(x, (str, bytes)) for x in (actual, expected)):
        if len(actual) != len(expected):
            lengths = f"{len(actual)} != {len(expected)}"
            raise AssertionError(f"The length of the sequences mismatch: {lengths}{comparison.place(path)}")
        return range(len(actual))
    if isinstance(actual, dict) and isinstance(expected, dict):
        return comparison.common_keys(actual, expected, path)
    return None


def _is_tensor(value: Any) -> bool:
    return isinstance(value, (torch.Tensor, np.ndarray))


def _as_tensor(value: Any) -> torch.Tensor:
    return value if isinstance(value, torch.Tensor) else torch.as_tensor(value)


def _difference(actual: Any, expected: Any, rules: Rules) -> str | None:
    """What differs between two things that are no containers."""
    both = (actual, expected)
    if any(x is None for x in both):
        return None if actual is expected else f"None mismatch: {actual} is not {expected}"
    if all(_is_tensor(x) for x in both):
        left, right = (_as_tensor(x) for x in both)
        return comparison.compare_tensors(left, right, _with_floors(rules, left.dtype, right.dtype))
    if any(isinstance(x, (Number, np.bool_)) for x in both) and all(
        isinstance(x, (Number, np.bool_)) or _is_tensor(x) for x in both
    ):
        return _numbers_differ(actual, expected, rules)
    if isinstance(actual, AbstractSet) and isinstance(expected, AbstractSet):
        return None if actual == expected else f"Set comparison failed: {actual} != {expected}"
    kind = "String" if all(isinstance(x, str) for x in both) else "Object"
    kind = "Type" if all(isinstance(x, type) for x in both) else kind
    return None if actual == expected else f"{kind} comparison failed: {actual!r} != {expected!r}"


def _numbers_differ(actual: Any, expected: Any, rules: Rules) -> str | None:
    numbers: list[Any] = []
    for value in (actual, expected):
        if _is_tensor(value) and _as_tensor(value).numel() != 1:
            raise ValueError(
                "Only single element tensor-likes can be compared against a number. "
                f"Got {_as_tensor(value).numel()} elements instead."
            )
        value = value.item() if _is_tensor(value) or isinstance(value, np.generic) else value
        numbers.append(int(value) if isinstance(value, bool) else value)
    loose = Rules(**(vars(rules) | {"check_dtype": False}))
    dtypes = [_DTYPES.get(type(x), torch.int64) for x in numbers]
    return comparison.compare_numbers(numbers[0], numbers[1], _with_floors(loose, *dtypes))


def _with_floors(rules: Rules, *dtypes: torch.dtype) -> Rules:
    if rules.rtol is not None:
        return rules
    default = comparison.tolerances(rules, *dtypes)
    rtol, atol = (max(pair) for pair in zip(default, rules.floors, strict=True))
    return Rules(**(vars(rules) | {"rtol": rtol, "atol": atol}))
