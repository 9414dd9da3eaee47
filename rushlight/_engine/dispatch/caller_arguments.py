"""What the caller of an op wrote: which arguments were positional, and which were not given at all.

A generated function has bound its arguments before anybody asks, but torch functions of classes and of modes
are to be handed what was given. The instruction that is running in the caller's frame tells how many
arguments were positional, and the names of the others. A call with `*args` or `**kwargs` does not tell; a
dict of the caller that holds the very values is then taken for its keywords.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import lru_cache
from os.path import dirname
from types import CodeType, FrameType
from typing import Any

from rushlight._engine.dispatch import spellings
from rushlight._engine.ops.signature import REQUIRED, SYNONYMS, Param
from rushlight._engine.ops.table import Row

_PACKAGE = dirname(dirname(dirname(__file__)))


def as_written(
    row: Row, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """(args, kwargs) of a call of a row's public function, as its caller gave them."""
    caller = _caller(row)
    if caller is None:
        return args, kwargs
    params = {p.name: p for p in row.params}
    given = dict(zip(params, args, strict=False)) | kwargs
    python = spellings.in_python(function)
    if len(args) > len(params) or (any(p.varargs for p in row.params) and args):
        # Spread over positional arguments, which were handed on as they are.
        args, kwargs = _spread(row, args, kwargs)
        return args, (optional(row.params) if python else {}) | kwargs
    if python:
        return handed_on(row.params, given, function)
    given.pop("inplace", None)  # of the row that torch.nn.functional's functions share with torch's
    return _divided(params, given, *_instruction(caller), caller)


def handed_on(
    params: Iterable[Param], given: dict[str, Any], function: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, as PyTorch's function in Python hands them on: those with a default by keyword."""
    space, name = spellings.space_of(function)
    named = _BY_KEYWORD.get(name, ())
    needed = [p.name for p in params if p.default is REQUIRED and p.name not in named]
    out = given.pop("out", None)
    if out is not None or (name in _WITH_OUT and space != "Tensor"):
        last = {n: given.pop(n) for n in ("dtype",) if n in given}
        given |= {"out": out} | last
    for left in _LEFT_OUT.get(name, ()):
        if given.get(left) is None:
            given.pop(left, None)
    return tuple(given.pop(n) for n in needed), given


def optional(params: Iterable[Param]) -> dict[str, Any]:
    """What a function that takes any number of tensors hands on by keyword."""
    return {p.name: p.default for p in params if not p.varargs and p.default is not REQUIRED}


# Functions in Python that hand on an `out` that was not given.
_WITH_OUT = frozenset(("lu", "norm", "normalize", "tensordot"))
# Arguments that are handed on by keyword, although they have no default; that are not handed on.
_BY_KEYWORD = {"unravel_index": ("shape",)}
_LEFT_OUT = {"l1_loss": ("weight",)}


def _caller(row: Row) -> FrameType | None:
    """The frame that called the row's generated function; None where no such function is running."""
    frame: FrameType | None = sys._getframe(2)
    names, found = (row.name, f"{row.name}_"), None
    while frame is not None:
        ours = frame.f_code.co_filename.startswith((_PACKAGE, "<rushlight "))
        # Programs have functions of these names, too.
        own = spellings.spelling(frame.f_code) if ours else None
        if (frame.f_code.co_filename.startswith("<rushlight ") and frame.f_code.co_name in names) or (
            own is not None and own.row == row.name
        ):
            found = frame
        elif found is not None:
            return frame
        elif not ours:
            return None
        frame = frame.f_back
    return None


def called(row: Row) -> spellings.Spelling | None:
    """The function of a row's that a program has called; None where that is none which programs know."""
    names = (row.name, f"{row.name}_")
    frame: FrameType | None = sys._getframe(2)
    outermost = None
    while frame is not None and frame.f_code.co_filename.startswith((_PACKAGE, "<rushlight ")):
        found = spellings.spelling(frame.f_code)
        if found is not None and found.row == row.name:
            outermost = found
        elif frame.f_code.co_filename.startswith("<rushlight ") and frame.f_code.co_name not in names:
            break
        frame = frame.f_back
    return outermost


def _spread(
    row: Row, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    defaults = {p.name: p.default for p in row.params} | {"out": None}
    given = {
        name: value for name, value in kwargs.items() if name not in defaults or value is not defaults[name]
    }
    first = row.params[0].name
    return ((given.pop(first), *args) if first in given else args), given


def _instruction(frame: FrameType) -> tuple[int | None, tuple[str, ...]]:
    """How many arguments the call that a frame is in has by position (None: unknown), and its keywords."""
    return _calls(frame.f_code).get(frame.f_lasti, (None, ()))


@lru_cache(maxsize=1024)
def _calls(code: CodeType) -> dict[int, tuple[int | None, tuple[str, ...]]]:
    """By the place of each call's instruction: how many arguments are positional, and names of the others."""
    import dis  # not loaded before a class or a mode takes a function over

    found: dict[int, tuple[int | None, tuple[str, ...]]] = {}
    names: tuple[str, ...] = ()
    constant: Any = ()
    passed: tuple[int | None, tuple[str, ...]] = None, ()

    for step in dis.get_instructions(code, show_caches=True):
        if step.opname == "CACHE":  # of the instruction before, which a frame may point behind
            found[step.offset] = passed
            continue
        if step.opname == "KW_NAMES":
            names = code.co_consts[step.arg or 0]
        elif step.opname in ("PRECALL", "CALL", "CALL_KW"):
            names = constant if step.opname == "CALL_KW" else names
            passed = (step.arg or 0) - len(names), names
            # Where code is warm, Python 3.11 calls built-in functions by the instruction before the call's.
            names = names if step.opname == "PRECALL" else ()
        elif step.opname in _OPERATORS:
            passed = 2 if step.opname in ("BINARY_OP", "COMPARE_OP") else 1, ()
        else:
            passed = None, ()
        found[step.offset] = passed
        constant = step.argval if step.opname == "LOAD_CONST" else ()
    return found


_OPERATORS = frozenset({"BINARY_OP", "COMPARE_OP", "UNARY_NEGATIVE", "UNARY_INVERT", "UNARY_POSITIVE"})


def _dicts(frame: FrameType) -> list[dict[str, Any]]:
    return [value for value in frame.f_locals.values() if value.__class__ is dict]


def _divided(
    params: dict[str, Param],
    given: dict[str, Any],
    count: int | None,
    names: tuple[str, ...],
    caller: FrameType,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, as a call of `count` positional ones and of these names gave them.

    The caller's variables are only looked at where these do not tell: a frame keeps what it has shown, so
    that `del x` would not let go of a tensor.
    """

    def left_out(name: str) -> bool:
        default = params[name].default if name in params else None
        return given[name] is default and default is not REQUIRED

    ours = {_ours(name, given) for name in names}
    positional = [name for name, p in params.items() if not p.keyword_only and name in given]
    if count is not None:
        # A method's first argument stands before the dot.
        for several in (count, count + 1):
            first = positional[:several]
            rest = [name for name in given if name not in first and name not in ours]
            if several <= len(positional) and ours.isdisjoint(first) and all(map(left_out, rest)):
                return tuple(given[name] for name in first), {
                    name: given[_ours(name, given)] for name in names if _ours(name, given) in given
                }
    kept = {name: value for name, value in given.items() if not left_out(name)}
    dicts = _dicts(caller)
    keywords = {
        name: value
        for name, value in given.items()
        if any(name in d and d[name] is value for d in dicts) and (name in kept or len(params) > 1)
    }
    first = []
    for name in positional:
        if name in keywords:
            break
        first.append(name)
    while first and first[-1] not in kept:
        first.pop()
    return tuple(given[name] for name in first), {
        name: value
        for name, value in given.items()
        if name not in first and (name in kept or name in keywords)
    }


def _ours(name: str, given: dict[str, Any]) -> str:
    return name if name in given else "input" if name == "self" else SYNONYMS.get(name, name)
