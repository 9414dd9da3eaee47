"""Writing pickles: storages by reference, tensors in PyTorch's form, and PyTorch's names.

Python's C pickler does the work. It writes Rushlight's module names, which are then replaced in the
result: `dump` knows each global that was written, so the replacement is exact when each of them is
found once. Where the data itself holds such bytes, or the protocol has no such spelling, a slower
pickler in Python writes PyTorch's names straight away.
"""

from __future__ import annotations

import collections
import io
import pickle
import re
from collections.abc import Callable
from types import FunctionType
from typing import Any

from rushlight._engine.names.built_in import plain
from rushlight._engine.serialization.names import torch_module
from rushlight._engine.serialization.rebuild import is_reference, torch_form

_GLOBAL = re.compile(rb"c(rushlight[\w.]*)\n([\w.]+)\n")

Identify = Callable[[Any], Any]


def dump(obj: Any, identify: Callable[[], Identify], pickle_module: Any = pickle, protocol: int = 2) -> bytes:
    """The pickle of `obj`. `identify()` gives a fresh function: object -> persistent id or None."""
    if protocol == 0:
        raise ValueError(
            "pickle protocol 0 cannot refer to storages; use protocol 2, the default, "
            "or another one from 1 to 5"
        )
    if protocol <= 2 or pickle_module is not pickle:
        data, written = _dump_fast(obj, identify(), pickle_module, protocol)
        renamed = _rename(data, written)
        if renamed is not None:
            return renamed
        if pickle_module is not pickle:
            return data  # a pickler of the user's: its files then carry Rushlight's names
    buffer = io.BytesIO()
    pickler = ExactPickler(buffer, protocol)
    pickler.identify = identify()
    pickler.dump(obj)
    return buffer.getvalue()


def _dump_fast(
    obj: Any, identify: Identify, pickle_module: Any, protocol: int
) -> tuple[bytes, set[tuple[bytes, bytes]]]:
    written: set[tuple[bytes, bytes]] = set()

    class Pickler(pickle_module.Pickler):  # type: ignore[misc]
        def persistent_id(self, value: Any) -> Any:
            return identify(value)

        def reducer_override(self, value: Any) -> Any:
            form = torch_form(value)
            if form is not None:
                return form
            name = _global_name(value)
            if name is not None:
                written.add(name)
            inherited = getattr(super(), "reducer_override", None)
            return NotImplemented if inherited is None else inherited(value)

    buffer = io.BytesIO()
    Pickler(buffer, protocol).dump(obj)
    return buffer.getvalue(), written


def _global_name(value: Any) -> tuple[bytes, bytes] | None:
    """Module and name of what is pickled as a global of Rushlight's; None for all else."""
    value = plain(value)
    if isinstance(value, (type, FunctionType)):
        module, name = value.__module__, value.__qualname__
    elif is_reference(value):
        module, name = type(value).__module__, value.__reduce__()
    else:
        return None
    if not isinstance(module, str) or not module.startswith("rushlight"):
        return None
    return module.encode(), name.encode()


def _rename(data: bytes, written: set[tuple[bytes, bytes]]) -> bytes | None:
    """The pickle with PyTorch's names; None where bytes and globals cannot be told apart."""
    found = collections.Counter(_GLOBAL.findall(data))
    if found.keys() != written or any(count != 1 for count in found.values()):
        return None if found or written else data
    return _GLOBAL.sub(_torch_global, data)


def _torch_global(match: re.Match[bytes]) -> bytes:
    module, name = match.group(1).decode(), match.group(2).decode()
    return f"c{torch_module(module, name)}\n{name}\n".encode()


_PythonPickler: Any = pickle._Pickler


class ExactPickler(_PythonPickler):  # type: ignore[misc]
    """Python's own pickler in Python, which lets us write a global's module ourselves."""

    identify: Identify
    dispatch = dict(_PythonPickler.dispatch)

    def persistent_id(self, value: Any) -> Any:
        """What is not in the pickle itself."""
        return self.identify(value)

    def reducer_override(self, value: Any) -> Any:
        """Tensors in PyTorch's form."""
        form = torch_form(value)
        return NotImplemented if form is None else form

    def save_global(self, value: Any, name: str | None = None) -> None:
        """A name, in the module that PyTorch has it in."""
        name = name or getattr(value, "__qualname__", value.__name__)
        module = pickle.whichmodule(value, name)  # type: ignore[attr-defined]
        renamed = torch_module(module, name)
        if renamed == module:
            super().save_global(value, name)
        else:
            self.write_global(value, renamed, name)

    def write_global(self, value: Any, module: str, name: str) -> None:
        """A name of a module, as they are said."""
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(f"c{module}\n{name}\n".encode())
        self.memoize(value)

    def save_type(self, value: Any) -> Any:
        """A class; None's and its like have no name."""
        if value in (type(None), type(NotImplemented), type(...)):
            return super().save_type(value)
        return self.save_global(value)

    dispatch[FunctionType] = save_global
    dispatch[type] = save_type
