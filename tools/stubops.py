"""Ops as stubs declare them: a row's parameters and what it gives, as a function or as a method.

A parameter's type is its schema's; where the row hands it on as it is ("Any"), that of PyTorch's recorded
schemas of the op, or the house's word for it. What comes out is said by those schemas too, by results.tsv of
the package (parts with names), and by returns.tsv: a result, after ";" what else it is with a flag set, ops.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import stubtypes
from stubclasses import block, doc_lines, spell
from stubtypes import Scope

from rushlight._engine.core.results import TYPES
from rushlight._engine.dispatch.runners.pointwise import public_params
from rushlight._engine.ops.help_text import help_text
from rushlight._engine.ops.signature import REQUIRED, Param
from rushlight._engine.ops.table import Row

ROOT = Path(__file__).resolve().parent.parent
_POSITIONAL: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
_NUMBER = "int | float | complex"
_SCHEMA = {
    "Tensor": "Tensor",
    "Number": _NUMBER,
    "Ints": "int | Sequence[int]",
    "list[Tensor]": "Sequence[Tensor]",
    "list[Tensor | None]": "Sequence[Tensor | None]",
    "tuple": "tuple[Any, ...]",
    "memory_format": "memory_format",
    "int": "int",
    "bool": "bool",
    "float": "float",
    "str": "str",
    "dtype": "dtype",
    "None": "None",
    "device": "str | int | device",
}
_ATEN = {
    "Tensor": "Tensor",
    "int": "int",
    "SymInt": "int",
    "bool": "bool",
    "float": "float",
    "str": "str",
    "Scalar": _NUMBER,
    "ScalarType": "dtype",
    "Layout": "layout",
    "Device": "str | int | device",
    "MemoryFormat": "memory_format",
    "Generator": "Generator",
    "Tensor[]": "Sequence[Tensor]",
    "Tensor?[]": "Sequence[Tensor | None]",
    "int[]": "Sequence[int]",
    "SymInt[]": "Sequence[int]",
    "float[]": "Sequence[float]",
    "bool[]": "Sequence[bool]",
    "Scalar[]": f"Sequence[{_NUMBER}]",
}
_OUT = "Tensor | Sequence[Tensor] | None"
_FORM = re.compile(r"([\w:]+)(?:\.(\w+))?\((.*)\) -> (.*)$")


@cache
def forms() -> dict[str, list[tuple[list[tuple[str, str, bool]], str]]]:
    """Of each op in the recorded schemas: parameters (name, type, whether it must be given), the result."""
    found: dict[str, list[tuple[list[tuple[str, str, bool]], str]]] = {}
    for file in ("jit/program/schemas.txt", "export/schemas.tsv"):
        for line in (ROOT / "rushlight" / file).read_text(encoding="utf-8").splitlines():
            said = _FORM.match(line.partition("\t")[0])
            if said is None or "Dimname" in line:
                continue
            try:
                parts = re.split(r", (?![^\[]*\])", said[3])
                given = [_argument(part) for part in parts if part and part != "*"]
                result = _given_back(re.sub(r"\([a-z!|* >-]+\)", "", said[4]))
            except KeyError:
                continue
            if "Tensor" in result or "Tensor" in said[3]:
                found.setdefault(said[1], []).append((given, result))
    return found


def _argument(text: str) -> tuple[str, str, bool]:
    kind, _, rest = re.sub(r"\([a-z!|* >-]+\)", "", text).rpartition(" ")
    name, _, default = rest.partition("=")
    optional = kind.endswith("?")
    plain = re.sub(r"\[\d+\]", "[]", kind.rstrip("?"))
    found = _ATEN[plain]
    if re.search(r"\[\d+\]", kind):
        found = f"{found.removeprefix('Sequence[').removesuffix(']')} | {found}"
    return "input" if name == "self" else name, found + " | None" * optional, not default


def _given_back(text: str) -> str:
    if text.startswith("("):
        parts = [part.split()[0] for part in text.strip("()").split(", ") if part]
        return f"tuple[{', '.join(_ATEN[part] for part in parts)}]" if parts else "None"
    return "tuple[Tensor, ...]" if text == "Tensor[]" else {"Tensor": "Tensor", "bool": "bool"}[text]


def _forms_of(row: Row, name: str, space: str) -> list[tuple[list[tuple[str, str, bool]], str]]:
    keys = (name, f"{space}_{name}", row.name, name.rstrip("_"), row.name.removesuffix("_function"))
    return next((forms()[key] for key in keys if key in forms()), [])


@cache
def told_results() -> dict[str, str]:
    """returns.tsv."""
    lines = Path(__file__).with_name("returns.tsv").read_text(encoding="utf-8").splitlines()
    return {op: kind for kind, ops in (line.split("\t") for line in lines) for op in ops.split()}


def _union(*kinds: str) -> str:
    parts = [part for kind in kinds for part in re.split(r" \| (?![^\[]*\])", kind)]
    if "Any" in parts:
        return "Any"
    unique = sorted(dict.fromkeys(parts), key=lambda part: part == "None")
    return " | ".join(unique)


def parameter_type(p: Param, known: list[tuple[list[tuple[str, str, bool]], str]]) -> str:
    """The type of a row's parameter, in the house's words."""
    plain = p.type.removeprefix("*")
    if p.name == "out":
        return _OUT
    if plain != "Any":
        return _union(*(_SCHEMA.get(part, part) for part in re.split(r" \| (?![^\[]*\])", plain)))
    if p.varargs:
        return "Tensor | Sequence[Tensor]" if p.name in ("tensors", "matrices") else "Any"
    found = [kind for given, _ in known for name, kind, _ in given if name == p.name]
    word = stubtypes.words()[0].get(p.name)
    if not found and not word:
        return "Any"
    nothing = ["None"] if p.default is None else []
    return _union(*(found or [str(word)]), *nothing)


# Pools that keep a size of the input where None is asked for, which schemas do not say.
_KEEPING_SIZES = frozenset(f"adaptive_{kind}_pool{n}d" for kind in ("avg", "max") for n in (2, 3))
_SIZES_OR_NONE = "int | Sequence[int | None] | None"


# What PyTorch's method calls a parameter that its function calls otherwise.
_METHOD_PARAMETERS = {("split", "split_size_or_sections"): "split_size"}


def _renamed(p: Param, name: str) -> Param:
    return p if name == p.name else Param(name, p.type, p.default, p.keyword_only)


def op_lines(scope: Scope, row: Row, space: str, name: str, variant: str) -> list[str]:
    """The declaration of an op under one public name, with an overload for each of its forms."""
    method = space == "Tensor"
    known = _forms_of(row, name.removesuffix("_") if variant == "inplace" else name, space)
    writes = variant == "inplace"
    params = list(row.params if writes or row.kind != "pointwise" else public_params(row))
    if row.out and not writes and "nn.functional" not in row.where:
        params.append(Param("out", "Tensor | None", None, True))
    doc = f"In-place version of {row.name}." if writes else help_text(row)
    if method:
        params = [_renamed(p, _METHOD_PARAMETERS.get((row.name, p.name), p.name)) for p in params]
    typed = [(p, parameter_type(p, known)) for p in sorted(params, key=_late)]
    if row.name in _KEEPING_SIZES:
        typed = [(p, _SIZES_OR_NONE if p.name == "output_size" else kind) for p, kind in typed]
    overloads = [("Tensor", typed)] if writes else list(_overloads(row, method, typed, known))
    spelled = [made for kind, ps in overloads for made in _spread(_listed(ps), kind)]
    spelled = _without_repeats(spelled)
    lines: list[str] = []
    for parameters, kind in spelled:
        told = [(p, scope.house(_with_default(p, k))) for p, k in parameters]
        if method:  # by the name that it has when it is called as a function, torch.Tensor.add(input, other)
            told = [(inspect.Parameter(told[0][0].name, _POSITIONAL), ""), *told[1:]]
        lines += [f"@{scope.home('overload')}"] * (len(spelled) > 1)
        lines += block(f"def {name}({spell(told)}) -> {result_type(scope, kind)}:", doc_lines(doc))
    return lines


def _without_repeats(spelled: list[Any]) -> list[Any]:
    """The forms without those that an earlier one, with more defaults, takes in."""
    kept: dict[Any, Any] = {}
    for parameters, kind in spelled:
        of_place = tuple((p.name, k) for p, k in parameters if p.kind is not p.KEYWORD_ONLY)
        by_name = frozenset((p.name, _with_default(p, k)) for p, k in parameters if p.kind is p.KEYWORD_ONLY)
        kept.setdefault((of_place, by_name, kind), (parameters, kind))
    return list(kept.values())


def _with_default(p: inspect.Parameter, kind: str) -> str:
    """A type that takes in the default."""
    more = "None" if p.default is None else "str" if isinstance(p.default, str) else ""
    return _union(kind, more) if more and more not in kind and "Any" not in kind else kind


def _late(p: Param) -> bool:
    return p.keyword_only


def result_type(scope: Scope, kind: str) -> str:
    """A result's type; parts with names are a class of torch.return_types."""
    if kind.startswith("return_types."):
        name = kind.removeprefix("return_types.")
        return scope.name("rushlight.return_types", name, f"_{name}_result")
    return scope.house(kind)


def _overloads(row: Row, method: bool, typed: list[tuple[Param, str]], known: Any) -> Any:
    told = told_results().get(row.name)
    named = f"return_types.{row.name}" if row.name in TYPES else ""
    if told is not None:
        first, *flagged = told.split("; ")
        if not flagged:
            yield first, typed
            return
        flags = [entry.partition(": ")[0].split("=")[0] for entry in flagged]
        yield first, [(p, "Literal[False]" if p.name in flags else kind) for p, kind in typed]
        for entry in flagged:
            flag, _, kind = entry.partition(": ")
            yield kind, list(_flagged(typed, flag.split("=")[0], flags))
        yield "Any", typed  # a flag whose value is not known here
        return
    for shared in (apart := _apart(typed, known)):
        if not method or shared[0][0][0] == typed[0][0].name:
            yield "Tensor", list(_by_forms(typed, shared, whole=True))
    if apart:
        return
    results = dict.fromkeys(kind for given, kind in known if not given or given[0][1].startswith("Tensor"))
    if len(results) > 1 and row.kind != "pointwise" and results.keys() != {"Tensor", "None"}:
        for kind in results:
            shared = [given for given, k in known if k == kind]
            real = named if kind.startswith("tuple[Tensor,") and "..." not in kind and named else kind
            alone = {
                tuple(n for n, _, must in given if must): given for given in shared if _second(typed, given)
            }
            others = [given for given in shared if not _second(typed, given)]
            yield real, list(_not_given(typed, _by_forms(typed, others)))
            for given in alone.values():
                yield (
                    real,
                    [
                        (Param(p.name, p.type, p.default, p.name == "out"), kind)
                        for p, kind in _by_forms(typed, [given])
                    ],
                )
        return
    kind = next(iter(results), "Tensor")
    if named and (kind.startswith("tuple[Tensor") or not results):
        kind = named
    yield ("Tensor" if kind == "None" else kind), typed


def _second(typed: list[tuple[Param, str]], given: list[tuple[str, str, bool]]) -> bool:
    """Whether a recorded form must be given what the row takes by keyword alone, as max(input, other)."""
    by_keyword = {p.name for p, _ in typed if p.keyword_only}
    return any(must and name in by_keyword for name, _, must in given)


def _not_given(typed: list[tuple[Param, str]], form: Any) -> Any:
    """A form's parameters, and those of the row that it has not, which may be None there."""
    told = dict((p.name, (p, kind)) for p, kind in form)
    for p, _ in typed:
        if p.name in told:
            yield told[p.name]
        elif p.default is None and not p.keyword_only:
            yield p, "None"


def _apart(typed: list[tuple[Param, str]], known: Any) -> list[list[list[tuple[str, str, bool]]]]:
    """The recorded forms, if one begins with another parameter than the row, as randint(high, size) does;
    those that must be given the same are together.
    """
    first, own = typed[0][0].name, {p.name for p, _ in typed}
    forms: dict[tuple[str, ...], list[list[tuple[str, str, bool]]]] = {}
    for given, _ in known:
        if given and given[0][0] in own:
            forms.setdefault(tuple(n for n, _, must in given if must), []).append(given)
    begins = {shared[0][0][0] for shared in forms.values()}
    return list(forms.values()) if len(begins) > 1 and first in begins else []


def _flagged(typed: list[tuple[Param, str]], flag: str, flags: list[str]) -> Any:
    """The parameters of a call with a flag set, which comes by keyword."""
    for p, kind in sorted(typed, key=lambda pair: pair[0].keyword_only or pair[0].name == flag):
        if p.name == flag:
            yield Param(p.name, p.type, REQUIRED, True), "Literal[True]"
        else:
            yield p, kind


def _by_forms(
    typed: list[tuple[Param, str]], shared: list[list[tuple[str, str, bool]]], whole: bool = False
) -> Any:
    """The row's parameters that some recorded forms have, in their order."""
    own = {p.name: p for p, _ in typed}
    kinds: dict[str, str] = {}
    needed: dict[str, bool] = {}
    for given in shared:
        for name, kind, must in given:
            if name in own:
                kinds[name] = _union(kinds[name], kind) if name in kinds else kind
                needed[name] = needed.get(name, True) and must
    needed = {
        n: must and all(any(n == g[0] for g in given) for given in shared) for n, must in needed.items()
    }
    for name, kind in sorted(kinds.items(), key=lambda item: list(own).index(item[0])):
        yield (
            Param(
                name,
                own[name].type,
                REQUIRED if needed[name] else (None if own[name].default is REQUIRED else own[name].default),
                own[name].keyword_only,
            ),
            kind,
        )
    for p, kind in typed:
        if whole and p.keyword_only and p.name not in kinds and p.name != "out":
            yield p, kind
    if "out" in own:
        yield own["out"], _OUT


def _listed(typed: list[tuple[Param, str]]) -> list[tuple[Param, str]]:
    """A first parameter that takes tensors in a sequence, with lists and tuples said by themselves: pyright
    takes a list that is written out, with an item that it knows nothing of, only where a list is asked for;
    and a list of Parameters is no list[Tensor].
    """
    (first, kind), *rest = typed
    if kind != "Sequence[Tensor]":
        return typed
    return [(first, f"list[Tensor] | tuple[Tensor, ...] | {kind}"), *rest]


def _spread(typed: list[tuple[Param, str]], result: str) -> Any:
    """A signature's parameters as Python's; two where ints may be spread or come as a sequence."""
    several = any(p.varargs and p.type.startswith("*Ints") for p, _ in typed)
    for spread in (True, False) if several else (True,):
        made: list[tuple[inspect.Parameter, str]] = []
        kind: Any = _POSITIONAL
        for p, said in typed:
            default = inspect.Parameter.empty if p.default is REQUIRED else p.default
            if p.varargs and spread:
                said = "int" if several else said
                made.append((inspect.Parameter(p.name, inspect.Parameter.VAR_POSITIONAL), said))
                kind = inspect.Parameter.KEYWORD_ONLY
                continue
            if p.varargs:
                said = _union("Sequence[int]", *(["None"] if default is None else []))
            made.append(
                (
                    inspect.Parameter(
                        p.name, inspect.Parameter.KEYWORD_ONLY if p.keyword_only else kind, default=default
                    ),
                    said,
                )
            )
        yield _defaults_last(made), result


def _defaults_last(made: list[tuple[inspect.Parameter, str]]) -> list[tuple[inspect.Parameter, str]]:
    """A positional parameter after one with a default has one too."""
    seen = False
    told = []
    for p, kind in made:
        if p.kind is p.POSITIONAL_OR_KEYWORD:
            if seen and p.default is p.empty:
                p = p.replace(default=None)
                kind = _union(kind, "None")
            seen = seen or p.default is not p.empty
        told.append((p, kind))
    return told
