"""torch.fx.operator_schemas: signatures of ops, and calls with their arguments by these signatures."""

from __future__ import annotations

import inspect
import numbers
import re
import typing
from collections.abc import Callable
from functools import lru_cache
from inspect import Parameter, Signature
from typing import Any, NamedTuple

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.dispatch.spellings import row_of
from rushlight._engine.ops.signature import REQUIRED
from rushlight.export.overloads import Overload, Packet, aten_name, recorded, schemas_in_order
from rushlight.fx import names
from rushlight.ops._schemas import Schema

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]

_T = typing.TypeVar("_T")
_TYPES: dict[str, Any] = {
    "Tensor": torch.Tensor,
    "Scalar": numbers.Number,
    "int": int,
    "SymInt": int,
    "float": float,
    "bool": bool,
    "str": str,
    "complex": complex,
    "ScalarType": int,
    "Layout": int,
    "MemoryFormat": int,
    "Device": torch.device,
    "Generator": torch.Generator,
    "t": _T,
    "()": None,
}
# PyTorch's functions of torch.functional that are registered as ops all the same.
_REGISTERED = frozenset(
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod cdist "
    "chain_matmul einsum meshgrid split stft tensordot".split()
)
_PLAIN = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


# --- signatures ---------------------------------------------------------------------------------


def _type(text: str) -> Any:
    """The Python type of a schema's."""
    text = re.sub(r"(\w)\([a-z!|> *-]*\)", r"\1", text.strip())
    if text.endswith("?"):
        return typing.Optional[_type(text[:-1])]  # noqa: UP045
    listed = re.fullmatch(r"(.*)\[\d*\]", text)
    if listed:
        lists: Any = typing.List  # noqa: UP006
        return lists[_type(listed[1])]
    return _TYPES.get(text, Any)


def _torchscript_type_to_python_type(ts_type: Any) -> Any:
    """The Python type that TorchScript's is written as."""
    known = {name: found for name, found in _TYPES.items() if name.isidentifier()} | {"NoneType": type(None)}
    names = {"typing": typing, "torch": torch, **vars(typing), **known}
    return eval(ts_type.annotation_str, {"__builtins__": {}}, names)


def _returned(schema: Schema) -> Any:
    text = schema.text.rpartition(" -> ")[2]
    if text.startswith("(") and text != "()":
        return tuple(_type(re.sub(r" \w+$", "", part)) for part in text[1:-1].split(", "))
    return _type(text)


@lru_cache(None)
def _signature(schema: Schema) -> Signature:
    """The signature; a tensor named self is `input`, and what comes before a parameter `from` has no name."""
    after = max((i for i, p in enumerate(schema.arguments) if p.name == "from"), default=-1)
    found = []
    for i, p in enumerate(schema.arguments):
        kind = Parameter.KEYWORD_ONLY if p.kwarg_only else Parameter.POSITIONAL_OR_KEYWORD
        found.append(
            Parameter(
                "input" if p.name == "self" else p.name,
                Parameter.POSITIONAL_ONLY if i <= after else kind,
                default=Parameter.empty if p.default is REQUIRED else p.whole_default,
                annotation=_type(p.type),
            )
        )
    try:
        return Signature(found, return_annotation=_returned(schema))
    except ValueError:  # a required parameter behind one with a default
        bare = [p.replace(default=Parameter.empty) for p in found]
        return Signature(bare, return_annotation=_returned(schema))


def _schemas(op: Any) -> list[Schema] | None:
    """All schemas of an op; None for functions that PyTorch has in Python."""
    if isinstance(op, Overload):
        return [op._schema]
    if isinstance(op, Packet):
        return [found._schema for found in recorded(op.__name__).values()]
    if isinstance(op, type):
        return []
    row = row_of(op)
    if row is None:
        return None
    home, _, name = names.qualified(op).rpartition(".")
    if home == "torch.nn.functional" or (home == "torch.functional" and name not in _REGISTERED):
        return None
    several = (name, aten_name(row)) if home == "torch" else (aten_name(row), name)
    return next((found for n in several if (found := schemas_in_order(n))), None)


def get_signature_for_torch_op(op: Any, return_schemas: bool = False) -> Any:
    """The signatures of an op's overloads, or None where none are known.

    return_schemas: (signatures, schemas) instead.
    """
    schemas = _schemas(op)
    signatures = None if schemas is None else [_signature(schema) for schema in schemas]
    return (signatures, schemas) if return_schemas else signatures


def check_for_mutable_operation(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """RuntimeError for a call that fits one signature only, of an op that writes into its arguments."""
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    pairs = zip(signatures or (), schemas or (), strict=True)
    fitting = [schema for signature, schema in pairs if _fits(signature, args, kwargs)]
    if len(fitting) == 1 and fitting[0].is_mutable:
        raise RuntimeError(
            f"Tried to trace mutable operation {fitting[0]}. FX only supports functional code, so operations "
            "that mutate operands in-place (e.g. via `out` arguments) are not supported"
        )


def _fits(signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


# --- types --------------------------------------------------------------------------------------


def create_type_hint(x: Any) -> Any:
    """`list[T]` or `tuple[T, ...]` for a list or tuple of types, T the base of all, or Any; else `x`."""
    if not isinstance(x, (list, tuple)):
        return x
    if not all(isinstance(part, type) for part in x):
        warn(f"We were not able to successfully create type hint from the type {x}", UserWarning)
        return x
    base: Any = Any
    if x:
        base = x[0]
        for other in x:
            if issubclass(other, base):
                continue
            if not issubclass(base, other):
                base = Any
                break
            base = other
    return list[base] if isinstance(x, list) else tuple[base, ...]


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of a type fits a parameter of a type."""
    if signature_type is argument_type:
        return True
    origin, inner = typing.get_origin(signature_type), typing.get_args(signature_type)
    if origin is typing.Union and signature_type != argument_type:
        return any(type_matches(part, argument_type) for part in inner)
    if origin is list:
        return _items_match(inner[0], argument_type)
    if signature_type is int and argument_type is torch.dtype:
        return True
    if signature_type is numbers.Number and argument_type in (int, float):
        return True
    both = inspect.isclass(argument_type) and inspect.isclass(signature_type)
    return both and issubclass(argument_type, signature_type)


def _items_match(wanted: Any, argument_type: Any) -> bool:
    """Whether a type is one of lists or tuples of `wanted`; one number stands for a list of ints."""
    if argument_type is int and wanted is int:
        return True
    if not inspect.isclass(wanted):
        return False
    inner = typing.get_args(argument_type)
    if typing.get_origin(argument_type) is list:
        return issubclass(inner[0], wanted)
    if typing.get_origin(argument_type) is not tuple:
        return False
    return all(part is Ellipsis or issubclass(part, wanted) for part in inner)


# --- calls --------------------------------------------------------------------------------------


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """A call's arguments by the function's signature, with its defaults; None where it does not fit.

    arg_types, kwarg_types: the arguments' types, where several overloads fit; without them that is a
    RuntimeError. normalize_to_only_use_kwargs: all by keyword.
    """
    kwargs = kwargs or {}
    signatures, by_keyword = get_signature_for_torch_op(target), normalize_to_only_use_kwargs
    if signatures is None:
        return _normalized(inspect.signature(inspect.unwrap(target)), args, kwargs, by_keyword)
    fitting = [signature for signature in signatures if _fits(signature, args, kwargs)]
    if len(fitting) > 1:
        if arg_types is None and kwarg_types is None:
            listed = "\n".join(map(str, fitting))
            raise RuntimeError(
                f"Tried to normalize arguments to {names.qualified(target)} but the schema match was "
                "ambiguous! Please provide argument types to the normalize_arguments() call. Available "
                f"schemas:\n{listed}"
            )
        fitting = [s for s in signatures if _types_fit(s, arg_types or (), kwarg_types or {})]
    return _normalized(fitting[0], args, kwargs, by_keyword) if fitting else None


def _normalize_function_or_error(
    target: Any, args: Any, kwargs: Any = None, *more: Any, **options: Any
) -> Any:
    """normalize_function, with a RuntimeError for None."""
    found = normalize_function(target, args, kwargs, *more, **options)
    if found is None:
        raise RuntimeError(f"Failed to normalize function {target} with args {args} and kwargs {kwargs}")
    return found


def _types_fit(signature: Signature, arg_types: tuple[Any, ...], kwarg_types: dict[str, Any]) -> bool:
    try:
        bound = signature.bind(*arg_types, **kwarg_types)
    except TypeError:
        return False
    return all(type_matches(signature.parameters[k].annotation, v) for k, v in bound.arguments.items())


def normalize_module(
    root: torch.nn.Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call of a submodule, by its forward; None for modules that are not torch.nn's."""
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from error
    if getattr(torch.nn, type(module).__name__, None) is not type(module):
        return None
    signature = inspect.signature(inspect.unwrap(module.forward))
    return _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def _normalized(
    signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any], by_keyword: bool
) -> ArgsKwargsPair | None:
    parameters = signature.parameters
    if any(p.kind not in _PLAIN for p in parameters.values()) and [*parameters] != [
        *("input", "from", "to", "generator")
    ]:
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    several = list(bound.arguments.items())
    count = 0 if by_keyword else len(args)
    return ArgsKwargsPair(tuple(value for _, value in several[:count]), dict(several[count:]))
