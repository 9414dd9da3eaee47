"""Who may take an op over before it runs: interpreters, and classes with __torch_function__."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from time import perf_counter
from typing import Any, TypeVar

from rushlight._engine.autograd.node import TRACES
from rushlight._engine.core.device import device
from rushlight._engine.core.dtype import dtype
from rushlight._engine.core.profiling_ranges import OP
from rushlight._engine.core.pytree import tree_map
from rushlight._engine.core.recording import FOLLOWERS, TAPE
from rushlight._engine.core.services import service
from rushlight._engine.core.size import Size
from rushlight._engine.dispatch import interpreters, older
from rushlight._engine.dispatch.arguments import without_missing
from rushlight._engine.dispatch.caller_arguments import as_written, called
from rushlight._engine.dispatch.generated_code import compile_function
from rushlight._engine.dispatch.interpreters import LONE, MODES, RECORDS, SIMPLE, STACK
from rushlight._engine.dispatch.spellings import in_python, public as shown, space_of
from rushlight._engine.ops.signature import REQUIRED
from rushlight._engine.ops.table import Row, public as spellings
from rushlight._engine.tensors.geometry import MemoryFormat, StorageLayout
from rushlight._engine.tensors.tensor import Tensor

_T = TypeVar("_T")
# Classes of arguments, beside those of numbers, that call nothing.
_INERT = frozenset((dtype, device, MemoryFormat, StorageLayout))


def entrance(row: Row, direct: Callable[..., Any]) -> Callable[..., Any]:
    """The op for whoever may take it over: the innermost interpreter, else classes among the operands'."""
    past = past_interpreters(row, direct)

    def general(*args: Any, **kwargs: Any) -> Any:
        modes = STACK.modes if MODES else None
        if not modes:
            if FOLLOWERS and _runs_by_itself(args, kwargs):
                for follower in FOLLOWERS[-1:]:  # another thread's may be gone by now
                    return follower.aside(direct, args, kwargs)  # no class takes it over, either
            return past(*args, **kwargs)
        mode = modes.pop()
        try:
            return mode.run(row, direct, args, without_missing(kwargs))
        finally:
            interpreters.put_back(modes, mode)

    general.__name__ = general.__qualname__ = row.name
    return general


def _runs_by_itself(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an op on these arguments, without interpreters, calls nothing of a program's own."""
    if TRACES.record is not None:  # who hears of nodes may call hooks for what these keep
        return False
    for value in (*args, *kwargs.values()):
        cls = value.__class__
        if cls is tuple or cls is list or cls is Size:
            if not interpreters.all_plain(value):
                return False
        elif (
            cls not in interpreters.PLAIN
            and cls not in SIMPLE
            and cls not in _INERT
            and value is not REQUIRED
        ):
            return False
    return True


@cache
def past_interpreters(row: Row, direct: Callable[..., Any]) -> Callable[..., Any]:
    """`entrance` without interpreters; what the op calls meets them."""

    def general(*args: Any, **kwargs: Any) -> Any:
        classes = foreign(args, kwargs)
        if classes:
            return _asked(row, direct, lower if interpreters.BELOW else direct, classes, args, kwargs)
        return lower(*args, **kwargs) if interpreters.BELOW else direct(*args, **kwargs)

    def lower(*args: Any, **kwargs: Any) -> Any:
        if not interpreters.CLASSES.below:
            return direct(*args, **kwargs)
        return service("call of a class with a __torch_dispatch__")(
            row, direct, args, without_missing(kwargs)
        )

    return general


def _asked(
    row: Row,
    direct: Callable[..., Any],
    plain: Callable[..., Any],
    classes: list[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """The op by the first class that answers."""
    kwargs = without_missing(kwargs)
    if all(hasattr(type(item).__torch_function__, "of_rows") for item in classes):
        op = unspelled(row, direct)
        return ask(op, plain, classes, *as_written(row, op, args, kwargs))
    op, args, kwargs, reflected = as_told(row, direct, args, kwargs)
    return ask(op, None if reflected else plain, classes, args, kwargs)


def place(row: Row, direct: Callable[..., Any]) -> tuple[int, str, str]:
    """An op's place in a profiler's log."""
    return OP, row.name, "_" if getattr(direct, "writes", False) else ""


# A thread without interpreters runs the op as if there were none, and so does one with a profiler alone: what
# computes the result notes when. Whoever hands the op on to `general` leaves that to it.
_PASS = """    _begin = None
    if MODES:
        _modes = STACK.modes
        if _modes and _modes[-1].__class__ in MATCHERS{plain}:
            _region = _modes[-1]
            _found = _region.known.get(KEY)
            if _found is not None:
                _found = _found(_region, ({shown}))
                if _found is not NotImplemented:
                    return _found
            return _region.learnt(KEY, _region.mark(KEY), ({shown}), {call})
        if TAPE or _modes != LONE:
            if _modes or TAPE:
                {away}
        else:
            _begin = clock()
"""
_NOTE = """{indent}_found = {value}
{indent}if _begin is not None:
{indent}    _end = clock()
{indent}    if DETAILED:
{indent}        _modes[0].detail(({shown}), {kept}, _found)
{indent}    note((PLACE, _begin, _end))
{indent}return _found"""


def compile_callable(
    text: str, row: Row, scope: dict[str, Any], direct: Callable[..., Any], suffix: str = ""
) -> Callable[..., Any]:
    """A generated function that hands mistakes to scope's `general`, and interpreters the op."""
    head, body = text.split("):\n", 1)
    earlier = ""
    if row.name in older.ROWS:  # which take numbers before tensors, too
        given = re.findall(r"[(,] ?(\w+)", head.partition("*")[0])
        head = head.replace("*,", "*older,", 1)
        out = "**({} if out is None else {'out': out}), " if "out" in head else ""
        earlier = f"    if older:\n        return general({', '.join(given)}, *older, {out}**extra)\n"
    order = re.findall(r"[(,] ?\*?(\w+)", head)
    shown = "".join(f"{n}, " for n in order if n not in ("out", "extra", "older"))
    kept = "{'out': out}" if "out" in order else "{}"
    away = re.findall(r"return general\(.*", body)[0]
    plain = " and out is None" * ("out" in order) + " and not extra" * ("**extra" in head)

    def noted(exit: Any) -> str:
        return _NOTE.format(indent=exit[1], value=exit[2], shown=shown, kept=kept)

    body = re.sub(r"^( +)return (?!(?:general|learn|learn_out|as_noted)\()(.*)", noted, body, flags=re.M)
    found = compile_function(
        f"{head}):\n{earlier}{_PASS.format(away=away, plain=plain, shown=shown, call=away[7:])}{body}",
        row.name + suffix,
        {
            **scope,
            "MODES": MODES,
            "STACK": STACK,
            "TAPE": TAPE,
            "LONE": LONE,
            "clock": perf_counter,
            "note": RECORDS.extend,
            "DETAILED": interpreters.DETAILED,
            "MATCHERS": interpreters.MATCHERS,
            "KEY": object(),
            "PLACE": place(row, direct),
        },
    )
    setattr(direct, "short", found)  # for autocast (amp/casting.py)
    return found


def foreign(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """One instance of each class among arguments that may take an op over, subclasses first."""
    found: list[Any] = []
    if not interpreters.CLASSES.asked:
        return found
    for value in (*args, *kwargs.values()):
        # a named tuple may be a tensor to its class
        several = isinstance(value, (list, tuple)) and not hasattr(value, "__torch_function__")
        for item in value if several else (value,):
            cls = item.__class__
            if cls in interpreters.PLAIN or cls in SIMPLE:
                continue
            hook = getattr(cls, "__torch_function__", None)
            if hook and hook is not disabled and not any(type(f) is cls for f in found):
                place_by_class(found, item)
    return found


def unseen(hook: _T) -> _T:
    """A `__torch_function__` of a class of ours that has none in PyTorch, where the class lies below."""
    setattr(hook, "unseen", True)
    return hook


def of_rows(hook: _T) -> _T:
    """A `__torch_function__` of a class of ours that tells ops by their rows: it hears of all calls of a row
    as calls of the row's first function.
    """
    setattr(hook, "of_rows", True)
    return hook


def place_by_class(found: list[Any], item: Any) -> None:
    """Put an instance behind the others, but in front of the first whose class its class is derived from."""
    cls = type(item)
    found.insert(next((i for i, other in enumerate(found) if issubclass(cls, type(other))), len(found)), item)


def unspelled(row: Row, direct: Callable[..., Any]) -> Callable[..., Any]:
    """The first of a row's functions."""
    # What it needs, dispatch.runners.in_place, imports this file.
    from rushlight._engine.dispatch.dispatcher import function, lookup

    other: Any = None
    if getattr(direct, "writes", False):
        own = [leaf for owner, leaf, kind in spellings(row) if (owner, kind) == ("Tensor", "inplace")]
        other = lookup("Tensor", own[0] if own else f"{row.name}_")
    return other or shown(function(row))


def as_told(
    row: Row, direct: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], bool]:
    """(function, args, kwargs) of a call of a row, as classes and modes get to see it; and whether these are
    not in the order of the row's, but in that of a reflected operator.
    """
    found = called(row)
    op = unspelled(row, direct) if found is None else shown(found.function)
    args, kwargs = as_written(row, op, args, kwargs)
    if found is None or not found.reflected:
        return op, args, kwargs, False
    return op, args[::-1], kwargs, True


def ask(
    op: Callable[..., _T],
    direct: Callable[..., _T] | None,
    classes: list[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    mode: Any = None,
) -> Any:
    """op(*args, **kwargs) by the first class that answers; TypeError if none does.

    direct: what PyTorch's default would run. mode: one that was asked before, and did not answer.
    """
    types = tuple(type(f) for f in classes)
    for item in classes:
        hook = type(item).__torch_function__
        if direct is not None and getattr(hook, "__func__", None) is default and _descends(type(item), types):
            found = as_class(direct(*args, **kwargs), type(item))
        else:
            found = hook(op, types, args, kwargs)
        if found is not NotImplemented:
            return found
    raise TypeError(_unanswered(op, types, mode))


def _descends(cls: type, types: Any) -> bool:
    """Whether a class descends from all of these but those that PyTorch has no class for (sparse tensors)."""
    return all(
        issubclass(cls, other)
        or hasattr(other.__torch_function__, "unseen")
        or hasattr(other.__torch_function__, "of_rows")
        for other in types
    )


def _unanswered(op: Callable[..., Any], types: tuple[type, ...], mode: Any) -> str:
    if not in_python(op):
        asked = [f"  - mode object {mode!r}"] * (mode is not None)
        asked += [f"  - tensor subclass {each!r}" for each in types]
        return (
            f"Multiple dispatch failed for '{_full_name(op)}'; all __torch_function__ handlers returned "
            "NotImplemented:\n\n"
            + "\n".join(asked)
            + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented"
        )
    nor = "" if mode is None else f" nor in mode {mode!r}"
    home = "torch._tensor" if space_of(op)[0] == "Tensor" else re.sub(r"^rushlight\b", "torch", op.__module__)
    return (
        f"no implementation found for '{home}.{op.__name__}' on types that implement "
        f"__torch_function__: {list(types)}{nor}"
    )


def _full_name(op: Any) -> str:
    if op.__name__ in ("__get__", "__set__"):
        return f"torch.Tensor.{getattr(op.__self__, '__name__', '')}.{op.__name__}"
    if op.__qualname__ == f"Tensor.{op.__name__}":
        return f"torch.{op.__qualname__}"
    space = space_of(op)[0]
    return f"torch.{op.__name__}" if space in ("", "torch") else f"torch.{space.split('.')[0]}.{op.__name__}"


def as_class(value: Any, cls: type) -> Any:
    """Tensors in a result as instances of the subclass, as PyTorch's default does."""
    return tree_map(lambda v: v.as_subclass(cls) if type(v) in interpreters.PLAIN else v, value)


def disabled(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A __torch_function__ of a subclass that is a plain tensor to every op; so are results."""
    before, interpreters.CLASSES.asked = interpreters.CLASSES.asked, False
    try:
        return func(*args, **(kwargs or {}))
    finally:
        interpreters.CLASSES.asked = before


def default(cls: type, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Tensor.__torch_function__: run the op and give the result the subclass; NotImplemented beside classes
    that `cls` does not descend from.
    """
    if not _descends(cls, types):
        return NotImplemented
    plain = disabled(func, types, args, kwargs)
    return plain if cls in interpreters.PLAIN or func in _unwrapped() else as_class(plain, cls)


@lru_cache(None)
def _unwrapped() -> frozenset[Any]:
    """What PyTorch gives as it is, though a subclass was asked."""
    return frozenset(getattr(Tensor, name).__get__ for name in ("_base", "grad", "_grad"))


setattr(Tensor, "__torch_function__", classmethod(default))


def run_below(cls: type, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Tensor.__torch_dispatch__: run the op as if no class heard of it."""
    before, interpreters.CLASSES.below = interpreters.CLASSES.below, False
    try:
        return func(*args, **(kwargs or {}))
    finally:
        interpreters.CLASSES.below = before


setattr(Tensor, "__torch_dispatch__", classmethod(run_below))
