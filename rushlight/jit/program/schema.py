"""PyTorch's signatures of ops (schemas.txt), and which of them a call means.

A line is as PyTorch prints it: `add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`; ops
without a prefix are `aten::`. Lines of a name are in PyTorch's order, and the first that fits is taken.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import rushlight as torch
from rushlight._engine.ops.signature import REQUIRED as DEFAULTLESS
from rushlight._engine.ops.table import ROWS
from rushlight.jit.program.types import ATOMS, BOOL, INT, NONE, Type, list_of, optional, subtype, unify

_LINE = re.compile(r"(?:(\w+)::)?(\w+)(?:\.(\w+))?\((.*)\) -> (.*)")
# Signatures of torch.export's ops: those of ops that TorchScript's own table does not have serve here, too.
_EXPORTED = Path(__file__).parents[2] / "export" / "schemas.tsv"
_ATOMS = {**ATOMS, "Scalar": ATOMS["number"], "ScalarType": INT, "Layout": INT, "MemoryFormat": INT}
_WORDS = {"Mean": 1, "None": None, "True": True, "False": False, "contiguous_format": 0, "strided": 0}
# A default that differs from None and from what a call says.
REQUIRED: Any = object()


@dataclass
class Parameter:
    """One argument of an op; `count` is n of int[n], which one number may stand for; raw: the schema's
    type.
    """

    name: str
    type: Type
    default: Any
    keyword_only: bool
    count: bool
    raw: str


@dataclass
class Schema:
    """One signature: kind is "aten::add"; variadic: takes any arguments behind those named."""

    kind: str
    overload: str
    parameters: list[Parameter]
    returns: list[Type]
    variadic: bool
    fields: tuple[str, ...] = ()  # the names of the results, where they have some
    line: str = ""  # as PyTorch writes it


@cache
def _lines() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in (Path(__file__).parent / "schemas.txt").read_text(encoding="utf-8").splitlines():
        name = re.split(r"[.(]", line, maxsplit=1)[0]
        found.setdefault(name if "::" in name else f"aten::{name}", []).append(line)
    own = set(found)
    for line in _EXPORTED.read_text(encoding="utf-8").splitlines():
        kind = "aten::" + re.split(r"[.(]", line, maxsplit=1)[0]
        if kind not in own:
            found.setdefault(kind, []).append(line.replace("SymInt", "int"))
    return found


def kinds() -> list[str]:
    """The names of all ops that have signatures: aten::add, ..."""
    return list(_lines())


def lines(kind: str) -> list[str]:
    """The text of all signatures of a name; of an op that PyTorch does not have, as its row says it."""
    return _lines().get(kind) or _of_row(kind)


@cache
def _known(kind: str) -> list[Schema]:
    return [_parse(line) for line in lines(kind)]


def named(kind: str) -> list[Schema]:
    """All signatures of a name; of an op that a program has defined, as torch.library knows it by now."""
    return _known(kind) or [
        _parse(str(overload._schema).replace("SymInt", "int")) for overload in defined(kind)
    ]


def defined(kind: str) -> list[Any]:
    """The overloads of an op that a program has defined by torch.library."""
    space, _, name = kind.partition("::")
    if space in ("aten", "prim", ""):
        return []
    op: Any = getattr(getattr(torch.ops, space), name, None)
    return [getattr(op, overload) for overload in op.overloads()] if hasattr(op, "overloads") else []


# PyTorch's types of parameters, by the annotations of rows (ops/signature.py).
_OF_ROWS = {
    "Tensor": "Tensor",
    "Tensor | None": "Tensor?",
    "Tensor | Number": "Tensor",
    "list[Tensor]": "Tensor[]",
    "Number": "Scalar",
    "Number | None": "Scalar?",
    "Ints": "int[]",
    "Ints | None": "int[]?",
    "int": "int",
    "int | None": "int?",
    "float": "float",
    "float | None": "float?",
    "bool": "bool",
    "bool | None": "bool?",
    "str": "str",
    "str | None": "str?",
}


@cache
def _of_row(kind: str) -> list[str]:
    """The signature of a row that gives one tensor, where PyTorch has no op of its name."""
    space, _, name = kind.partition("::")
    row = ROWS.get(name) if space == "aten" and name.isidentifier() and name[0] != "_" else None
    if (
        row is None
        or row.kind not in ("pointwise", "reduce")
        or any(p.type not in _OF_ROWS for p in row.params)
    ):
        return []
    written: list[str] = []
    for p in row.params:
        if p.keyword_only and "*" not in written:
            written.append("*")
        default = "" if p.default is DEFAULTLESS else f"={p.default!r}"
        written.append(f"{_OF_ROWS[p.type]} {p.name}{default}")
    return [f"{name}({', '.join(written)}) -> Tensor"]


def _parse(line: str) -> Schema:
    found = _LINE.match(line)
    if found is None:
        raise ValueError(f"expected a signature, space::name.overload(parameters) -> result, got {line!r}")
    space, name, overload, inside, result = found.groups()
    parts, parameters, keyword = _split(inside), [], False
    for part in parts:
        if part == "*":
            keyword = True
        elif part != "...":
            parameters.append(_parameter(part, keyword))
    result = re.sub(r"\(\w[^()]* -> \*\)|(?<!Future)(?<!Await)\(\w+!?\)|\(\*\)|\(\w\|\w\)", "", result)
    wrapped = result.startswith("(") and _closes(result) and not result.startswith("((")
    returns = [_type(re.sub(r" \w+$", "", r)) for r in (_split(result[1:-1]) if wrapped else [result])]
    fields = tuple(r.rpartition(" ")[2] for r in _split(result[1:-1]) if " " in r) if wrapped else ()
    if result.startswith("(("):
        returns, fields = [_type(result[1:-1])], ()
    shown = line if space else f"aten::{line}"
    kind = f"{space or 'aten'}::{name}"
    return Schema(kind, overload or "", parameters, returns, "..." in parts, fields, shown)


def _closes(text: str) -> bool:
    """Whether the first bracket is closed by the last."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if not depth:
            return i == len(text) - 1
    return False


def _split(text: str) -> list[str]:
    """The parts between commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
    return [p for p in (*parts, text[start:].strip()) if p]


def _parameter(text: str, keyword: bool) -> Parameter:
    text = re.sub(r"\(\w[^()]* -> \*\)|(?<!Future)(?<!Await)\(\w+!?\)|\(\w\|\w\)", "", text)
    written, _, default = text.partition("=")
    raw, _, name = written.rpartition(" ")
    value: Any = REQUIRED
    if default:
        value = _WORDS[default] if default in _WORDS else ast.literal_eval(default)
    counted = re.search(r"\[\d\]", raw)
    if counted and isinstance(value, int):
        value = [value] * int(counted[0][1])
    return Parameter(name, _type(re.sub(r"\[\d\]", "[]", raw)), value, keyword, bool(counted), raw)


@cache
def _type(text: str) -> Type:
    if text.endswith("?"):
        return optional(_type(text[:-1]))
    if text.endswith("[]"):
        return list_of(_type(text[:-2]))
    if text.startswith(("Dict(", "Future(", "Await(")):
        kind, _, rest = text.partition("(")
        return Type(kind, tuple(map(_type, _split(rest[:-1]))))
    if text.startswith("("):
        return Type("Tuple", tuple(map(_type, _split(text[1:-1]))))
    return _ATOMS[text] if text in _ATOMS else Type("var", (), _Variable(text))


@dataclass(frozen=True)
class _Variable:
    """A letter that stands for any type, the same in the whole signature."""

    __qualname__: str
    __module__ = "__main__"


def bind(formal: Type, actual: Type, bound: dict[Any, Type]) -> Type | None:
    """The formal type with its variables as `actual` needs them, which are noted; None where it does not
    fit.
    """
    if formal.kind == "var":
        if formal.cls.__qualname__ == "AnyEnumType" and actual.kind != "Enum":
            return None
        if formal.cls.__qualname__ == "AnyClassType" and actual.kind != "Class":
            return None
        known = bound.get(formal.cls)
        found = actual if known is None else unify(known, actual)
        if found is not None:
            bound[formal.cls] = found if known is None else known
        return found
    if not formal.args:
        return formal if subtype(actual, formal) else None
    if formal.kind == "Optional" and actual.kind != "Optional":
        if actual == NONE:
            return fill(formal, bound)
        inner = bind(formal.args[0], actual, bound)
        return inner and optional(inner)
    if formal.kind != actual.kind or len(formal.args) != len(actual.args):
        return None
    parts = [bind(f, a, bound) for f, a in zip(formal.args, actual.args, strict=True)]
    if not all(parts) or (
        formal.kind == "List"
        and formal.args[0].kind not in ("var", "Optional", "Tuple")
        and parts[0] != actual.args[0]
    ):
        return None
    return Type(formal.kind, tuple(p for p in parts if p), formal.cls)


def fill(formal: Type, bound: Mapping[Any, Type]) -> Type:
    """The type with its variables filled in."""
    if formal.kind == "var":
        return bound.get(formal.cls, NONE)
    return (
        Type(formal.kind, tuple(fill(a, bound) for a in formal.args), formal.cls) if formal.args else formal
    )


Adapt = Callable[[Any, Parameter, dict[Any, Type], bool], Any]


def _writing(kind: str) -> list[Schema]:
    """The signatures that take the memory of their one result as `out`, by those that do not."""
    place = Parameter("out", ATOMS["Tensor"], REQUIRED, True, False, "Tensor(a!)")
    return [
        replace(
            s,
            overload="out" if s.overload in ("", "Tensor") else f"{s.overload}_out",
            parameters=[*s.parameters, place],
            line="",
        )
        for s in named(kind)
        if s.returns == [ATOMS["Tensor"]] and not kind.endswith("_")
    ]


def match(
    kind: str, args: Sequence[Any], kwargs: Mapping[str, Any], adapt: Adapt
) -> tuple[Schema, list[Any], dict[Any, Type]]:
    """The first signature that takes these arguments: (it, a value for each parameter, types of its
    variables).

    adapt(value, parameter, bound, convert) gives the value as the parameter wants it, or None;
    convert: whether a tensor may become a number. Raises TypeError that lists what was tried.
    """
    tried = []
    for convert in (False, True):
        for schema in _writing(kind) if "out" in kwargs else named(kind):
            bound: dict[Any, Type] = {}

            def adapted(value: Any, parameter: Any, bound: Any = bound, convert: bool = convert) -> Any:
                return adapt(value, parameter, bound, convert)

            found = _arguments(schema, args, kwargs, adapted, bound)
            if not isinstance(found, str):
                return schema, found, bound
            tried.append(f"{text(schema)}:\n{found}\n")
    tried = list(dict.fromkeys(tried))
    if len(tried) == 1:
        raise TypeError(f"\n{tried[0]}")
    raise TypeError(none_fits(tried))


def none_fits(tried: list[str]) -> str:
    """The message of a call that fits none of several signatures: what does not fit of each."""
    listed = "\n".join(f"  {one}".replace("\n", "\n  ") for one in tried).rstrip(" ")
    return (
        "Arguments for call are not valid.\nThe following variants are available:\n  \n"
        f"{listed}\nThe original call is"
    )


def unfit(formal: Type, actual: Type, name: str, inferred: bool, bound: Mapping[Any, Type]) -> str:
    """Why an argument is not what a signature says, in PyTorch's words."""
    clash = _clash(formal, actual, bound)
    if clash:
        return f"Could not match type {actual} to {formal} in argument '{name}': {clash}"
    message = f"Expected a value of type '{formal}' for argument '{name}' but instead found type '{actual}"
    if not inferred:
        return f"{message}'."
    return (
        f"{message} (inferred)'.\nInferred the value for argument '{name}' to be of type 'Tensor' because it "
        "was not annotated with an explicit type."
    )


def _clash(formal: Type, actual: Type, bound: Mapping[Any, Type]) -> str:
    """What a type variable stands for already, where the argument asks for another type."""
    if formal.kind == "var":
        known = bound.get(formal.cls)
        if known is None or unify(known, actual) is not None:
            return ""
        return f"Type variable '{formal}' previously matched to type {known} is matched to type {actual}."
    if formal.kind != actual.kind:
        return ""
    return next(
        filter(None, (_clash(f, a, bound) for f, a in zip(formal.args, actual.args, strict=False))), ""
    )


def _arguments(
    schema: Schema,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    adapt: Callable[[Any, Parameter], Any],
    bound: Mapping[Any, Type],
) -> list[Any] | str:
    """A value for each parameter, None for a default; or why the arguments do not fit."""
    left, found = dict(kwargs), list[Any]()
    places = [p for p in schema.parameters if not p.keyword_only]
    last = places[-1] if places else None
    spread = (  # zeros(2, 3), but not len(2, 3)
        last and last.type.kind == "List" and not last.count and last.type.args[0].kind not in ("var", "Any")
    )
    surplus = len(args) > len(places) and not schema.variadic
    if surplus and spread:
        args = [*args[: len(places) - 1], list(args[len(places) - 1 :])]
        surplus = False
    for i, p in enumerate(schema.parameters):
        name = "input" if p.name == "self" and "input" in left else p.name
        if i < len(args) and not p.keyword_only:
            value = args[i]
            if name in left:
                return f"Keyword argument {name} specified twice."
        elif name in left:
            value = left.pop(name)
        elif p.default is REQUIRED:
            return f"Argument {p.name} not provided."
        else:
            found.append(None)
            continue
        adapted = adapt(value, p)
        if adapted is None and p is last and spread and not isinstance(value, list):
            adapted = adapt([value], p)  # zeros(3) is zeros([3])
        if adapted is None:
            given = value[0] if isinstance(value, list) and value else value
            return unfit(
                p.type, getattr(given, "type", NONE), p.name, getattr(given, "inferred", False), bound
            )
        found.append(adapted)
    if surplus:
        return f"Expected at most {len(places)} arguments but found {len(args)} positional arguments."
    found += args[len(places) :]
    return f"Keyword argument {next(iter(left))} unknown." if left else found


def text(schema: Schema) -> str:
    """The signature as errors show it."""
    if schema.line:
        return schema.line
    shown, star = [], False
    for p in schema.parameters:
        shown += ["*"] if p.keyword_only and not star else []
        star = star or p.keyword_only
        shown.append(f"{p.raw} {p.name}" + ("" if p.default is REQUIRED else f"={spell(p.default)}"))
    dotted = f".{schema.overload}" if schema.overload else ""
    return f"{schema.kind}{dotted}({', '.join(shown)}) -> {', '.join(r.short() for r in schema.returns)}"


def spell(value: Any) -> str:
    """A constant as TorchScript writes it."""
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, str):
        return '"' + "".join(_ESCAPES.get(c) or (c if c >= " " else f"\\{ord(c):03o}") for c in value) + '"'
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(spell, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{spell(k)}: {spell(v)}" for k, v in value.items()) + "}"
    return repr(value)


_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
    "\0": "\\000",
}


def _number(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return {"inf": "inf", "-inf": "-inf"}.get(str(value), "nan")
    found = f"{value:.17g}"
    return found if re.search(r"[.en]", found) else found + "."


__all__ = ["BOOL", "Parameter", "Schema", "bind", "fill", "match", "named", "spell", "text"]
