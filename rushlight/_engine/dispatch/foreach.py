"""torch._foreach_NAME: the op NAME on each tensor of a list, for the ops that PyTorch has in that form.

What stands beside the list is a letter: T a list of tensors, N that or a number or numbers, D that or a
0-d tensor, P a number, numbers or a 1-d tensor of numbers (1 by default), S a number (2 by default).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from rushlight._engine.core.tracebacks import own
from rushlight._engine.dispatch.arguments import is_number, plain_number
from rushlight._engine.lazy import package
from rushlight._engine.names.built_in import built_in
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.tensor import Tensor

_PLACES = {
    **dict.fromkeys(
        (
            "exp acos asin atan cos cosh log log10 log2 tan tanh sin sinh neg sqrt rsqrt ceil erf erfc expm1 "
            "floor log1p round frac reciprocal sigmoid trunc abs zero sign lgamma clone max"
        ).split(),
        "",
    ),
    **dict.fromkeys(("add", "mul", "div"), "D"),
    "sub": "N",
    "lerp": "TN",
    "copy": "T",
    "mm": "T",
    **dict.fromkeys(("clamp_min", "clamp_max", "minimum", "maximum", "pow"), "N"),
    "addcmul": "TTP",
    "addcdiv": "TTP",
    "norm": "S",
    "powsum": "S",
}
_NO_INPLACE, _ONLY_INPLACE = ("clone", "max", "mm", "norm", "powsum"), ("copy", "zero")
_KEYWORDS = (
    "self",
    "tensors1",
    "tensor1",
    "tensor2",
    "other",
    "mat2",
    "src",
    "exponent",
    "weight",
    "weights",
    "ord",
    "scalar",
    "scalars",
    "value",
)
_OPTIONS = {
    "add": "alpha",
    "sub": "alpha",
    "clone": "memory_format",
    "copy": "non_blocking",
    "norm": "dtype",
    "powsum": "dtype",
}
# What a number as second operand makes of an op of two tensors.
_BY_NUMBER = {"maximum": "clamp_min", "minimum": "clamp_max"}


@cache
def build(name: str) -> Callable[..., Any] | None:
    """The function of this name, or None where PyTorch has none."""
    base = name.removeprefix("_foreach_").removesuffix("_")
    if base not in _PLACES or base in (_NO_INPLACE if name.endswith("_") else _ONLY_INPLACE):
        return None

    def each(*args: Any, **kwargs: Any) -> Any:
        return _run(name, base, *args, **kwargs)

    each.__module__, each.__name__, each.__qualname__ = package(), name, name
    each.__doc__ = f"{base} of each tensor of a list."
    return built_in(own(each))


def _run(name: str, base: str, *args: Any, **kwargs: Any) -> Any:
    given = [*args, *(kwargs.pop(n) for n in _KEYWORDS if n in kwargs)]
    places = _PLACES[base]
    if places[-1:] in "PS" and places and len(given) == len(places):
        given.append(2 if places == "S" else 1)
    if len(given) != len(places) + 1 or set(kwargs) - {_OPTIONS.get(base)}:
        raise _combination(name, [*given, *kwargs])
    if name == "_foreach_pow" and is_number(given[0]):
        return tuple(ROWS["pow"](plain_number(given[0]), t) for t in _tensors(name, given[1]))
    tensors = _tensors(name, given[0])
    if base == "add" and "alpha" not in kwargs and isinstance(given[1], Tensor) and not given[1].ndim:
        places = "N"
    rest = [_spread(name, place, value, len(tensors)) for place, value in zip(places, given[1:], strict=True)]
    if "alpha" in kwargs and is_number(rest[0][0]):
        raise _combination(name, [*given, *kwargs])
    f = _each(name, base, rest)
    found = [f(t, *others, **kwargs) for t, *others in zip(tensors, *rest, strict=True)]
    return given[0] if name.endswith("_") else tuple(found)


def _each(name: str, base: str, rest: list[Sequence[Any]]) -> Callable[..., Any]:
    if base == "norm":
        return lambda t, ord, dtype=None: ROWS["vector_norm"](t, ord, dtype=dtype)
    if base == "powsum":
        return lambda t, ord, dtype=None: t.abs().pow(ord).sum(dtype=dtype)
    if rest and not isinstance(rest[-1][0], Tensor):
        base = _BY_NUMBER.get(base, base)
    method = getattr(Tensor, base + "_" * name.endswith("_"))
    return (lambda t, a, b, value: method(t, a, b, value=value)) if base.startswith("addc") else method


def _tensors(name: str, value: Any) -> Sequence[Tensor]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(t, Tensor) for t in value):
        raise TypeError(
            f"{name}(): argument 'self' (position 1) must be tuple of Tensors, not {type(value).__name__}"
        )
    if len(value) == 0:  # not its truth, which a class of lists may refuse
        raise RuntimeError("Tensor list must have at least one tensor.")
    return value


def _spread(name: str, place: str, value: Any, count: int) -> Sequence[Any]:
    """What stands at a place, for each tensor."""
    if isinstance(value, (list, tuple)) and place != "S":
        kind = "tensors" if len(value) and isinstance(value[0], Tensor) and place != "P" else "scalars"
        if kind == "scalars" and (place == "T" or not all(map(is_number, value))):
            raise _combination(name, [value])
        if len(value) != count:
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {count} and {len(value)}"
                if kind == "tensors"
                else "Tensor list must have same number of elements as scalar list."
            )
        return value if kind == "tensors" else [plain_number(v) for v in value]
    if isinstance(value, Tensor) and value.ndim == 0 and not value.requires_grad and place in "NS":
        return [value.item()] * count
    if isinstance(value, Tensor) and place in "DP":
        if place == "P" and value.device.type != "cpu":
            raise RuntimeError(f"Expected scalars to be on CPU, got {value.device} instead.")
        if place == "P" and not value.is_contiguous():
            raise RuntimeError("Expected scalars to be contiguous.")
        if value.ndim != (place == "P"):
            raise RuntimeError(_WRONG_DIMS[place].format(value.ndim, value.numel()))
        if place == "P" and len(value) != count:
            raise RuntimeError(
                f"Expected length of scalars to match input of length {count} but got {len(value)} instead."
            )
        return value.tolist() if place == "P" else [value] * count
    if is_number(value) and place != "T":
        return [plain_number(value)] * count
    raise _combination(name, [value])


_WRONG_DIMS = {
    "D": "scalar tensor expected to be 0 dim but it has {} dimensions and {} elements.",
    "P": "Expected packed scalar Tensor to be of dimension 1. Got {} instead.",
}


def _combination(name: str, given: Sequence[Any]) -> TypeError:
    kinds = ", ".join(g if isinstance(g, str) else type(g).__name__ for g in given)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({kinds}), but expected a "
        f"tuple of Tensors and: {_PLACES[name.removeprefix('_foreach_').removesuffix('_')]!r} "
        "(T tensors; N tensors, a number or numbers; D these or a 0-d tensor; P, S numbers)"
    )
