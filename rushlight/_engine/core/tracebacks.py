"""Errors end at the user's line.

`own` gives a public function (all of the public storey, as its modules are loaded: load_listeners.py) one
more exception handler, around all of its code, which takes the engine's frames out of the traceback of what
leaves it and raises on. A handler costs nothing until something is raised, and a function keeps its identity,
signature and depth, as no wrapper would. The handler is the one that Python itself compiles for `except:
trim(); raise`; `raise` alone adds no frame, so the function's own is gone too.

With RUSHLIGHT_TRACEBACK=full nothing is taken out, and neither is it where the mistake is ours: where the
error comes out of the engine without being raised by a statement of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dis import get_instructions, opmap
from types import CodeType, FunctionType, ModuleType, TracebackType
from typing import Any, TypeVar

from rushlight._engine import load_listeners
from rushlight._engine.core.callers import OURS, is_ours
from rushlight._engine.core.settings import settings

_T = TypeVar("_T")

# What the engine calls, and its frames are the engine's then: Python's own library, NumPy.
_BELOW = (os.path.dirname(os.__file__) + os.sep, "<frozen ")
_NUMPY = f"{os.sep}numpy{os.sep}"
_EXTENDED = opmap["EXTENDED_ARG"]
_LOAD = opmap["LOAD_CONST"]
_RAISING = frozenset((opmap["RAISE_VARARGS"], opmap["RERAISE"]))
# Raised by the interpreter at the user's bidding as often as by a statement.
_TOLD = (
    OSError,
    MemoryError,
    KeyboardInterrupt,
    StopIteration,
    StopAsyncIteration,
    GeneratorExit,
    SystemExit,
    Warning,
)
_GENERATING = 0x20 | 0x80 | 0x200  # generators, coroutines, both


# --- tracebacks -------------------------------------------------------------------------------------


def trim() -> None:
    """In the handler of an `own` function: leave only users' frames in the traceback of what is raised."""
    here = sys._getframe(1)
    back = here.f_back
    if back is not None and is_ours(back):
        return  # the one that a user called will do it, and has the whole traceback to judge by
    error = sys.exception()
    if error is None or settings.traceback == "full":
        return
    links, engines = _links(error.__traceback__)
    if _is_mistake(error, links, engines):
        return
    kept = None
    if not all(engines):
        for link, engine in zip(reversed(links), reversed(engines)):
            if not engine:
                kept = TracebackType(kept, link.tb_frame, link.tb_lasti, link.tb_lineno)
    error.__traceback__ = kept
    if error.__context__ is not None:
        _trim_context(error)


def _links(trace: TracebackType | None) -> tuple[list[TracebackType], list[bool]]:
    """The entries of a traceback, and of each whether it is the engine's."""
    links, engines, engine = [], [], False
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        engine = file.startswith(OURS) or (engine and (file.startswith(_BELOW) or _NUMPY in file))
        links.append(trace)
        engines.append(engine)
        trace = trace.tb_next
    return links, engines


def _is_mistake(error: BaseException, links: list[TracebackType], engines: list[bool]) -> bool:
    """Whether an error got out of the engine that no statement of it raised."""
    if isinstance(error, _TOLD) or not links or not engines[-1]:
        return False
    # A function that hands a look-up's KeyError to its caller has done nothing wrong.
    if isinstance(error, LookupError) and sum(engines) == 1:
        return False
    last = links[-1]
    return last.tb_frame.f_code.co_code[last.tb_lasti] not in _RAISING


def _trim_context(error: BaseException) -> None:
    """What the engine tried before is not part of the user's story."""
    if error.__cause__ is None and not error.__suppress_context__:
        before = error.__context__
        while before is not None and all(_links(before.__traceback__)[1]):
            before = before.__context__
        error.__context__ = before


# --- the handler ------------------------------------------------------------------------------------


def _compiled() -> tuple[bytes, int, int, int]:
    """The code of `except: trim(); raise`, where in it `trim` is loaded, where its cleanup begins, and how
    deep its stack may be.
    """
    space: dict[str, Any] = {}
    exec("def handled(body, trim):\n try:\n  body()\n except:\n  trim()\n  raise\n", space)
    code: CodeType = space["handled"].__code__
    entries = _read_table(code.co_exceptiontable)
    start = entries[0][2]
    cleanup = next(target for begin, _, target, _ in entries if begin >= start)
    load = next(i.offset for i in get_instructions(code) if i.argval == "trim")
    return code.co_code[start:], load - start, cleanup - start, code.co_stacksize


def _read_table(table: bytes) -> list[tuple[int, int, int, int]]:
    """(begin, end, target, depth and lasti) of the entries of a code's table of handlers, in bytes."""
    values, value = [], 0
    for byte in table:
        value = (value << 6) | (byte & 63)
        if not byte & 64:
            values.append(value)
            value = 0
    return [
        (2 * begin, 2 * (begin + size), 2 * target, depth)
        for begin, size, target, depth in zip(*[iter(values)] * 4, strict=True)
    ]


def _write_table(entries: Iterable[tuple[int, int, int, int]]) -> bytes:
    data = bytearray()
    for begin, end, target, depth in entries:
        first = len(data)
        for value in (begin // 2, (end - begin) // 2, target // 2, depth):
            for shift in range(value.bit_length() // 6 * 6, 0, -6):
                data.append((value >> shift) & 63 | 64)
            data.append(value & 63)
        data[first] |= 128
    return bytes(data)


def handled(code: CodeType) -> CodeType:
    """The code, with the handler around all of it; generators are left as they are."""
    if code.co_flags & _GENERATING or trim in code.co_consts:
        return code
    text, load, cleanup, depth = _HANDLER
    constant, start = len(code.co_consts), len(code.co_code)
    extended = bytes((_EXTENDED, constant >> 8)) if constant > 255 else b""
    if constant >= 1 << 16:
        return code
    text = text[:load] + extended + bytes((_LOAD, constant & 255)) + text[load + 2 :]
    cleanup += start + (len(extended) if cleanup > load else 0)
    entries, at = [], 0
    for entry in _read_table(code.co_exceptiontable):
        if entry[0] > at:
            entries.append((at, entry[0], start, 0))
        entries.append(entry)
        at = entry[1]
    if at < start:
        entries.append((at, start, start, 0))
    entries.append((start, cleanup, cleanup, 1 << 1 | 1))  # one value lies below; where it was is kept
    constants = [
        handled(value) if isinstance(value, CodeType) and value.co_name[0] != "<" else value
        for value in code.co_consts
    ]  # functions that it may return
    units = len(text) // 2
    # The handler stands on the last line: where Python's stack ends in it, the error has a line, too.
    last = b"".join(bytes((232 | min(8, units - n) - 1, 0)) for n in range(0, units, 8))
    return code.replace(
        co_code=code.co_code + text,
        co_consts=(*constants, trim),
        co_exceptiontable=_write_table(entries),
        co_linetable=code.co_linetable + last,
        co_stacksize=code.co_stacksize + depth,
    )


_HANDLER = _compiled()


# --- whose functions --------------------------------------------------------------------------------


def own(found: _T) -> _T:
    """`found`, which is given out to users: a function of ours, a class with its methods, or a module with
    its functions and classes, ends errors at their line from now on.
    """
    if isinstance(found, FunctionType):
        if found.__code__.co_filename.startswith(OURS):
            found.__code__ = _once(found.__code__)
    elif isinstance(found, type):
        for base in found.__mro__:
            if base not in _SEEN and base.__module__.partition(".")[0] in _PACKAGES:
                _SEEN.add(base)
                _own_methods(base)
    elif isinstance(found, ModuleType) and found not in _SEEN:
        _SEEN.add(found)
        for value in list(_LOADED(found).values()):
            if isinstance(value, (FunctionType, type)) and value.__module__ == found.__name__:
                own(value)
    return found


def _own_methods(cls: type) -> None:
    for name, value in list(vars(cls).items()):
        if name.startswith("_") and not name.endswith("__"):
            continue
        if isinstance(value, property):
            parts: tuple[Any, ...] = (value.fget, value.fset, value.fdel)
        else:
            parts = (getattr(value, "__func__", value),)
        for part in parts:
            if isinstance(part, FunctionType):
                own(part)


def _once(code: CodeType) -> CodeType:
    """`handled(code)`, the same again for functions that share their code."""
    found = _CODES.get(id(code))
    if found is None:
        found = code, handled(code)
        _CODES[id(code)] = _CODES[id(found[1])] = found
    return found[1]


# A module's names as they are; __dict__ of a lazy package would load all that it knows of.
_LOADED: Any = vars(ModuleType)["__dict__"].__get__
_PACKAGES = frozenset(("rushlight", "rushlight_audio", "rushlight_vision", "torch", "torchvision"))
_CODES: dict[int, tuple[CodeType, CodeType]] = {}  # by their ids, which stay theirs while they are kept here
_SEEN: set[Any] = set()
own(sys.modules["rushlight"].__getattr__)
for _module in load_listeners.rest(own):
    own(_module)
