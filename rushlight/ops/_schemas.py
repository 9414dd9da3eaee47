"""PyTorch's notation of signatures: `add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

import rushlight as torch
from rushlight._engine.ops.signature import REQUIRED


class AliasInfo(NamedTuple):
    """What a type says of memory: "(a!)" is written to, "(a -> *)" may be shared with any result.

    sets: the names before and behind the arrow. Of lists, they are those of the items.
    """

    is_write: bool
    sets: tuple[frozenset[str], frozenset[str]]
    is_list: bool

    @property
    def before_set(self) -> set[str]:
        """The names before the call; of a list itself, none."""
        return set() if self.is_list else set(self.sets[0])

    @property
    def after_set(self) -> set[str]:
        """The names behind the call; of a list itself, none."""
        return set() if self.is_list else set(self.sets[1])


def _aliases(kind: str) -> AliasInfo | None:
    """What the parentheses of a type say, such as Tensor(a! -> *)[]; None without any."""
    found = re.search(r"\(([^)]*)\)", kind)
    if found is None:
        return None
    before, arrow, after = found[1].replace("!", "").partition("->")
    names = frozenset(name.strip() for name in before.split("|"))
    behind = frozenset(name.strip() for name in after.split("|")) if arrow else names
    return AliasInfo("!" in found[1], (names, behind), kind.endswith("]"))


class Param(NamedTuple):
    """A parameter of a signature; `default` is REQUIRED where there is none."""

    name: str
    type: str
    default: Any
    kwarg_only: bool
    alias_info: AliasInfo | None = None

    def has_default_value(self) -> bool:
        """Whether a call may leave it out."""
        return self.default is not REQUIRED

    @property
    def default_value(self) -> Any:
        """The default, None where there is none."""
        return None if self.default is REQUIRED else self.whole_default

    @property
    def is_written(self) -> bool:
        """Whether the op writes into it."""
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def is_out(self) -> bool:
        """Whether it is a result's memory: `out=` of a signature."""
        return self.kwarg_only and self.is_written

    @property
    def whole_default(self) -> Any:
        """The default, a list where lists of a length are meant, a device for its name."""
        if "Device" in self.type:
            return torch.device(self.default) if isinstance(self.default, str) else self.default
        return self.default if self.default is REQUIRED else shaped(self.type, self.default)


class Schema(NamedTuple):
    """A signature: `add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`."""

    op_name: str  # "add"
    overload: str  # "Tensor", or "default"
    arguments: tuple[Param, ...]
    text: str
    namespace: str = "aten"

    @property
    def name(self) -> str:
        """ "aten::add"."""
        return f"{self.namespace}::{self.op_name}"

    @property
    def overload_name(self) -> str:
        """The overload as a file of signatures has it: nothing for the default one."""
        return "" if self.overload == "default" else self.overload

    @property
    def writes(self) -> bool:
        """Whether the op writes into what it is given."""
        return "!" in self.text

    @property
    def is_mutable(self) -> bool:
        """The same."""
        return self.writes

    @property
    def returns(self) -> tuple[Param, ...]:
        """The results: types, and names where they have some."""
        whole = self.text.rpartition(" -> ")[2]
        several = whole[1:-1].split(", ") if whole.startswith("(") else [whole]
        parts = [part.partition(" ") for part in several if part]
        return tuple(Param(name, _plain(kind), REQUIRED, False, _aliases(kind)) for kind, _, name in parts)

    def __str__(self) -> str:
        return f"{self.namespace}::{self.text}"

    def __repr__(self) -> str:
        return str(self)

    def __hash__(self) -> int:
        return hash((self.namespace, self.text))


def misfit(schema: Schema, args: Any, kwargs: Any) -> str:
    """Why arguments, of types that would do, are not those of a signature, in PyTorch's words."""
    params = schema.arguments
    positional = [p for p in params if not p.kwarg_only]
    if len(args) > len(positional):
        return (
            f"{schema.name}() expected at most {len(positional)} argument(s) but received {len(args)} "
            f"argument(s). Declaration: {schema}"
        )
    for p in [*params[len(args) :]]:
        if p.name not in kwargs and not p.has_default_value():
            return f"{schema.name}() is missing value for argument '{p.name}'. Declaration: {schema}"
    names = [p.name for p in params]
    for name in kwargs:
        if name not in names:
            return f"Unknown keyword argument '{name}' for operator '{schema.name}'. Schema: {schema}"
    twice = next((name for name in kwargs if name in names[: len(args)]), "")
    return f"{schema.name}() got multiple values for argument '{twice}'. Declaration: {schema}"


_VALUES = {"None": None, "True": True, "False": False, "Mean": 1}


def _value(text: str | None) -> Any:
    if text is None:
        return REQUIRED
    if text in _VALUES:
        return _VALUES[text]
    if text[0] == "[":
        return [_value(item.strip()) for item in text[1:-1].split(",") if item.strip()]
    if text[0] in "\"'":
        return text[1:-1]
    try:
        return float(f"{float(text):.15g}") if re.search(r"[.e]", text) else int(text)
    except ValueError:
        return None


def _matched(pattern: str, text: str) -> re.Match[str]:
    """The match of a whole text; ValueError where there is none."""
    found = re.fullmatch(pattern, text)
    if found is None:
        raise ValueError(f"expected a text like {pattern!r}, got {text!r}")
    return found


def _plain(kind: str) -> str:
    """A type without what it says of memory; sizes are integers."""
    return re.sub(r"\([^)]*\)|Sym(?=Int)", "", kind).replace("Int", "int")


_NAMED = ("ScalarType", "Layout", "MemoryFormat")


def _named(kind: str, text: str) -> Any:
    """The dtype, layout or memory format that a signature tells by its number, or its name in torch."""
    if text.isdigit():
        from rushlight.jit.program.runtime import decode  # few signatures have such a default

        return decode(kind, int(text))
    return getattr(torch, text, None)


@lru_cache(None)
def parsed(text: str, namespace: str = "aten") -> Schema:
    """A line of schemas.tsv, or what programs define."""
    name, overload, inner = _matched(r"(\w+)(?:\.(\w+))?\((.*)\) -> .*", text).groups()
    params, keyword = [], False
    for part in re.split(r", (?![^\[]*\])", inner) if inner else ():
        if part == "*":
            keyword = True
            continue
        kind, own, default = _matched(r"(.+?) (\w+)(?:=(.*))?", part).groups()
        number = default is not None and default.isdigit()
        if namespace == "aten" and kind.startswith("ScalarType") and number:
            default = "None"  # the number of torch.int64, which is what the op makes anyway
        named = default is not None and kind.rstrip("?") in _NAMED
        value = _named(kind.rstrip("?"), default) if named else _value(default)
        params.append(Param(own, _plain(kind), value, keyword, _aliases(kind)))
    return Schema(name, overload or "default", tuple(params), text, namespace)


@lru_cache(None)
def _length(kind: str) -> str | None:
    """The length of a list's type: "2" of int[2], "" of int[]; None for what is no list."""
    size = re.fullmatch(r".*\[(\d*)\]\??", kind)
    return None if size is None else size[1]


def shaped(kind: str, value: Any) -> Any:
    """A default as PyTorch shows it: lists of a length are lists, devices are devices."""
    length = _length(kind) if value is not None else None
    if length is not None and not isinstance(value, (list, tuple)):
        return [value] * int(length)
    if length is not None:
        return list(value) * (int(length) if length and len(value) == 1 else 1)
    if kind.startswith("Device") and not isinstance(value, torch.device):
        return torch.device("cpu" if value is None else value)
    return value
