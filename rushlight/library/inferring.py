"""torch.library.infer_schema: a function's type annotations as a signature in PyTorch's notation."""

from __future__ import annotations

import collections.abc
import inspect
from collections.abc import Callable, Iterable
from types import NoneType, UnionType
from typing import Any, NoReturn, Union, get_args, get_origin

import rushlight as torch

_WORDS = {
    torch.Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    torch.dtype: "ScalarType",
    torch.device: "Device",
}
_LISTED = ("Tensor", "SymInt", "float", "bool", "Scalar")  # of which there are lists
_RETURNED = ("Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar")
_NUMBERS = {int, float, bool}
_TYPES = (
    "Tensor, int, float, bool, Number, str, dtype, device; Optional of these; lists of tensors and numbers"
)


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: Any,
    op_name: str | None = None,
    tags: Any = (),
) -> str:
    """The signature of an annotated function, "op_name(Tensor x, SymInt n=1) -> Tensor"; without op_name,
    without.

    mutates_args: names of the tensors that it writes to, or "unknown" for all. tags: accepted.
    Errors: ValueError for annotations, defaults or parameters that a signature cannot tell.
    """
    told = inspect.signature(prototype_function)

    def fail(what: str) -> NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {told})")

    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated or the "
            "string 'unknown'. "
        )
    written = None if isinstance(mutates_args, str) else set(mutates_args)
    own = _Function(prototype_function, fail)
    params: list[str] = []
    for i, param in enumerate(told.parameters.values()):
        if param.kind not in (param.POSITIONAL_OR_KEYWORD, param.KEYWORD_ONLY):
            fail("We do not support positional-only args, varargs, or varkwargs.")
        if param.kind is param.KEYWORD_ONLY and "*" not in params:
            params.append("*")
        params.append(own.parameter(param, i, written))
    if unknown := (written or set()) - told.parameters.keys():
        fail(
            f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should "
            "contain the names of all args that the custom op mutates, or just the string 'unknown' if you "
            "don't know."
        )
    return f"{op_name or ''}({', '.join(params)}) -> {own.returned(told.return_annotation)}"


class _Function:
    """The function whose annotations are read."""

    def __init__(self, function: Any, fail: Callable[[str], NoReturn]) -> None:
        self.known, self.fail = function.__globals__, fail

    def parameter(self, param: inspect.Parameter, place: int, written: set[str] | None) -> str:
        """One parameter; `written` are those that are written to, None for all tensors."""
        if param.annotation is param.empty:
            self.fail(f"Parameter {param.name} must have a type annotation.")
        annotation = self.type_of(param.annotation)
        word = _spelled(annotation)
        if word is None:
            hint = (
                "We do not support Tuple inputs in schema. As a workaround, please try to use List instead. "
                if get_origin(annotation) is tuple
                else ""
            )
            self.fail(
                f"Parameter {param.name} has unsupported type {param.annotation}. {hint}The valid types are: "
                f"{_TYPES}."
            )
        tensor = word.startswith("Tensor")
        if written is not None and param.name in written and not tensor:
            self.fail(
                f"Parameter {param.name} is in mutable_args but only Tensors or collections of Tensors can "
                "be mutated"
            )
        if tensor and (written is None or param.name in written):
            word = f"Tensor(a{place}!){word.removeprefix('Tensor')}"
        return f"{word} {param.name}" + ("" if param.default is param.empty else f"={self.default(param)}")

    def default(self, param: inspect.Parameter) -> str:
        """A default as a signature writes it."""
        value = param.default
        if value is None or isinstance(value, (int, float, bool)):
            return str(value)
        if isinstance(value, (str, torch.device)):
            return f'"{value}"'
        if isinstance(value, torch.dtype):
            return str(value).removeprefix("torch.")
        return self.fail(f"Parameter {param.name} has an unsupported default value type {type(value)}.")

    def returned(self, annotation: Any) -> str:
        """What stands behind the arrow."""
        if annotation is inspect.Parameter.empty:
            self.fail("No return type annotation was provided. Please add one.")
        of = self.type_of(annotation)
        if of is None:
            return "()"
        several = get_args(of) if get_origin(of) is tuple else (of,)
        words = [_spelled(item) for item in several]
        if any(word not in _RETURNED for word in words):
            self.fail(
                f"Return has unsupported type {annotation}. The valid types are: {', '.join(_RETURNED)}."
            )
        inner = ", ".join(map(str, words))
        if get_origin(of) is not tuple:
            return inner
        return f"(({inner}))" if len(words) == 1 else f"({inner})"

    def type_of(self, annotation: Any) -> Any:
        """An annotation that is a text, evaluated where the function was written."""
        if not isinstance(annotation, str):
            return annotation
        try:
            return eval(annotation, self.known)
        except Exception as error:
            self.fail(
                f"Unsupported type annotation {annotation}. It is not a type ({type(error).__name__}: "
                f"{error}). If you are using 'from __future__ import annotations', make sure all types "
                "referenced in annotations are importable at module scope, not only inside a local function."
            )


def _spelled(of: Any) -> str | None:
    """The word for a type; None where there is none."""
    if isinstance(of, type) and of in _WORDS:
        return _WORDS[of]
    origin, parts = get_origin(of), get_args(of)
    if origin in (Union, UnionType):
        return _either(parts)
    if origin in (list, collections.abc.Sequence) and len(parts) == 1:
        word = _spelled(parts[0])
        return f"{word}[]" if word in (*_LISTED, "Tensor?") else None
    return None


def _either(parts: Iterable[Any]) -> str | None:
    """The word for one of several types: numbers, or something and None."""
    rest = set(parts) - {NoneType}
    optional = "?" * (NoneType in set(parts))
    if rest == _NUMBERS:
        return f"Scalar{optional}"
    word = _spelled(rest.pop()) if len(rest) == 1 else None
    return None if word is None or word.startswith("Scalar[") else word + optional
