"""Reading pickles of files that nobody vouches for: Python's own interpreter of opcodes, cut down.

`WeightsUnpickler` executes nothing of theirs: it knows the opcodes that build plain data, calls
functions of the allow-list only (safe_globals.py), and sets state on objects of listed classes.
"""

from __future__ import annotations

import collections
import io
import pickle
import struct
from collections.abc import Callable
from functools import cached_property
from typing import Any

from rushlight._engine.serialization.names import full_name, place
from rushlight._engine.serialization.safe_globals import BLOCKED_MODULES, OBJECTS, added_by_name, allowed

Load = Callable[[Any], Any]

_OPCODES = """NONE NEWTRUE NEWFALSE INT LONG LONG1 LONG4 BININT BININT1 BININT2 BINFLOAT BINUNICODE
    SHORT_BINUNICODE BINUNICODE8 BINSTRING SHORT_BINSTRING BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8
    EMPTY_TUPLE EMPTY_LIST EMPTY_DICT EMPTY_SET TUPLE TUPLE1 TUPLE2 TUPLE3 FROZENSET APPEND APPENDS ADDITEMS
    SETITEM SETITEMS BINGET LONG_BINGET BINPUT LONG_BINPUT MEMOIZE MARK POP POP_MARK DUP GLOBAL STACK_GLOBAL
    REDUCE NEWOBJ NEWOBJ_EX BUILD BINPERSID PROTO FRAME STOP""".split()
_DICTS = (dict, collections.OrderedDict, collections.Counter)
_PythonUnpickler: Any = pickle._Unpickler


class WeightsUnpickler(_PythonUnpickler):  # type: ignore[misc]
    """Rebuilds the object in `data`, a pickle of protocols 1 to 5 that needs only allowed globals.

    persistent_load: called with each persistent id, a tuple that begins with "storage". Raises
    pickle.UnpicklingError for what is not allowed, EOFError where the data ends early.
    The methods load_... are the opcodes that are narrower here than in Python.
    """

    stack: list[Any]

    def __init__(self, data: bytes, persistent_load: Load, encoding: str = "utf-8") -> None:
        self._file, self._length = io.BytesIO(data), len(data)
        super().__init__(self._file, encoding=encoding)
        self._load_storage = persistent_load
        self._callable_ids: set[int] = set()
        self._objects: set[int] = set()  # classes of OBJECTS that the file has named

    @cached_property
    def _added(self) -> dict[int, Any]:
        return {id(found): found for found in added_by_name().values()}  # asked for late: it may raise

    def _is_added(self, cls: type) -> bool:
        """Whether objects of a class may be made and given a state."""
        return id(cls) in self._objects or id(cls) in self._added

    @property
    def position(self) -> int:
        """The first byte that has not been read."""
        return self._file.tell()

    def load(self) -> Any:
        """The object; `position` is then the first byte behind it."""
        next_code, opcodes = self._file.read, self.dispatch
        self.metastack: list[list[Any]] = []
        self.stack = []
        self.append = self.stack.append
        try:
            while True:
                code = next_code(1)[0]
                if code not in opcodes:
                    raise pickle.UnpicklingError(f"Unsupported operand {code}")
                opcodes[code](self)
        except pickle._Stop as stop:  # type: ignore[attr-defined]
            return stop.value
        except IndexError as error:
            if self.position >= self._length:
                raise EOFError("Ran out of input: the pickled data is cut off") from None
            raise pickle.UnpicklingError(f"the pickled data is damaged ({error})") from error
        except (struct.error, KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
            added_by_name()  # raises where it is the program's entries that are wrong
            raise pickle.UnpicklingError(f"the pickled data is damaged: {error}") from error

    def read(self, count: int) -> bytes:
        """The next `count` bytes, not fewer."""
        found = self._file.read(count)
        return found if len(found) == count else _ended()

    def readline(self) -> bytes:
        """The bytes up to the next line end, with it."""
        found = self._file.readline()
        return found if found.endswith(b"\n") else _ended()

    def find_class(self, module: str, name: str) -> Any:
        """The object of an allowed global."""
        module, name = place(module, name)
        if module in BLOCKED_MODULES:
            raise pickle.UnpicklingError(
                f"Trying to load unsupported GLOBAL {module}.{name} whose module {module} is blocked."
            )
        found = allowed(module, name)
        if found is None:
            full = full_name(module, name)
            raise pickle.UnpicklingError(
                f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please "
                f"use `torch.serialization.add_safe_globals([{full}])` or the "
                f"`torch.serialization.safe_globals([{full}])` context manager to allowlist this "
                "global if you trust this class/function."
            )
        self._callable_ids.add(id(found))
        if full_name(module, name) in OBJECTS:
            self._objects.add(id(found))
        return found

    def _call(self, function: Any, args: Any) -> None:
        if id(function) not in self._callable_ids or not callable(function):
            raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {function}")
        if type(args) is not tuple:
            raise pickle.UnpicklingError(f"expected a tuple of arguments, got {type(args)}")
        self.append(function(*args))

    def load_reduce(self) -> None:
        args, function = self.stack.pop(), self.stack.pop()
        self._call(function, args)

    def load_newobj(self) -> None:
        args, cls = self.stack.pop(), self.stack.pop()
        if cls is collections.OrderedDict or cls is collections.Counter or cls is set:
            self._call(cls, args)
        elif isinstance(cls, type) and self._is_added(cls):
            self.append(cls.__new__(cls, *args))
        else:
            raise pickle.UnpicklingError(
                "Can only create new object for nn.Parameter or classes "
                f"allowlisted via `add_safe_globals` but got {cls}"
            )

    def load_newobj_ex(self) -> None:
        keywords, args, cls = self.stack.pop(), self.stack.pop(), self.stack.pop()
        if not isinstance(cls, type) or not self._is_added(cls):
            raise pickle.UnpicklingError(
                f"Can only create new object for classes allowlisted via `add_safe_globals` but got {cls}"
            )
        self.append(cls.__new__(cls, *args, **keywords))

    def load_build(self) -> None:
        # few files have objects with a state
        from rushlight._engine.serialization.rebuild import is_tensor, set_state

        state, target = self.stack.pop(), self.stack[-1]
        if type(target) is collections.OrderedDict:
            target.__dict__.update(state)
        elif is_tensor(target) or self._is_added(type(target)):
            set_state(target, state)
        else:
            raise pickle.UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted "
                f"via `add_safe_globals`, but got {type(target)}"
            )

    def _top(self, kind: type, what: str) -> Any:
        if type(self.stack[-1]) is not kind:
            raise pickle.UnpicklingError(f"Can only {what}, but got {type(self.stack[-1])}")
        return self.stack[-1]

    def load_append(self) -> None:
        item = self.stack.pop()
        self._top(list, "append to lists").append(item)

    def load_appends(self) -> None:
        items = self.pop_mark()
        self._top(list, "extend lists").extend(items)

    def load_additems(self) -> None:
        items = self.pop_mark()
        self._top(set, "add to sets").update(items)

    def _settable(self) -> Any:
        target = self.stack[-1]
        if type(target) in _DICTS or (isinstance(target, dict) and self._is_added(type(target))):
            return target
        raise pickle.UnpicklingError(
            f"Can only SETITEM for dict, collections.OrderedDict, collections.Counter, but got {type(target)}"
        )

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._settable()[key] = value

    def load_setitems(self) -> None:
        items, target = self.pop_mark(), self._settable()
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[key] = value

    def load_binpersid(self) -> None:
        key = self.stack.pop()
        if type(key) is not tuple or not key:
            raise pickle.UnpicklingError(f"persistent_load id must be tuple or int, but got {type(key)}")
        if key[0] not in ("storage", b"storage"):
            raise pickle.UnpicklingError(f"Only persistent_load of storage is allowed, but got {key[0]}")
        self.append(self._load_storage(key))

    def load_bytearray8(self) -> None:
        self.append(bytearray(self.read(int.from_bytes(self.read(8), "little"))))

    def load_frame(self) -> None:
        self.read(8)  # how long the frame is: all of it is in memory


def _ended() -> bytes:
    raise EOFError("Ran out of input: the pickled data is cut off")


WeightsUnpickler.dispatch = {
    code[0]: getattr(WeightsUnpickler, _PythonUnpickler.dispatch[code[0]].__name__)
    for code in (getattr(pickle, name) for name in _OPCODES)
}
