"""Who may take an op over before it runs: interpreters, and classes with __torch_function__."""
from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from time import perf_counter_ns
from typing import Any

from rushlight.base.spans import OP
from rushlight.base.tape import TAPE
from rushlight.dispatch import state
from rushlight.dispatch.arguments import without_missing
from rushlight.dispatch.source import compile_function
from rushlight.dispatch.state import LONE, MODES, STACK
from rushlight.ops.table import Row
from rushlight.tensor.tensor import Tensor, as_subclass


def entrance(row: Row, direct: Callable[..., Any]) -> Callable[..., Any]:
    """The op for whoever may take it over: the innermost interpreter, else classes among the operands'."""
    past = past_interpreters(row, direct)

    def general(*args: Any, **kwargs: Any) -> Any:
        modes = STACK.modes if MODES else None
        if not modes:
            return past(*args, **kwargs)
        mode = modes.pop()
        try:
            return mode.run(row, direct, args, without_missing(kwargs))
        finally:
            modes.append(mode)

    general.__name__ = general.__qualname__ = row.name
    return general


@lru_cache(maxsize=None)
def past_interpreters(row: Row, direct: Callable[..., Any]) -> Callable[..., Any]:
    """`entrance` without interpreters; what the op calls meets them."""
    def general(*args: Any, **kwargs: Any) -> Any:
        foreign = _foreign(args, kwargs)
        if foreign:
            return _ask(row, direct, foreign, args, without_missing(kwargs))
        return direct(*args, **kwargs)
    return general


def place(row: Row, direct: Callable[..., Any]) -> tuple[int, str, str]:
    """An op's place in a profiler's log."""
    return OP, row.name, "_" if getattr(direct, "writes", False) else ""


# Where interpreters stand: a thread without one, or with a profiler alone, runs the op as if there were none.
_PASS = '''        if MODES and not TAPE{extra}:
            _modes = STACK.modes
            if not _modes:
                return _plain[0]({names})
            if _modes == LONE:
                _start = clock()
                _found = _plain[0]({names})
                _end = clock()
                if LONE[0].detailed:
                    LONE[0].detail(({shown}), {kept}, _found)
                LONE[0].note((PLACE, _start, _end))
                return _found
'''


def compile_door(text: str, row: Row, scope: dict[str, Any], direct: Callable[..., Any],
                 suffix: str = "") -> Callable[..., Any]:
    """A generated function that calls scope's `general` first of all where MODES says so, or mistakes.

    `plain()` of it makes it without that question, and with no arguments but by position.
    """
    name, general = row.name + suffix, scope["general"]
    head, body = text.split("):\n", 1)
    order = re.findall(r"[(,] ?\*?(\w+)", head)
    names = "".join(f"{n}, " for n in order)

    @lru_cache(maxsize=None)
    def plain() -> Callable[..., Any]:
        past = general.plain() if hasattr(general, "plain") else past_interpreters(row, direct)
        return compile_function(f"def {name}({names}):\n{body}", name, {
            **scope, "MODES": (), "extra": {}, "general": past,
            "WATCHED": () if row.kind == "view" else MODES}, f"{name} watched")  # a view calls no other rows

    def first(*args: Any) -> Any:
        found[0] = plain()
        return found[0](*args)
    found = [first]
    check = _PASS.format(
        names=names, extra=" and not extra" if "**extra" in head else "",
        shown="".join(f"{n}, " for n in order if n != "out"), kept="{'out': out}" if "out" in order else "{}")
    away = "        return general("
    made: Any = compile_function(text.replace(away, check + away, 1), name, {
        **scope, "STACK": STACK, "TAPE": TAPE, "LONE": LONE, "clock": perf_counter_ns, "_plain": found,
        "PLACE": place(row, direct)})
    made.plain = plain
    return made  # type: ignore[no-any-return]


def _foreign(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    found: list[Any] = []
    for value in (*args, *kwargs.values()):
        items = value if isinstance(value, (list, tuple)) else (value,)
        for item in items:
            cls = item.__class__
            if cls in state.PLAIN or cls in _SIMPLE:
                continue
            if getattr(cls, "__torch_function__", None) and not any(type(f) is cls for f in found):
                found.append(item)
    # Subclasses are asked before their bases.
    return sorted(found, key=lambda item: -len(type(item).__mro__))


_SIMPLE = {int, float, bool, str, type(None), complex}


def _ask(row: Row, direct: Callable[..., Any], foreign: list[Any], args: tuple[Any, ...],
         kwargs: dict[str, Any]) -> Any:
    from rushlight.dispatch.door import function, lookup

    public = lookup("Tensor", f"{row.name}_") if getattr(direct, "writes", False) else function(row)
    types = tuple(type(f) for f in foreign)
    for item in foreign:
        hook = type(item).__torch_function__
        if getattr(hook, "__func__", None) is default.__func__:  # type: ignore[attr-defined]
            found = as_class(direct(*args, **kwargs), type(item))
        else:
            found = hook(public, types, args, kwargs)
        if found is not NotImplemented:
            return found
    raise TypeError(f"no implementation found for 'torch.{row.name}' on types that implement "
                    f"__torch_function__: {[t.__name__ for t in types]}")


def as_class(value: Any, cls: type) -> Any:
    """Tensors in a result as instances of the subclass, as PyTorch's default does."""
    if type(value) is Tensor:
        return as_subclass(value, cls)
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(as_class(v, cls) for v in value)
    if isinstance(value, list):
        return [as_class(v, cls) for v in value]
    return value


def _strip(value: Any) -> Any:
    if isinstance(value, Tensor) and type(value) not in state.PLAIN:
        return as_subclass(value, Tensor)
    if isinstance(value, (list, tuple)):
        return type(value)(_strip(v) for v in value) if type(value) in (list, tuple) else value
    return value


@classmethod  # type: ignore[misc]
def default(cls: type, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Tensor.__torch_function__: run the op and give the result the subclass."""
    plain = func(*[_strip(a) for a in args], **{k: _strip(v) for k, v in (kwargs or {}).items()})
    return as_class(plain, cls) if cls not in state.PLAIN else plain


Tensor.__torch_function__ = default  # type: ignore[attr-defined]
