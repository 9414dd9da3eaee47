"""Guards on what lists, dicts and objects of plain classes hold: a snapshot, and whether it is like that yet.

What a program reads of them it takes for granted when it is replayed. An object can be looked into if its
classes are written in Python and it keeps all in its `__dict__`: then its methods are Python functions, which
purity.py sees run, and nothing else of it can change. Its classes are guarded whole: which attributes, and so
which methods, they and those that they are made from have.
"""

from __future__ import annotations

import gc
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from enum import Enum
from functools import lru_cache, partial
from itertools import chain
from math import copysign
from operator import attrgetter, is_, itemgetter
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, TypeVar

import numpy as np

from rushlight._engine.lazy import is_ours, names_of
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.tensors.watches import Watch

SIMPLE = (bool, int, float, str, bytes, complex, type(None))
# Of a context variable purity.py sees what is asked of it.
_FIXED = (*SIMPLE, range, TypeVar, ContextVar, attrgetter, itemgetter)
# What a class has for all its objects that is no value.
_OF_CLASSES = (
    FunctionType,
    BuiltinFunctionType,
    classmethod,
    staticmethod,
    property,
    type,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
    type(namedtuple("Pair", "first second").first),  # type: ignore[attr-defined]
)
# And what Python itself notes there.
_OWN = frozenset(
    "__module__ __doc__ __dict__ __weakref__ __annotations__ __parameters__ __orig_bases__ __slots__ "
    "__abstractmethods__ __dataclass_fields__ __dataclass_params__ __match_args__ __hash__ __firstlineno__ "
    "__static_attributes__ __annotate_func__ __annotations_cache__ _abc_impl".split()
)
MADE_IN_PYTHON = 1 << 9
# Modules of the standard library whose classes nobody changes.
_STANDARD = frozenset("abc collections contextlib dataclasses enum functools typing types".split())
# What classes that are made in C have of their own (array.array, threading.local), and those with __slots__.
_IN_C = (MethodDescriptorType, WrapperDescriptorType, MemberDescriptorType)
_ORDER, _DICT = attrgetter("__mro__"), attrgetter("__dict__")
_CACHED: type = type(lru_cache(is_))
# Most of NumPy's functions, each of which calls one that is seen when it runs.
_OF_NUMPY: type = type(np.concatenate)
# More than so many containers and objects are compared too slowly.
_MOST, _MOST_RESULTS = 2000, 256


def is_module(value: Any) -> bool:
    """Whether it is a layer."""
    try:
        type.__getattribute__(type(value), "named_modules")  # a metaclass may have an answer of its own
    except AttributeError:
        return False
    return isinstance(getattr(value, "_modules", None), dict)


def built_on(cls: type) -> Any:
    """The class of Python's of which a program's kind of container is made; of others, itself."""
    for c in (list, tuple, OrderedDict, dict, frozenset):
        if issubclass(cls, c):
            return c
    return cls


def shown(value: Any) -> str:
    """The first 60 characters of its repr; of what has none, its class."""
    try:
        return f"{value!r:.60}"
    except Exception:  # whatever a program's own repr raises
        return f"<{type(value).__name__}>"


def alike(a: Any, b: Any) -> bool:
    """Whether they are one object, or equal numbers or strings; zeros of two signs are not, nor what a
    program's own class takes for equal, which may hold more.
    """
    cls = type(a)
    if a is b or cls is not type(b) or not _is_simple(cls) or a != b:
        return a is b
    if issubclass(cls, float):
        return bool(a) or copysign(1.0, a) == copysign(1.0, b)
    return not issubclass(cls, complex) or repr(a) == repr(b)


def _is_simple(cls: type) -> bool:
    """Whether its objects are their values alone: numbers and strings of Python's or NumPy's classes."""
    return issubclass(cls, SIMPLE) and not cls.__flags__ & MADE_IN_PYTHON


def _is_fixed(value: Any) -> bool:
    """Whether what NumPy made, a number, a type of numbers or a function, is always the same: no record, and
    no function of a program's own (np.frompyfunc).
    """
    if isinstance(value, np.ufunc):
        return not {*value.types} <= {value.nin * "O" + "->" + value.nout * "O"}
    if isinstance(value, np.generic):
        return not isinstance(value, np.void)
    return value.isbuiltin == 1 if isinstance(value, np.dtype) else True


class Contents:
    """What containers, objects and classes held when it was asked of them.

    look: guards a tensor or a layer. facts: (owner, name, value), to be guarded by whoever asks.
    """

    def __init__(self, look: Callable[[Any], None], facts: list[tuple[Any, str, Any]]) -> None:
        self._look, self._facts = look, facts
        self._held: dict[int, tuple[Any, bool]] = {}
        self.dicts, self.lists = Items(dict), Items(list)
        # Objects, and the classes that they have; sets; caches with what they know, by keys.
        self._objects: list[Any] = []
        self._of: list[type] = []
        # Those whose attributes are in a dict, and that.
        self._owners: list[Any] = []
        self._owned: list[dict[str, Any]] = []
        self._sets: list[tuple[Any, Any]] = []
        self._caches: list[tuple[dict[Any, Any], tuple[Any, ...]]] = []
        self._classes: dict[type, Any] = {}
        # In which order they and others are asked for attributes.
        self._orders: list[tuple[type, ...]] = []
        # All that these classes have, in order, as long as nobody changes it.
        self._attributes: list[Any] = []
        # Attributes that nobody can look into: what they are called, and the type of what they hold.
        self.opaque: dict[str, str] = {}

    def hold(self, value: Any) -> bool:
        """Whether the value cannot change, or what it holds is guarded from now on."""
        # Of its type, never of its `__class__`: a proxy answers that with another object's, or raises.
        cls = type(value)
        if any([cls is c for c in _FIXED]):  # not `in`: a metaclass may have its own meaning of ==
            return True
        known = self._held.get(id(value))
        if known is not None:
            return known[1]
        self._held[id(value)] = value, True  # while it is looked into
        try:
            found = len(self._held) <= _MOST and self._hold(value, cls)
        except Exception:  # what a program's own class raises where it is asked
            found = False
        self._held[id(value)] = value, found
        return found

    def _hold(self, value: Any, cls: type) -> bool:
        if issubclass(cls, type):
            self.of_class(value)
            return True
        if cls is BuiltinFunctionType:  # a method of a dict, say
            return issubclass(type(value.__self__), (ModuleType, type)) or self.hold(value.__self__)
        if issubclass(cls, ModuleType):
            name = names_of(value).get("__name__")
            return isinstance(name, str) and name.partition(".")[0] in ("rushlight", "torch", "math")
        if issubclass(cls, Tensor) or is_module(value):
            self._look(value)
            return True
        if issubclass(cls, (FunctionType, Enum)):
            if not is_ours(value):
                self._object(value, cls)
            return True
        if issubclass(cls, (np.generic, np.ufunc, np.dtype)) or cls is _OF_NUMPY:
            return _is_fixed(value)
        if cls is MethodType:
            return self.hold(value.__self__) and self.hold(value.__func__)
        if cls is partial:
            self._set_on(value)
            return all(map(self.hold, (value.func, value.args, value.keywords)))
        if cls is _CACHED:
            return self._cache(value)
        if issubclass(cls, (*_FIXED, tuple, frozenset)):
            return self._fixed(value, cls)
        return self._container(value, cls)

    def _set_on(self, value: Any) -> None:
        """Guard what a program may set on an object, if it has attributes of its own."""
        items = getattr(value, "__dict__", None)
        if items is not None:
            self.dicts.add(items)
            for name, item in [*items.items()]:
                self.attribute(name, item)

    def _fixed(self, value: Any, cls: type) -> bool:
        """A value that does not change, but for attributes that its class lets it have."""
        if cls not in (tuple, frozenset) and not is_ours(cls):
            if any(vars(c).get("__slots__") for c in cls.__mro__):
                return False
            self._object(value, cls)
        return not issubclass(cls, (tuple, frozenset)) or all(map(self.hold, built_on(cls).__iter__(value)))

    def _container(self, value: Any, cls: type) -> bool:
        if cls is list:
            self.lists.add(value)
            return all(map(self.hold, value))
        if cls is set:
            self._sets.append((value, {(type(v), v) for v in value}))
            return all([isinstance(item, SIMPLE) for item in value])
        if cls in (dict, OrderedDict) or _is_kind_of_dict(cls):
            if cls not in (dict, OrderedDict):
                self._object(value, cls)
            self.dicts.add(value)
            fixed = all([isinstance(k, (*SIMPLE, type, Enum)) for k in value])
            return fixed and all(map(self.hold, [*dict.values(value)]))
        if is_ours(cls):
            return True
        if not _is_plain(cls):
            return False
        self._object(value, cls)
        return True

    def _object(self, value: Any, cls: type) -> None:
        """Guard the attributes of an object and of its class."""
        items = getattr(value, "__dict__", {})
        self.own(value, items)
        for name, item in [*items.items()]:
            if not (cls is not FunctionType and isinstance(value, Enum) and name[0] == "_"):
                self.attribute(name, item)

    def own(self, value: Any, items: dict[str, Any]) -> None:
        """Guard which attributes and which class an object has."""
        self._objects.append(value)
        self._of.append(type(value))
        if not isinstance(value, Enum) and getattr(value, "__dict__", None) is items:
            self._owners.append(value)
            self._owned.append(items)
        self.dicts.add(items)
        self.of_class(type(value))

    def attribute(self, name: str, value: Any) -> None:
        """Guard what an attribute holds; its name is kept where that cannot be."""
        if not self.hold(value):
            self.opaque[name] = type(value).__name__

    def _cache(self, function: Any) -> bool:
        """What functools.lru_cache knows of a function: its results are there already."""
        found = [d for d in gc.get_referents(function) if type(d) is dict and d is not vars(function)]
        if len(found) != 1 or len(found[0]) > _MOST_RESULTS:
            return False
        (known,) = found
        self._caches.append((known, (*known.items(),)))
        if not all(type(v).__name__ == "_lru_list_elem" for v in known.values()):
            return all(map(self.hold, known.values()))
        # Python does not say what is in an element of the list that such a cache has, but the function does.
        if function.cache_parameters()["typed"] or any(not self.hold(key) for key in known):
            return False
        before = function.cache_info().misses
        results = [function(*key) if type(key) is tuple else function(key) for key in [*known]]
        return function.cache_info().misses == before and all(map(self.hold, results))

    def of_class(self, cls: type) -> None:
        """Guard which attributes a class, its metaclass and those that they are made from have."""
        metaclass: type = type(cls)
        for c in cls.__mro__ + metaclass.__mro__:
            fixed = not c.__flags__ & MADE_IN_PYTHON or c.__module__ in _STANDARD
            if c in self._classes or fixed or issubclass(c, Tensor):
                continue
            own: Any = vars(c)
            self._classes[c] = own.values
            self._attributes += own.values()
            self._orders.append(c.__mro__)
            if is_ours(c):
                continue
            for name, value in own.items():
                if not (name in _OWN or isinstance(value, _OF_CLASSES)):
                    self._facts.append((own, name, value))
                    self.attribute(name, value)

    def failure(self) -> str:
        """What a Watch may see that is no longer as it was; empty if all is."""
        # What is the same object counts as equal, and that is found quickest so: what is not, but equal, is
        # among the facts.
        try:
            same = [*chain.from_iterable([of() for of in self._classes.values()])] == self._attributes
        except Exception:  # what an attribute's own meaning of == is
            same = False
        if not same or not all(map(is_, map(_ORDER, self._classes), self._orders)):
            return "a class has got other attributes"
        if not all(map(is_, map(type, self._objects), self._of)):
            return "an object has got another class"
        if not all(map(is_, map(_DICT, self._owners), self._owned)):
            return "an object has got other attributes"
        return self.dicts.change() or self.lists.change()

    def unwatched(self) -> str:
        """The same of what no Watch sees."""
        for now, items in self._sets:
            if (now or items) and {(type(v), v) for v in now} != items:
                return "a set that the function may read holds something else"
        if self._caches and any(
            [known.get(key) is not v for known, items in self._caches for key, v in items]
        ):
            return "a cache that the function may read holds something else"
        return ""

    def watched(self, watch: Watch) -> None:
        """Let a Watch see all else."""
        for cls in self._classes:
            watch.attributes(cls)
        for value in self._objects:
            watch.of_class(value)
        for value in self._owners:
            watch.own(value)
        for items in self.dicts.all():
            watch.dict(items)
        for items in self.lists.all():
            watch.list(items)

    def count(self) -> int:
        """How much there is to look at."""
        return len(self._held)


class Items:
    """Containers that are to hold the very items that they had; kind: dict or list."""

    def __init__(self, kind: Any) -> None:
        self._kind, self._values = kind, dict.values if kind is dict else list.__iter__
        self._of: list[Any] = []
        self._empty: list[Any] = []
        self._counts: list[int] = []
        # Of all of them, one after another.
        self._keys: list[Any] = []
        self._items: list[Any] = []

    def add(self, container: Any) -> None:
        """One more."""
        if not container:
            self._empty.append(container)
            return
        self._of.append(container)
        self._counts.append(len(container))
        if self._kind is dict:
            self._keys += container
        self._items += self._values(container)

    def all(self) -> Iterator[Any]:
        """These containers."""
        return chain(self._of, self._empty)

    def change(self) -> str:
        """What one no longer holds; empty if all hold all."""
        of = self._of
        if any(self._empty):
            return f"a {self._kind.__name__} that was empty has got entries"
        if (
            [*map(len, of)] == self._counts
            and (self._kind is list or [*chain.from_iterable(of)] == self._keys)
            and all(map(is_, chain.from_iterable(map(self._values, of)), self._items))
        ):
            return ""
        at = 0
        for container, count in zip(of, self._counts, strict=True):
            keys, items = self._keys[at : at + count], self._items[at : at + count]
            at += count
            if len(container) != count or (self._kind is dict and [*container] != keys):
                return f"a {self._kind.__name__} that the function may read holds something else"
            for place, (now, item) in enumerate(zip(self._values(container), items, strict=True)):
                if not alike(now, item):
                    name = keys[place] if keys else place
                    return f"{shown(name)} is no longer {shown(item)}"
        # Equal numbers may be other objects by now.
        self._items = [*chain.from_iterable(map(self._values, of))]
        return ""


def _is_kind_of_dict(cls: type) -> bool:
    """Whether what an object holds is what it holds as a dict, and in its __dict__."""
    own = built_on(cls)
    return (
        own in (dict, OrderedDict)
        and not is_ours(cls)
        and all([c in own.__mro__ or _is_plain_class(c) for c in cls.__mro__])
        and all([getattr(cls, name) is getattr(own, name) for name in ("__len__", "__iter__")])
        and not hasattr(cls, "__bool__")
    )


def _is_plain_class(c: type) -> bool:
    return bool(c.__flags__ & MADE_IN_PYTHON) and not _holds_more(c)


def _is_plain(cls: type) -> bool:
    """Whether what an object holds is in its __dict__, and all its methods are Python's."""
    return all(c is object or _is_plain_class(c) for c in cls.__mro__)


def _holds_more(cls: type) -> bool:
    """Whether a class has slots or methods of its own that are no functions in Python, as C's have."""
    return any(isinstance(v, _IN_C) and v.__objclass__ is cls for v in vars(cls).values())
