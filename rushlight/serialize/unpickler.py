"""Reading pickles of files that nobody vouches for: an interpreter of opcodes that build data.

`WeightsUnpickler` executes nothing of theirs: it knows the opcodes that build plain data, calls
functions of the allow-list only (safe_globals.py), and sets state on objects of listed classes.
"""
from __future__ import annotations

import collections
import pickle
import struct
from collections.abc import Callable
from typing import Any

from rushlight.serialize.names import full_name, torch_module
from rushlight.serialize.safe_globals import BLOCKED_MODULES, added_by_name, allowed

Load = Callable[[Any], Any]

_OPCODES: list[Callable[["WeightsUnpickler"], None] | None] = [None] * 256


class WeightsUnpickler:
    """Rebuilds the object in `data`, a pickle of protocols 1 to 5 that needs only allowed globals.

    persistent_load: called with each persistent id, a tuple that begins with "storage".
    Raises pickle.UnpicklingError for what is not allowed, EOFError where the data ends early.
    """

    def __init__(self, data: bytes, persistent_load: Load, encoding: str = "utf-8") -> None:
        self.data, self.encoding = data, encoding
        self.persistent_load = persistent_load
        self.position = 0
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.callable_ids: set[int] = set()
        self.added = {id(found): found for found in added_by_name().values()}
        self.stopped = False

    def load(self) -> Any:
        """The object; `position` is then the first byte behind it."""
        opcodes, data = _OPCODES, self.data
        try:
            while not self.stopped:
                run = opcodes[data[self.position]]
                self.position += 1
                if run is None:
                    raise pickle.UnpicklingError(f"Unsupported operand {data[self.position - 1]}")
                run(self)
            return self.stack.pop()
        except IndexError as error:
            if self.position >= len(data):
                raise EOFError("Ran out of input: the pickled data is cut off") from None
            raise pickle.UnpicklingError(f"the pickled data is damaged ({error})") from error
        except (struct.error, KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
            raise pickle.UnpicklingError(f"the pickled data is damaged: {error}") from error

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        end = self.position + count
        if end > len(self.data):
            raise EOFError("Ran out of input: the pickled data is cut off")
        found = self.data[self.position:end]
        self.position = end
        return found

    def line(self) -> bytes:
        """The bytes up to the next line end."""
        end = self.data.find(b"\n", self.position)
        if end < 0:
            raise EOFError("Ran out of input: the pickled data is cut off")
        found = self.data[self.position:end]
        self.position = end + 1
        return found

    def integer(self, count: int) -> int:
        """The next `count` bytes as an unsigned number."""
        return int.from_bytes(self.take(count), "little")

    def since_mark(self) -> list[Any]:
        """Take the items above the last mark off the stack."""
        items = self.stack
        self.stack = self.marks.pop()
        return items

    def find(self, module: str, name: str) -> Any:
        """The object of an allowed global."""
        if module in BLOCKED_MODULES:
            raise pickle.UnpicklingError(f"Trying to load unsupported GLOBAL {module}.{name} whose "
                                         f"module {module} is blocked.")
        found = allowed(module, name)
        if found is None:
            full = full_name(module, name)
            raise pickle.UnpicklingError(
                f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please "
                f"use `torch.serialization.add_safe_globals([{full}])` or the "
                f"`torch.serialization.safe_globals([{full}])` context manager to allowlist this "
                "global if you trust this class/function.")
        self.callable_ids.add(id(found))
        return found

    def call(self, function: Any, args: Any) -> Any:
        """Call an allowed function."""
        if id(function) not in self.callable_ids or not callable(function):
            raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {function}")
        if type(args) is not tuple:
            raise pickle.UnpicklingError(f"expected a tuple of arguments, got {type(args)}")
        return function(*args)


def _op(code: bytes) -> Callable[[Callable[[WeightsUnpickler], None]], Any]:
    def register(function: Callable[[WeightsUnpickler], None]) -> Any:
        _OPCODES[code[0]] = function
        return function
    return register


def _constant(code: bytes, value: Any) -> None:
    _op(code)(lambda u: u.stack.append(value))


def _number(code: bytes, layout: str) -> None:
    packed = struct.Struct(layout)
    _op(code)(lambda u: u.stack.append(packed.unpack(u.take(packed.size))[0]))


def _counted(code: bytes, width: int, make: Callable[[WeightsUnpickler, bytes], Any]) -> None:
    """An item whose length stands before it in `width` bytes."""
    _op(code)(lambda u: u.stack.append(make(u, u.take(u.integer(width)))))


_constant(pickle.NONE, None)
_constant(pickle.NEWTRUE, True)
_constant(pickle.NEWFALSE, False)
_constant(pickle.EMPTY_TUPLE, ())
_number(pickle.BININT, "<i")
_number(pickle.BININT1, "<B")
_number(pickle.BININT2, "<H")
_number(pickle.BINFLOAT, ">d")
_op(pickle.EMPTY_LIST)(lambda u: u.stack.append([]))
_op(pickle.EMPTY_DICT)(lambda u: u.stack.append({}))
_op(pickle.EMPTY_SET)(lambda u: u.stack.append(set()))


def _text(u: WeightsUnpickler, data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _python_2_text(u: WeightsUnpickler, data: bytes) -> Any:
    return data if u.encoding == "bytes" else data.decode(u.encoding)


def _long(u: WeightsUnpickler, data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


_counted(pickle.BINUNICODE, 4, _text)
_counted(pickle.SHORT_BINUNICODE, 1, _text)
_counted(pickle.BINUNICODE8, 8, _text)
_counted(pickle.BINSTRING, 4, _python_2_text)
_counted(pickle.SHORT_BINSTRING, 1, _python_2_text)
_counted(pickle.BINBYTES, 4, lambda u, data: data)
_counted(pickle.SHORT_BINBYTES, 1, lambda u, data: data)
_counted(pickle.BINBYTES8, 8, lambda u, data: data)
_counted(pickle.BYTEARRAY8, 8, lambda u, data: bytearray(data))
_counted(pickle.LONG1, 1, _long)
_counted(pickle.LONG4, 4, _long)


@_op(pickle.INT)
def _text_int(u: WeightsUnpickler) -> None:
    text = u.line()  # protocol 1 spells bools this way
    u.stack.append({b"00": False, b"01": True}[text] if text in (b"00", b"01") else int(text))


_op(pickle.LONG)(lambda u: u.stack.append(int(u.line().rstrip(b"L"))))


@_op(pickle.PROTO)
def _protocol(u: WeightsUnpickler) -> None:
    if u.integer(1) > pickle.HIGHEST_PROTOCOL:
        raise pickle.UnpicklingError(f"unsupported pickle protocol {u.data[u.position - 1]}")


_op(pickle.FRAME)(lambda u: None if u.take(8) else None)


@_op(pickle.STOP)
def _stop(u: WeightsUnpickler) -> None:
    u.stopped = True


@_op(pickle.MARK)
def _mark(u: WeightsUnpickler) -> None:
    u.marks.append(u.stack)
    u.stack = []


_op(pickle.POP)(lambda u: None if u.stack.pop() is None else None)
_op(pickle.POP_MARK)(lambda u: None if u.since_mark() else None)
_op(pickle.DUP)(lambda u: u.stack.append(u.stack[-1]))


@_op(pickle.TUPLE)
def _tuple(u: WeightsUnpickler) -> None:
    items = u.since_mark()
    u.stack.append(tuple(items))


def _short_tuple(code: bytes, count: int) -> None:
    @_op(code)
    def build(u: WeightsUnpickler) -> None:
        if len(u.stack) < count:
            raise IndexError("too few items for a tuple")
        u.stack[-count:] = [tuple(u.stack[-count:])]


_short_tuple(pickle.TUPLE1, 1)
_short_tuple(pickle.TUPLE2, 2)
_short_tuple(pickle.TUPLE3, 3)


def _expect(value: Any, kinds: tuple[type, ...], what: str) -> Any:
    if type(value) not in kinds:
        raise pickle.UnpicklingError(f"Can only {what}, but got {type(value)}")
    return value


_DICTS = (dict, collections.OrderedDict, collections.Counter)


@_op(pickle.APPEND)
def _append(u: WeightsUnpickler) -> None:
    item = u.stack.pop()
    _expect(u.stack[-1], (list,), "append to lists").append(item)


@_op(pickle.APPENDS)
def _appends(u: WeightsUnpickler) -> None:
    items = u.since_mark()
    _expect(u.stack[-1], (list,), "extend lists").extend(items)


@_op(pickle.ADDITEMS)
def _add_items(u: WeightsUnpickler) -> None:
    items = u.since_mark()
    _expect(u.stack[-1], (set,), "add to sets").update(items)


def _settable(u: WeightsUnpickler) -> Any:
    target = u.stack[-1]
    if type(target) in _DICTS or (id(type(target)) in u.added and isinstance(target, dict)):
        return target
    raise pickle.UnpicklingError("Can only SETITEM for dict, collections.OrderedDict, "
                                 f"collections.Counter, but got {type(target)}")


@_op(pickle.SETITEM)
def _set_item(u: WeightsUnpickler) -> None:
    value, key = u.stack.pop(), u.stack.pop()
    _settable(u)[key] = value


@_op(pickle.SETITEMS)
def _set_items(u: WeightsUnpickler) -> None:
    items = u.since_mark()
    target = _settable(u)
    for key, value in zip(items[::2], items[1::2], strict=True):
        target[key] = value


@_op(pickle.FROZENSET)
def _frozen_set(u: WeightsUnpickler) -> None:
    items = u.since_mark()
    u.stack.append(frozenset(items))


def _memory(get: bytes, put: bytes, width: int) -> None:
    _op(get)(lambda u: u.stack.append(u.memo[u.integer(width)]))
    _op(put)(lambda u: u.memo.__setitem__(u.integer(width), u.stack[-1]))


_memory(pickle.BINGET, pickle.BINPUT, 1)
_memory(pickle.LONG_BINGET, pickle.LONG_BINPUT, 4)
_op(pickle.MEMOIZE)(lambda u: u.memo.__setitem__(len(u.memo), u.stack[-1]))


@_op(pickle.GLOBAL)
def _global(u: WeightsUnpickler) -> None:
    module, name = u.line().decode("utf-8"), u.line().decode("utf-8")
    u.stack.append(u.find(module, name))


@_op(pickle.STACK_GLOBAL)
def _stack_global(u: WeightsUnpickler) -> None:
    name, module = u.stack.pop(), u.stack.pop()
    if type(name) is not str or type(module) is not str:
        raise pickle.UnpicklingError("STACK_GLOBAL requires str")
    u.stack.append(u.find(torch_module(module, name), name))


@_op(pickle.REDUCE)
def _reduce(u: WeightsUnpickler) -> None:
    args, function = u.stack.pop(), u.stack.pop()
    u.stack.append(u.call(function, args))


@_op(pickle.NEWOBJ)
def _new_object(u: WeightsUnpickler) -> None:
    args, cls = u.stack.pop(), u.stack.pop()
    if cls is collections.OrderedDict or cls is collections.Counter or cls is set:
        u.stack.append(u.call(cls, args))
    elif id(cls) in u.added and isinstance(cls, type):
        u.stack.append(cls.__new__(cls, *args))
    else:
        raise pickle.UnpicklingError("Can only create new object for nn.Parameter or classes "
                                     f"allowlisted via `add_safe_globals` but got {cls}")


@_op(pickle.NEWOBJ_EX)
def _new_object_by_name(u: WeightsUnpickler) -> None:
    keywords, args, cls = u.stack.pop(), u.stack.pop(), u.stack.pop()
    if id(cls) not in u.added or not isinstance(cls, type):
        raise pickle.UnpicklingError("Can only create new object for classes allowlisted via "
                                     f"`add_safe_globals` but got {cls}")
    u.stack.append(cls.__new__(cls, *args, **keywords))


@_op(pickle.BUILD)
def _build(u: WeightsUnpickler) -> None:
    from rushlight.serialize.rebuild import is_tensor, set_state

    state, target = u.stack.pop(), u.stack[-1]
    if type(target) is collections.OrderedDict:
        target.__dict__.update(state)
    elif is_tensor(target) or id(type(target)) in u.added:
        set_state(target, state)
    else:
        raise pickle.UnpicklingError("Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                                     f"`add_safe_globals`, but got {type(target)}")


@_op(pickle.BINPERSID)
def _persistent(u: WeightsUnpickler) -> None:
    key = u.stack.pop()
    if type(key) is not tuple or not key:
        raise pickle.UnpicklingError(f"persistent_load id must be tuple or int, but got {type(key)}")
    if key[0] not in ("storage", b"storage"):
        raise pickle.UnpicklingError(f"Only persistent_load of storage is allowed, but got {key[0]}")
    u.stack.append(u.persistent_load(key))
