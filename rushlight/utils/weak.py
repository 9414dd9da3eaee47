"""torch.utils.weak: weak references and dictionaries that know tensors by identity, not by ==."""

from __future__ import annotations

import collections.abc
import weakref
from collections.abc import Iterator, Mapping
from typing import Any
from weakref import ref

from rushlight._engine.tensors.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]
WeakRef = ref


class WeakIdRef(ref[Any]):
    """A weak reference that is equal to another of the same object, and to itself when that is gone."""

    __slots__ = ["_id"]

    def __init__(self, key: Any, callback: Any = None) -> None:
        self._id = id(key)
        super().__init__(key, callback)  # type: ignore[call-arg]

    def __call__(self) -> Any:
        """The object, or None when it is gone."""
        return super().__call__()

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, others = self(), other() if isinstance(other, ref) else None
        return mine is others if mine is not None and others is not None else self is other


WeakTensorRefKey = _WeakHashRef = WeakIdRef


class WeakIdKeyDictionary(collections.abc.MutableMapping[Any, Any]):
    """A dictionary with objects as keys, by identity; an entry goes when its key does.

    ref_type: how keys are held, WeakIdRef by default. Otherwise as weakref.WeakKeyDictionary.
    """

    def __init__(self, dict: Mapping[Any, Any] | None = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        here = weakref.ref(self)

        def forget(key: Any) -> None:
            owner = here()
            if owner is not None:
                # What iterates over the entries iterates over a copy of them.
                owner.data.pop(key, None)

        self._forget = forget
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __len__(self) -> int:
        return len(self.data)

    def __contains__(self, key: Any) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:
            return False

    def __iter__(self) -> Iterator[Any]:
        for held in list(self.data):
            key = held()
            if key is not None:
                yield key

    keys = __iter__  # type: ignore[assignment]

    def items(self) -> Iterator[tuple[Any, Any]]:  # type: ignore[override]
        """Pairs of those keys that are still there."""
        for held, value in list(self.data.items()):
            key = held()
            if key is not None:
                yield key, value

    def values(self) -> Iterator[Any]:  # type: ignore[override]
        """The values of those keys that are still there."""
        return (value for _, value in self.items())

    def keyrefs(self) -> list[Any]:
        """The references themselves."""
        return list(self.data)

    def popitem(self) -> tuple[Any, Any]:
        """Take out and give one entry."""
        while True:
            held, value = self.data.popitem()
            key = held()
            if key is not None:
                return key, value

    def pop(self, key: Any, *args: Any) -> Any:
        """Take out an entry; its value, or the default, or KeyError."""
        return self.data.pop(self.ref_type(key), *args)

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, or the default."""
        return self.data.get(self.ref_type(key), default)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value of a key, which is the default from now on if there was none."""
        return self.data.setdefault(self.ref_type(key, self._forget), default)

    def copy(self) -> WeakIdKeyDictionary:
        """Another dictionary with the same entries."""
        return self._copied(lambda value: value)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        from copy import deepcopy

        return self._copied(lambda value: deepcopy(value, memo))

    def _copied(self, copied: Any) -> WeakIdKeyDictionary:
        new = type(self)(ref_type=self.ref_type)
        for key, value in self.items():
            new[key] = copied(value)
        return new

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, collections.abc.Mapping):
            return NotImplemented
        new = self.copy()
        new.update(other)
        return new

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, collections.abc.Mapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None  # type: ignore[assignment]


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: call it for the tensor, or None when it is gone."""

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError("Expected tensor to be a Tensor")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Any:
        """The tensor, or None when it is gone."""
        return self.ref()
