"""torch._C.parse_schema: PyTorch's text of a signature as a FunctionSchema, and what may change of one."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

import rushlight as torch
from rushlight.jit.compiler.function_schema import FunctionSchema
from rushlight.jit.program.graphtypes import Type, typed
from rushlight.jit.program.schema import _ATOMS, _split, _type, kinds, lines
from rushlight.jit.program.types import ATOMS, Type as Plain
from rushlight.ops._schemas import AliasInfo, _aliases

_HEAD = re.compile(r"\s*((?:\w+::)?\w+)(?:\.(\w+))?\s*(.*)", re.S)
_PART = re.compile(r"(.+?)\s+(\w+)\s*(?:=\s*(.*))?", re.S)
_ALIAS = re.compile(
    r"(?<!Future)(?<!Await)(?<!Dict)\((?:\w+(?:\|\w+)*!?|\*)(?:\s*->\s*(?:\w+(?:\|\w+)*|\*))?\)"
)
_NAMES = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_UNKNOWN = (
    "\nunknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; "
    "for a full list, please see "
    "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func :\n"
)
_WORDS = {"None": None, "True": True, "False": False, "Mean": 1, "float": 6, "long": 4}
_WORDS |= {"contiguous_format": 0, "preserve_format": 1, "strided": 0}


@dataclass(frozen=True)
class Argument:
    """An argument or a result: `type` as programs see it (int for a ScalarType), `real_type` as written."""

    name: str
    type: Type
    real_type: Type
    written: str  # the type as text, without what it says of memory
    default_value: Any = None
    defaulted: bool = False
    kwarg_only: bool = False
    N: int | None = None
    alias_info: AliasInfo | None = None
    alias: str = ""

    @property
    def is_out(self) -> bool:
        """Whether it is a result's memory: given by keyword, and written to."""
        return self.kwarg_only and self.alias_info is not None and self.alias_info.is_write

    def has_default_value(self) -> bool:
        """Whether a call may leave it out."""
        return self.defaulted

    def compatible(self, old: Argument) -> bool:
        """Whether what was written for the old argument fits this one."""
        return (
            (self.name, self.N, self.alias_info) == (old.name, old.N, old.alias_info)
            and (old.kwarg_only or not self.kwarg_only)
            and old.type.isSubtypeOf(self.type)
            and (not old.defaulted or (self.defaulted and _same(self.default_value, old.default_value)))
        )

    def forward_compatible(self, old: Argument) -> bool:
        """Whether what is written for this argument fits the old one."""
        return (
            self.compatible(old)
            and self.type == old.type
            and (self.kwarg_only, self.defaulted) == (old.kwarg_only, old.defaulted)
        )

    def __str__(self) -> str:
        name = f" {self.name}" if self.name else ""
        default = f"={self._default()}" if self.defaulted else ""
        inner = re.match(r"\w+", self.written)
        at = inner.end() if inner and self.alias else 0
        return f"{self.written[:at]}{self.alias}{self.written[at:]}{name}{default}"

    def _default(self) -> str:
        value = self.default_value
        if self.N is not None and isinstance(value, list) and len(set(value)) == 1:
            value = value[0]
        return f'"{value}"' if isinstance(value, str) else str(value)


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


class ParsedSchema:
    """name.overload(arguments) -> results, read from text."""

    def __init__(self, name: str, overload: str, arguments: list[Argument], returns: list[Argument]) -> None:
        self.name, self.overload_name = name, overload
        self.arguments, self.returns = arguments, returns
        self.is_vararg = self.is_varret = False

    @property
    def is_mutable(self) -> bool:
        """Whether the op writes into an argument."""
        return any(a.alias_info is not None and a.alias_info.is_write for a in self.arguments)

    def _key(self) -> tuple[Any, ...]:
        return self.name, self.overload_name, str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ParsedSchema) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        shown: list[str] = []
        for a in self.arguments:
            if a.kwarg_only and "*" not in shown:
                shown.append("*")
            shown.append(str(a))
        shown += ["..."] if self.is_vararg else []
        results = [str(r) for r in self.returns]
        whole = results[0] if len(results) == 1 else f"({', '.join(results)})"
        dotted = f".{self.overload_name}" if self.overload_name else ""
        return f"{self.name}{dotted}({', '.join(shown)}) -> {'...' if self.is_varret else whole}"

    __repr__ = __str__

    def _outs_from(self) -> int:
        return next((i for i, a in enumerate(self.arguments) if a.is_out), len(self.arguments))

    def _like(self, old: ParsedSchema) -> bool:
        own, theirs = (
            (s.name, s.overload_name, s.is_vararg, s.is_varret, len(s.returns)) for s in (self, old)
        )
        return own == theirs

    def is_backward_compatible_with(self, old: ParsedSchema) -> bool:
        """Whether all calls of the old signature are calls of this one, with results that fit."""
        if not self._like(old) or len(self.arguments) < len(old.arguments):
            return False
        if not all(o.compatible(r) for o, r in zip(old.returns, self.returns, strict=True)):
            return False
        before, now = old._outs_from(), self._outs_from()
        outs = self.arguments[now : now + len(old.arguments) - before]
        return (
            now >= before
            and all(map(Argument.compatible, self.arguments[:before], old.arguments[:before]))
            and all(a.defaulted for a in self.arguments[before:now])
            and len(outs) == len(old.arguments) - before
            and all(map(Argument.compatible, outs, old.arguments[before:]))
        )

    def check_forward_compatible_with(self, old: ParsedSchema) -> tuple[bool, str]:
        """Whether calls of this signature are calls of the old one; why not."""
        if not self._like(old) or not all(
            r.forward_compatible(o) for o, r in zip(old.returns, self.returns, strict=True)
        ):
            return False, ""
        before, now = old._outs_from(), self._outs_from()
        if len(self.arguments) - now != len(old.arguments) - before:
            return False, "Function schema should have the same number of out arguments"
        for a, o in zip(self.arguments[: min(before, now)], old.arguments, strict=False):
            if not a.forward_compatible(o):
                return False, f"'{a.name}' is not forward compatible with the older version of the schema"
        for a in self.arguments[before:now]:
            reason = "" if a.defaulted else "did not provide a default value."
            if isinstance(a.default_value, (list, dict)):
                reason = "has a container type as its default value."
            if reason:
                return False, (
                    "Function schema is not forward compatible since the new argument "
                    f"'{a.name}' of type {a.type.str()} {reason}"
                )
        for a, o in zip(self.arguments[now:], old.arguments[before:], strict=True):
            if not a.forward_compatible(o):
                return (
                    False,
                    f"Out argument '{a.name}' is not FC with the older version of the schema",
                )
        return True, ""


ParsedSchema.__name__ = ParsedSchema.__qualname__ = "FunctionSchema"
ParsedSchema.__module__ = "torch"
FunctionSchema.register(ParsedSchema)


def _closing(text: str, source: str) -> int:
    depth = 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if not depth:
            return i
    raise RuntimeError(f"expected ) but found 'eof' here:\n{source}")


def _real(plain: str) -> Type:
    """The type with the names that programs do not see."""
    text = re.sub(r"\[\d+\]", "[]", plain).replace("SymInt", "int")
    inner = text.rstrip("?[]")
    if inner not in ("ScalarType", "Layout", "MemoryFormat"):
        return typed(_type(text))
    found = Plain(inner)
    for suffix in re.findall(r"\?|\[\]", text[len(inner) :]):
        found = Plain("Optional" if suffix == "?" else "List", (found,))
    return typed(found)


def _check_names(plain: str, source: str) -> None:
    for name in _NAMES.findall(plain):
        known = name in _ATOMS or name in ATOMS or name in _OTHERS or name[0].islower()
        if known or name.startswith("__torch__."):
            continue
        at = source.find(name)
        raise RuntimeError(f"{_UNKNOWN}{source}\n{' ' * at}{'~' * len(name)} <--- HERE\n")


_OTHERS = (
    "SymInt",
    "Dict",
    "Future",
    "Await",
    "RRef",
    "AnyEnumType",
    "AnyClassType",
    "Any",
    "Stream",
    "SymBool",
)


def _default(plain: str, text: str, count: int | None) -> Any:
    value: Any = _WORDS.get(text)
    if text not in _WORDS:
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = getattr(torch, text, text)
    if plain.startswith("float") and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    return [value] * count if count is not None and isinstance(value, (int, float)) else value


def _argument(part: str, keyword: bool, source: str) -> Argument:
    found = _PART.fullmatch(part.strip())
    if found is None:
        raise RuntimeError(f"expected a type and a name, but found {part!r} here:\n{source}")
    kind, name, default = found.groups()
    return _made(kind, name, default, keyword, source)


def _made(kind: str, name: str, default: str | None, keyword: bool, source: str) -> Argument:
    alias = _ALIAS.search(kind)
    plain = _ALIAS.sub("", kind)
    _check_names(plain, source)
    counted = re.search(r"\[(\d+)\]", plain)
    count = None if counted is None else int(counted[1])
    fake = typed(_type(re.sub(r"\[\d+\]", "[]", plain).replace("SymInt", "int")))
    return Argument(
        name,
        fake,
        _OfSizes(fake._type) if "SymInt" in plain else _real(plain),
        plain,
        None if default is None else _default(plain, default.strip(), count),
        default is not None,
        keyword,
        count,
        None if alias is None else _aliases(alias[0] + kind[alias.end() :]),
        "" if alias is None else alias[0],
    )


class _OfSizes(Type):
    """An int that may be a torch.SymInt, or several."""

    def str(self) -> str:
        """As signatures write it."""
        return super().str().replace("int", "SymInt")


def parse_schema(schema: str, allow_typevars: bool = True) -> ParsedSchema:
    """The signature that a text says; RuntimeError for one that says none."""
    head = _HEAD.fullmatch(schema)
    if head is None or not head[3].startswith("("):
        raise RuntimeError("Tried to parse a function schema but only the operator name was given")
    name, overload, rest = head.groups()
    end = _closing(rest, schema)
    inside, result = rest[1:end], rest[end + 1 :].strip()
    arguments, keyword, variadic = list[Argument](), False, False
    for part in _split(inside):
        if part == "*":
            keyword = True
        elif part == "...":
            variadic = True
        else:
            arguments.append(_argument(part, keyword, schema))
    if variadic and any(a.defaulted for a in arguments):
        raise RuntimeError("schemas with vararg (...) can't have default value args")
    if not result.startswith("->"):
        raise RuntimeError(f"expected -> but found '{result or 'eof'}' here:\n{schema}")
    written = result[2:].strip()
    made = ParsedSchema(name, overload or "", arguments, [])
    made.is_vararg, made.is_varret = variadic, written == "..."
    if not made.is_varret:
        made.returns = _results(written, schema)
    _check_order(made)
    return made


def _results(written: str, source: str) -> list[Argument]:
    wrapped = written.startswith("(") and _closing(written, source) == len(written) - 1
    found = []
    for part in _split(written[1:-1]) if wrapped else [written]:
        named = re.fullmatch(r"(.*[^\s>])\s+(\w+)", part)
        kind, name = (part, "") if named is None else (named[1], named[2])
        found.append(_made(kind, name, None, False, source))
    return found


def _check_order(schema: ParsedSchema) -> None:
    defaulted = False
    for a in schema.arguments:
        if defaulted and not a.defaulted and not a.kwarg_only:
            raise RuntimeError(
                f"Non-default positional argument follows default argument. Parameter {a.name} in {schema}"
            )
        defaulted = defaulted or a.defaulted


def all_schemas() -> list[ParsedSchema]:
    """The signatures of all ops that TorchScript knows."""
    texts = [line for kind in kinds() for line in lines(kind)]
    return [parse_schema(line if "::" in line.split("(")[0] else f"aten::{line}") for line in texts]
