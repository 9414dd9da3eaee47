"""assert_close: nested results taken apart into pairs, then each pair compared.

The structure (types, lengths, keys) is checked whole before any value is. A comparison returns the text
of what differs, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from types import SimpleNamespace as Rules  # the arguments of one call of assert_close
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.core.callers import warn

_Compare = Callable[[Any, Any, "Rules"], "str | None"]
_Pair = tuple[_Compare, Any, Any, tuple[Any, ...]]
# Default (rtol, atol) by dtype; all others are compared exactly.
_TOLERANCES = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
_NUMBERS = {float: torch.float64, complex: torch.complex128}
_WIDE_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
# Those of assert_allclose.
_OLD_TOLERANCES = {torch.float16: (1e-3, 1e-3), torch.float32: (1e-4, 1e-5), torch.float64: (1e-5, 1e-8)}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
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
    rules = Rules(**locals())
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}."
        )
    for compare, left, right, path in list(_pairs(actual, expected, rules, ())):
        text = compare(left, right, rules)
        if text is not None:
            text += place(path)
            raise AssertionError(msg(text) if callable(msg) else msg if isinstance(msg, str) else text)


def place(path: tuple[Any, ...]) -> str:
    """Where in nested containers something differs, as an error's last line."""
    return f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}" if path else ""


def _pairs(actual: Any, expected: Any, rules: Rules, path: tuple[Any, ...]) -> Iterator[_Pair]:
    if all(isinstance(x, Sequence) and not isinstance(x, str) for x in (actual, expected)):
        if len(actual) != len(expected):
            raise AssertionError(
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}" + place(path)
            )
        keys: Any = range(len(actual))
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        keys = common_keys(actual, expected, path)
    else:
        yield _comparison(actual, expected, rules, path), actual, expected, path
        return
    for key in keys:
        yield from _pairs(actual[key], expected[key], rules, (*path, key))


def common_keys(actual: Mapping[Any, Any], expected: Mapping[Any, Any], path: tuple[Any, ...]) -> list[Any]:
    """The keys of two mappings; AssertionError unless they are the same."""
    missing, additional = expected.keys() - actual.keys(), actual.keys() - expected.keys()
    if missing or additional:
        raise AssertionError(
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {_sorted(missing)}\n"
            f"Additional keys in the actual mapping: {_sorted(additional)}" + place(path)
        )
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
        return _nones
    logical = [isinstance(x, (bool, np.bool_)) for x in both]
    if all(logical):
        return _booleans
    if all(isinstance(x, (int, float, complex, np.number, np.bool_)) for x in both):
        if any(logical):
            raise RuntimeError(
                f"a bool is compared only with a bool, but got {type(actual)} and "
                f"{type(expected)}: convert one of them{place(path)}"
            )
        return compare_numbers
    if _related(actual, expected, rules) and all(_is_tensor_like(x) for x in both):
        return compare_tensors
    raise TypeError(
        f"No comparison pair was able to handle inputs of type {type(actual)} and "
        f"{type(expected)}.{place(path)}"
    )


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


# --- two values, and the text that says how they differ ---------------------------------------------


def _nones(actual: Any, expected: Any, rules: Rules) -> str | None:
    """At least one of the two is None."""
    return None if actual is expected else f"None mismatch: {actual} is not {expected}"


def _booleans(actual: Any, expected: Any, rules: Rules) -> str | None:
    """Two booleans, of Python or NumPy."""
    return None if bool(actual) is bool(expected) else f"Booleans mismatch: {actual} is not {expected}"


def compare_numbers(actual: Any, expected: Any, rules: Rules) -> str | None:
    """Two numbers, of Python or NumPy."""
    actual, expected = (x.item() if isinstance(x, np.number) else x for x in (actual, expected))
    if rules.check_dtype and type(actual) is not type(expected):
        return f"The (d)types do not match: {type(actual)} != {type(expected)}."
    rtol, atol = tolerances(rules, _NUMBERS.get(type(actual)), _NUMBERS.get(type(expected)))
    difference = abs(actual - expected)
    close = (
        actual == expected
        or (difference < inf and difference <= atol + rtol * abs(expected))
        or (rules.equal_nan and actual != actual and expected != expected)
    )
    return None if close else _scalars_differ(actual, expected, rtol, atol)


def compare_tensors(actual: Any, expected: Any, rules: Rules) -> str | None:
    """Two tensors, or what `torch.as_tensor` takes."""
    left, right = (torch.as_tensor(x).detach() for x in (actual, expected))
    text = _attributes_differ(left, right, rules)
    if text is not None or "meta" in (left.device.type, right.device.type):
        return text
    if left.device != right.device:
        left, right = left.cpu(), right.cpu()
    if left.layout is right.layout is torch.jagged:
        return compare_tensors(left.values(), right.values(), rules)
    if torch.strided not in (left.layout, right.layout):
        return _sparse_differ(left, right, rules)
    if left.layout != right.layout:
        left, right = (x if x.layout is torch.strided else x.to_dense() for x in (left, right))
    rtol, atol = tolerances(rules, left.dtype, right.dtype)
    # Eight bits tell so few numbers apart that a tolerance would mean nothing: equal or not.
    float8 = left.dtype == right.dtype and left.dtype.is_floating_point and left.dtype.itemsize == 1
    if float8 and (rtol or atol):
        return (
            f"Rtol={rtol} and atol={atol} are not supported for bitwise comparison of low dimensional "
            "floats. Please use rtol=0.0 and atol=0.0."
        )
    if float8:
        left, right = left.float(), right.float()
    elif left.dtype != right.dtype:
        left, right = (x.long() if x.dtype in _WIDE_UNSIGNED else x for x in (left, right))
        common = torch.promote_types(left.dtype, right.dtype)
        left, right = left.to(common), right.to(common)
    elif left.dtype in _WIDE_UNSIGNED:  # their two's complement is as good for equality
        left, right = left.long(), right.long()
    matches = torch.isclose(left, right, rtol=rtol, atol=atol, equal_nan=rules.equal_nan)
    if bool(matches.all()):
        return None
    if left.ndim == 0:
        return _scalars_differ(left.item(), right.item(), rtol, atol)
    return _bits_differ(matches) if float8 else _tensors_differ(left, right, matches, rtol, atol)


# The parts of a sparse tensor by layout; values are compared last, within tolerances.
_PARTS = {
    torch.sparse_coo: ("indices",),
    torch.sparse_csr: ("crow_indices", "col_indices"),
    torch.sparse_bsr: ("crow_indices", "col_indices"),
    torch.sparse_csc: ("ccol_indices", "row_indices"),
    torch.sparse_bsc: ("ccol_indices", "row_indices"),
}


def _shown(layout: Any) -> str:
    return str(layout).removeprefix("torch.sparse_").upper()


def _sparse_differ(left: Any, right: Any, rules: Rules) -> str | None:
    """Two sparse tensors, part by part."""
    if left.layout != right.layout:
        return compare_tensors(left.to_dense(), right.to_dense(), rules)
    coo = left.layout is torch.sparse_coo  # as they are: what stands for the same place is not added up
    if left._nnz() != right._nnz():
        return (
            f"The number of specified values in sparse {_shown(left.layout)} tensors does "
            f"not match: {left._nnz()} != {right._nnz()}"
        )
    for name in (*_PARTS[left.layout], "values"):
        exact = {} if name == "values" else {"rtol": 0.0, "atol": 0.0}
        one, other = (getattr(t, f"_{name}" if coo else name)() for t in (left, right))
        text = compare_tensors(one, other, Rules(**(vars(rules) | exact)))
        if text is not None:
            return text.replace("Tensor-likes", f"Sparse {_shown(left.layout)} {name}", 1)
    return None


def tolerances(rules: Rules, *dtypes: Any) -> tuple[float, float]:
    """(rtol, atol) as they were given, else by dtype."""
    if rules.rtol is not None and rules.atol is not None:
        return rules.rtol, rules.atol
    return _widest(_TOLERANCES, dtypes)


def default_tolerances(*tensors: Any) -> tuple[float, float]:
    """rtol and atol that assert_close takes for tensors of these dtypes where none are given."""
    return _widest(_TOLERANCES, [x.dtype for x in tensors])


def _widest(table: dict[Any, tuple[float, float]], dtypes: Any) -> tuple[float, float]:
    rtols, atols = zip(*(table.get(dtype, (0.0, 0.0)) for dtype in dtypes))
    return max(rtols), max(atols)


def _attributes_differ(left: Any, right: Any, rules: Rules) -> str | None:
    found = [("shape", left.shape, right.shape)]
    found += [("layout", left.layout, right.layout)] if rules.check_layout else []
    found += [("device", left.device, right.device)] if rules.check_device else []
    found += [("dtype", left.dtype, right.dtype)] if rules.check_dtype else []
    found += [("stride()", left.stride(), right.stride())] if rules.check_stride else []
    for name, one, other in found:
        if one != other:
            return f"The values for attribute '{name}' do not match: {one} != {other}."
    return None


def _bits_differ(matches: Any) -> str:
    first = int((~matches).flatten().int().argmax())
    return (
        f"Tensor-likes are not 'equal'!\n\n{_count(matches)}\n"
        f"The first mismatched element is at index {_index(first, matches.shape)}."
    )


def _scalars_differ(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    difference = abs(actual - expected)
    relative = inf if expected == 0 else difference / abs(expected)
    return (
        f"Scalars are not {'close' if rtol or atol else 'equal'}!\n\nExpected {expected} but got "
        f"{actual}.\nAbsolute difference: {difference}{_allowed(atol, rtol or atol)}\nRelative "
        f"difference: {relative}{_allowed(rtol, rtol or atol)}"
    )


def _tensors_differ(left: Any, right: Any, matches: Any, rtol: float, atol: float) -> str:
    if not (left.dtype.is_floating_point or left.dtype.is_complex):
        left, right = left.long(), right.long()  # differences of uint8 and bool would wrap
    absolute = (left - right).abs().masked_fill(matches, 0)
    relative = (absolute / right.abs()).masked_fill(matches, 0)
    lines = [f"Tensor-likes are not {'close' if rtol or atol else 'equal'}!\n", _count(matches)]
    for name, difference, tolerance in (("absolute", absolute, atol), ("relative", relative, rtol)):
        value, at = difference.flatten().max(0)
        lines.append(
            f"Greatest {name} difference: {value.item()} at index {_index(int(at), left.shape)}"
            f"{_allowed(tolerance, rtol or atol)}"
        )
    return "\n".join(lines)


def _allowed(tolerance: float, tolerant: float) -> str:
    return f" (up to {tolerance} allowed)" if tolerant else ""


def _count(matches: Any) -> str:
    total = matches.numel()
    wrong = total - int(matches.sum())
    return f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})"


def _index(flat: int, shape: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, tuple(shape)))


# --- the deprecated function ----------------------------------------------------------------------


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Deprecated: raise AssertionError unless the tensors are close; use `assert_close` instead.

    What is no tensor is made one with `torch.tensor`. Raises ValueError if only one of `rtol` and
    `atol` is given.
    """
    warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future "
        "release. Please use `torch.testing.assert_close()` instead.",
        FutureWarning,
    )
    actual, expected = (x if isinstance(x, torch.Tensor) else torch.tensor(x) for x in (actual, expected))
    if rtol is None and atol is None:
        rtol, atol = _widest(_OLD_TOLERANCES, (actual.dtype, expected.dtype))
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None
    )
