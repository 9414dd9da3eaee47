"""Signatures: what a row's parameters are, read once from its body's own Python signature.

Annotations are the schema (strings, never evaluated):
  Tensor, Tensor | None, list[Tensor]   operands that carry gradients
  Tensor | Number                       an operand that takes part in promotion, or a wrapped number
  Number, Number | None                 a scalar: a run-time input of the kernel, no promotion
  Ints                                  an int or a sequence of ints; `*Ints` also takes varargs
  int, bool, str, float, dtype, ...     static attributes, handed through as they are
An unannotated parameter of a row is a Tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class _Required:
    """Stands for the default of a parameter that has none."""

    def __repr__(self) -> str:
        return "<required>"


REQUIRED: Any = _Required()

# NumPy's names for PyTorch's parameters, which PyTorch accepts as keywords; `from` is Python's.
SYNONYMS = {
    "axis": "dim",
    "keepdims": "keepdim",
    "x": "input",
    "a": "input",
    "x1": "input",
    "x2": "other",
    "self": "input",
    "from": "from_",
    "axis0": "dim0",
    "axis1": "dim1",
}

# What PyTorch calls a parameter in another overload of an op, or in a method or function of its own.
_PIECES = {
    "sections": "indices_or_sections",
    "indices": "indices_or_sections",
    "tensor_indices_or_sections": "indices_or_sections",
}
_SIZES = {"split_size": "split_size_or_sections", "split_sizes": "split_size_or_sections", "tensor": "input"}
OTHERWISE: dict[str, dict[str, str]] = {
    "split": _SIZES,
    "unsafe_split": _SIZES,
    "split_copy": _SIZES,
    "tensor_split": _PIECES,
    "hsplit": _PIECES,
    "vsplit": _PIECES,
    "dsplit": _PIECES,
    "isin": {"element": "elements", "test_element": "test_elements"},
    "transpose": {"axis0": "dim0", "axis1": "dim1"},
}


class Param:
    """One parameter: its schema type, its default and whether it must be given by keyword; and what follows.

    is_tensor     whether a Tensor may be passed and carries a gradient
    is_list       whether a sequence of tensors is expected
    is_number     whether it is a run-time scalar
    takes_number  whether a Python number stands for a tensor here
    is_static     whether it is an attribute that kernels are specialised on
    varargs       whether the ints may be spread over the positional arguments, as in x.view(2, 3)
    plain_type    the schema type without its star and its None
    """

    def __init__(self, name: str, type: str, default: Any = REQUIRED, keyword_only: bool = False) -> None:
        self.name, self.type, self.default, self.keyword_only = name, type, default, keyword_only
        self.is_tensor, self.is_list = type.startswith("Tensor"), type.startswith("list[Tensor")
        self.is_number, self.takes_number = type.startswith("Number"), "Tensor | Number" in type
        self.is_static = not (self.is_tensor or self.is_list or self.is_number)
        self.varargs = type.startswith("*")
        self.plain_type = type.removeprefix("*").removesuffix(" | None")


def parse(body: Callable[..., Any]) -> tuple[Param, ...]:
    """The parameters of a row's body (of what it wraps); `inspect` would cost 20 us a row."""
    body = getattr(body, "__wrapped__", body)
    code = body.__code__
    notes = body.__annotations__
    count = code.co_argcount
    defaults = body.__defaults__ or ()
    missing = count - len(defaults)
    params = []
    for i, name in enumerate(code.co_varnames[: count + code.co_kwonlyargcount]):
        if i < count:
            default = REQUIRED if i < missing else defaults[i - missing]
        else:
            default = (body.__kwdefaults__ or {}).get(name, REQUIRED)
        # Of the tensor that the caller passes, a view's body sees the Layout, a pointwise one's an Expr.
        schema = (
            str(notes.get(name, "Tensor")).strip("'\"").replace("Layout", "Tensor").replace("Expr", "Tensor")
        )
        params.append(Param(name, schema, default, i >= count))
    return tuple(params)


def reduce_tail(takes_dtype: bool) -> tuple[Param, ...]:
    """The parameters that every reduction has."""
    tail = (Param("dim", "Ints | None", None), Param("keepdim", "bool", False))
    return (*tail, Param("dtype", "dtype | None", None, True)) if takes_dtype else tail


# What every factory takes behind its own parameters.
PLACEMENT = (
    Param("layout", "Any", None, True),
    Param("device", "device | None", None, True),
    Param("pin_memory", "bool | None", False, True),
    Param("requires_grad", "bool | None", False, True),
)


def placement_tail(body: Callable[..., Any]) -> tuple[Param, ...]:
    """The parameters of placement that a factory's body does not name itself."""
    return tuple(p for p in PLACEMENT if p.name not in body.__code__.co_varnames)


def with_inplace(params: tuple[Param, ...]) -> tuple[Param, ...]:
    """The parameters with nn.functional's `inplace` behind the positional ones."""
    count = sum(not p.keyword_only for p in params)
    return (*params[:count], Param("inplace", "bool", False), *params[count:])


def spread_tensors(op: str, given: Any) -> Sequence[Any]:
    """The tensors of f(a, b), or of f([a, b]); TypeError where one is none."""
    tensors: Sequence[Any] = given
    if len(given) == 1 and isinstance(given[0], (list, tuple)):
        tensors = given[0]
    for place, t in enumerate(tensors):
        if not hasattr(t, "_kind"):
            raise TypeError(f"{op}(): expected Tensor as element {place}, but got {type(t).__name__}")
    return tensors


def source(params: tuple[Param, ...], *, out: bool = False) -> str:
    """The parameter list of a generated function; defaults are bound as `_default_NAME`.

    What is required has REQUIRED as its default: it may come under another keyword (axis for dim).
    """
    return _spelled(params, out, lambda p: f"*{p.name}" if p.varargs else f"{p.name}=_default_{p.name}")


def text(name: str, params: tuple[Param, ...], out: bool = False) -> str:
    """The signature as documentation shows it."""
    shown = _spelled(params, out, lambda p: p.name if p.default is REQUIRED else f"{p.name}={p.default!r}")
    return f"{name}({shown})"


def _spelled(params: Sequence[Param], out: bool, spell: Callable[[Param], str]) -> str:
    parts = [spell(p) for p in params if not p.keyword_only]
    by_name = [spell(p) for p in params if p.keyword_only] + ["out=None"] * out
    star = ["*"] * (bool(by_name) and not any(part.startswith("*") for part in parts))
    return ", ".join([*parts, *star, *by_name])


def rename_keywords(params: tuple[Param, ...], op: str, extra: dict[str, Any]) -> dict[str, Any]:
    """Keywords in NumPy's spelling as PyTorch's; TypeError for those that are neither."""
    known = {p.name: p.default for p in params}
    renamed: dict[str, Any] = {}
    synonyms = {**SYNONYMS, **OTHERWISE[op]} if op in OTHERWISE else SYNONYMS
    for key, value in extra.items():
        name = key if key in known else synonyms.get(key, key)
        if key == "self" and params and params[0].name == "input":
            name = "input"
        # A prologue hands defaults on as well: they give way to what the caller wrote.
        if name not in known or (name != key and extra.get(name, known[name]) is not known[name]):
            from rushlight._engine.ops import forms  # it imports this file

            raise TypeError(
                f"{op}() got an unexpected keyword argument '{key}'; {forms.how_called(op, params)}"
            )
        renamed[name] = value
    return renamed
