"""Whether objects are as they were, by one comparison of words in their memory.

A slot of an object, a class's version, a dict's, or what a list holds is a word that another value changes.
The words are compared by one call of machine code; who finds one that has changed asks the long way, in
Python, what it means. What a word stands for is held, so that no other object can come to lie at its address.
"""

from __future__ import annotations

import ctypes
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.tensors import slots
from rushlight._engine.tensors.storages.storage import Storage
from rushlight._engine.tensors.tensor import Tensor, wrap

# Where Python's objects have their class, lists their length and items, dicts and classes the number of their
# last change: part of its ABI, but for the last two, which `_numbered` tries.
_CLASS, _LENGTH, _ITEMS, _OF_DICT, _OF_CLASS = 8, 16, 24, 24, 384
# Of a class whose objects have their attributes' dict before them: its flag; where that is.
_MANAGED, _OWN = 1 << 4, -24
_WHOLE, _HALF = -1, (1 << 32) - 1
# Instead of an offset: that a word stays what it was when the watch was made; that a look takes it as it is.
_FIXED, _NOTED = -1, -2
_word = ctypes.c_int64.from_address


class Watch:
    """Words that are to stay as they were. usable: whether it can tell; `same` answers False if not.

    Before the long way asks about the same objects call `look`, so that no change is lost between them; once
    it has found that all holds, `keep` what that gave. Only what no other object's address depends on is
    looked at anew: a list with another length, a slot with another value are never the same again.
    """

    def __init__(self) -> None:
        self.usable = _usable()
        self._rows: list[tuple[int, int, int, int]] = []
        self._held: list[Any] = []
        self._dicts: set[int] = set()
        self._classes: set[type] = set()
        self._table: Any = None

    def slot(self, thing: Any, cls: type, name: str, value: Any) -> None:
        """That a slot, which `cls` declares, holds a value."""
        at = id(thing) + slots.offset(cls, name) if self.usable else 0
        if not at or _word(at).value != id(value):
            self.usable = False
            return
        self._held += thing, value
        self._rows.append((at, _FIXED, _WHOLE, id(value)))

    def filled(self, thing: Any, cls: type, name: str) -> None:
        """Whether a slot holds something else than None."""
        self.usable = self.usable and isinstance(thing, cls)
        if self.usable:
            self._held.append(thing)
            self._rows.append((id(thing) + slots.offset(cls, name), _NOTED, 0, 0))

    def of_class(self, thing: Any) -> None:
        """That an object has the class that it has."""
        self._held += thing, type(thing)
        self._rows.append((id(thing) + _CLASS, _FIXED, _WHOLE, id(type(thing))))

    def dict(self, items: dict[Any, Any]) -> None:
        """That a dict has the items that it has: other numbers that are equal are a change, too."""
        if isinstance(items, OrderedDict) and len(items) > 1:  # another order is no change that is numbered
            self.usable = False
        if id(items) not in self._dicts:
            self._dicts.add(id(items))
            self._held.append(items)
            self._rows.append((id(items) + _OF_DICT, _NOTED, _WHOLE, 0))

    def own(self, thing: Any) -> None:
        """That an object's own attributes are those that it has."""
        own, cls = thing.__dict__, type(thing)
        at = _OWN if cls.__flags__ & _MANAGED else cls.__dictoffset__
        if at == 0 or _word(id(thing) + at).value != id(own):
            self.usable = False
            return
        self._held.append(thing)
        self._rows.append((id(thing) + at, _FIXED, _WHOLE, id(own)))
        self.dict(own)

    def attributes(self, cls: type) -> None:
        """That a class and those that it is made from have the attributes that they have."""
        if cls not in self._classes:
            self._classes.add(cls)
            self._held.append(cls)
            self._rows.append((id(cls) + _OF_CLASS, _NOTED, _HALF, 0))

    def list(self, items: Sequence[Any]) -> None:
        """That a list holds the very items that it holds."""
        if type(items) is not list:
            self.usable = False
            return
        self._held += items, (*items,)
        self._rows.append((id(items) + _LENGTH, _FIXED, _WHOLE, len(items)))
        self._rows += [(id(items) + _ITEMS, 8 * k, _WHOLE, id(item)) for k, item in enumerate(items)]

    def look(self) -> Any:
        """The words as they are now, for `keep`."""
        if not self.usable:
            return None
        if self._table is None:
            row = [len(self._rows), id(None), *[v for row in self._rows for v in row]]
            table = np.array(row, np.int64)
        else:
            table = self._table.copy()
        for cls in self._classes:
            getattr(cls, "_", None)  # one that was not asked since it changed has no number
        _functions()[1](table)
        return table

    def keep(self, words: Any) -> None:
        """Take words that `look` gave for right."""
        self._table = words

    def same(self) -> bool:
        """Whether all words are as they were at the look that was kept."""
        table = self._table
        return table is not None and _functions()[0](table)


class Numbers:
    """Arrays of one number each, which are one number as a rule. usable: whether they can be looked at."""

    def __init__(self, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        first = arrays[0]
        alike = all([a.dtype == first.dtype and a.flags.writeable for a in arrays])
        self.usable = alike and first.itemsize in (4, 8) and _usable()
        self._held = [*arrays]
        self._table = np.array([len(arrays), 0, *[a.ctypes.data for a in arrays]], np.int64)
        self._number = self._table[1:2].view(first.dtype)
        if self.usable:
            self._equal, self._put = _of_numbers(8 * first.itemsize)

    def equal(self) -> bool:
        """Whether all are the same, to the bit."""
        return self._equal(self._table)

    def put(self, value: float) -> None:
        """Let all be this number."""
        self._number[0] = value
        self._put(self._table)


def bump(storages: list[Storage], quick: bool) -> None:
    """Count a write to each of them; quick: by machine code, if that can be."""
    add = _adder() if quick else None
    if add is not None:
        add(storages)
        return
    for s in storages:
        s.version += 1


@cache
def _adder() -> Callable[[list[Any]], Any] | None:
    return slots.made("bump", (1,), slots.offset(Storage, "version")) if _usable() else None


@cache
def _of_numbers(bits: int) -> tuple[Callable[..., bool], Callable[..., None]]:
    return slots.made("equal", (), bits), slots.made("put", (), bits)


@cache
def _functions() -> tuple[Callable[..., bool], Callable[..., bool]]:
    return slots.made("same", ()), slots.made("note", ())


@cache
def _usable() -> bool:
    things: list[tuple[Any, type, tuple[str, ...]]] = [
        (wrap(np.zeros(1)), Tensor, ("_array",)),
        (Storage(), Storage, ("version",)),
    ]
    return slots.usable(things) and _numbered()


def _numbered() -> bool:
    """Whether this Python numbers the changes of dicts and classes, where it is expected."""
    if sys.implementation.name != "cpython" or sys.version_info >= (3, 13):
        return False

    class Above:
        pass

    class Below(Above):
        pass

    items, other = {"a": 1}, {"a": 1}
    own, of_other = _word(id(items) + _OF_DICT), _word(id(other) + _OF_DICT)
    seen = [own.value, of_other.value]
    known = [items["a"], own.value]
    for change in (lambda: items.update(a=2), lambda: items.pop("a"), lambda: items.update(a=2)):
        change()
        seen.append(own.value)
    number = ctypes.c_uint32.from_address(id(Below) + _OF_CLASS)
    numbers = []
    for changed in (Below, Above, Below):
        getattr(Below, "_", None)
        numbers.append(number.value)
        setattr(changed, "_", len(numbers))
        numbers.append(number.value)
    given = numbers[::2]
    return (
        known == [1, seen[0]]
        and len(set(seen)) == len(seen)
        and 0 not in given
        and len(set(given)) == len(given)
        and not set(numbers[1::2]) & set(given)
    )
