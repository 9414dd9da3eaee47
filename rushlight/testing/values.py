"""Whether two values are close, and the text that says how they differ."""
from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

import rushlight as torch

if TYPE_CHECKING:
    from rushlight.testing.comparison import Rules

# Default (rtol, atol) by dtype; all others are compared exactly.
_TOLERANCES = {torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5),
               torch.float64: (1e-7, 1e-7), torch.complex64: (1.3e-6, 1e-5), torch.complex128: (1e-7, 1e-7)}
_NUMBERS = {float: torch.float64, complex: torch.complex128}
_WIDE_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)


def nones(actual: Any, expected: Any, rules: Rules) -> str | None:
    """At least one of the two is None."""
    return None if actual is expected else f"None mismatch: {actual} is not {expected}"


def booleans(actual: Any, expected: Any, rules: Rules) -> str | None:
    """Two booleans, of Python or NumPy."""
    return None if bool(actual) is bool(expected) else f"Booleans mismatch: {actual} is not {expected}"


def numbers(actual: Any, expected: Any, rules: Rules) -> str | None:
    """Two numbers, of Python or NumPy."""
    actual, expected = (x.item() if isinstance(x, np.number) else x for x in (actual, expected))
    if rules.check_dtype and type(actual) is not type(expected):
        return f"The (d)types do not match: {type(actual)} != {type(expected)}."
    rtol, atol = _tolerances(rules, _NUMBERS.get(type(actual)), _NUMBERS.get(type(expected)))
    difference = abs(actual - expected)
    close = (actual == expected or difference < inf and difference <= atol + rtol * abs(expected)
             or rules.equal_nan and actual != actual and expected != expected)
    return None if close else _scalars_differ(actual, expected, rtol, atol)


def tensors(actual: Any, expected: Any, rules: Rules) -> str | None:
    """Two tensors, or what `torch.as_tensor` takes."""
    left, right = (torch.as_tensor(x).detach() for x in (actual, expected))
    text = _attributes_differ(left, right, rules)
    if text is not None or "meta" in (left.device.type, right.device.type):
        return text
    rtol, atol = _tolerances(rules, left.dtype, right.dtype)
    # Eight bits tell so few numbers apart that a tolerance would mean nothing: equal or not.
    float8 = left.dtype == right.dtype and left.dtype.is_floating_point and left.dtype.itemsize == 1
    if float8 and (rtol or atol):
        return (f"Rtol={rtol} and atol={atol} are not supported for bitwise comparison of low dimensional "
                "floats. Please use rtol=0.0 and atol=0.0.")
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


def _tolerances(rules: Rules, *dtypes: Any) -> tuple[float, float]:
    if rules.rtol is not None and rules.atol is not None:
        return rules.rtol, rules.atol
    rtols, atols = zip(*(_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes))
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
    return (f"Tensor-likes are not 'equal'!\n\n{_count(matches)}\n"
            f"The first mismatched element is at index {_index(first, matches.shape)}.")


def _scalars_differ(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    difference = abs(actual - expected)
    relative = inf if expected == 0 else difference / abs(expected)
    return (f"Scalars are not {'close' if rtol or atol else 'equal'}!\n\nExpected {expected} but got "
            f"{actual}.\nAbsolute difference: {difference}{_allowed(atol, rtol or atol)}\nRelative "
            f"difference: {relative}{_allowed(rtol, rtol or atol)}")


def _tensors_differ(left: Any, right: Any, matches: Any, rtol: float, atol: float) -> str:
    if not (left.dtype.is_floating_point or left.dtype.is_complex):
        left, right = left.long(), right.long()  # differences of uint8 and bool would wrap
    absolute = (left - right).abs().masked_fill(matches, 0)
    relative = (absolute / right.abs()).masked_fill(matches, 0)
    lines = [f"Tensor-likes are not {'close' if rtol or atol else 'equal'}!\n", _count(matches)]
    for name, difference, tolerance in (("absolute", absolute, atol), ("relative", relative, rtol)):
        value, at = difference.flatten().max(0)
        lines.append(f"Greatest {name} difference: {value.item()} at index {_index(int(at), left.shape)}"
                     f"{_allowed(tolerance, rtol or atol)}")
    return "\n".join(lines)


def _allowed(tolerance: float, tolerant: float) -> str:
    return f" (up to {tolerance} allowed)" if tolerant else ""


def _count(matches: Any) -> str:
    total = matches.numel()
    wrong = total - int(matches.sum())
    return f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})"


def _index(flat: int, shape: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, tuple(shape)))
