"""ParameterList and ParameterDict: tensors in them become Parameters; other values are kept."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import rushlight as torch
from rushlight.nn.modules.module import Module
from rushlight.nn.parameter import Parameter


def _as_parameter(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _line(key: Any, value: Any, of: str) -> str:
    if not isinstance(value, torch.Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    size = "x".join(str(n) for n in value.size())
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({key}): {kind} containing: [{of} of size {size}]"


def _pairs(given: Iterable[Any], owner: str) -> Iterator[tuple[Any, Any]]:
    """The (key, value) pairs that a dict-like module is updated with, each checked."""
    for j, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{owner} update sequence element #{j} should be Iterable; is " + type(pair).__name__
            )
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{owner} update sequence element #{j} has length {len(pair)}; 2 is required")
        yield pair[0], pair[1]


# What a dict-like module is updated with, in words.
_PAIRS = " of key/value pairs"


def _need_iterable(given: Any, call: str, of: str = "") -> None:
    if not isinstance(given, Iterable):
        raise TypeError(f"{call} should be called with an iterable{of}, but got {type(given).__name__}")


class _ListLike(Module):
    """Members are attributes named by their positions, which dir() leaves out."""

    def __len__(self) -> int:
        raise NotImplementedError

    def __iadd__(self, other: Iterable[Any]) -> Any:
        return self.extend(other)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def _get_abs_string_index(self, idx: Any) -> str:
        idx = operator.index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return str(idx + len(self) if idx < 0 else idx)


class _DictLike(Module):
    """Members are found by their keys, those of the dict `_table`."""

    def __len__(self) -> int:
        return len(getattr(self, self._table))

    def __iter__(self) -> Iterator[str]:
        return iter(getattr(self, self._table))

    def __contains__(self, key: object) -> bool:
        return key in getattr(self, self._table)

    def keys(self) -> Iterable[str]:
        """The keys, in order of insertion."""
        return getattr(self, self._table).keys()

    def pop(self, key: str) -> Any:
        """Remove and return what is under a key."""
        value = self[key]  # type: ignore[index]
        del self[key]  # type: ignore[attr-defined]
        return value


class ParameterList(_ListLike):
    """A list of parameters (and other values) that are registered."""

    __module__ = "rushlight.nn.modules.container"  # as in PyTorch: pickles say so

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self.__class__([self[i] for i in range(len(self))[idx]])
        return getattr(self, self._get_abs_string_index(idx))

    def __setitem__(self, idx: Any, param: Any) -> None:
        setattr(self, self._get_abs_string_index(idx), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def append(self, value: Any) -> Any:
        """Add a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Any:
        """Add values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, torch.Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got " + type(values).__name__
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_line(i, p, str(getattr(p, "dtype", ""))) for i, p in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(_DictLike):
    """A dict of parameters (and other values) that are registered; keys are strings."""

    __module__ = "rushlight.nn.modules.container"  # as in PyTorch: pickles say so

    _table = "_keys"

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a "
                f"string (type is '{type(key).__name__}'). Use a string key instead."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        name = self._key_to_attr(key)
        self._keys[key] = None
        setattr(self, name, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __or__(self, other: Mapping[str, Any]) -> "ParameterDict":
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: Any) -> Any:
        joined = other.copy()
        joined.update(self)
        return joined

    def __ior__(self, other: Mapping[str, Any]) -> Any:
        self.update(other)
        return self

    def copy(self) -> "ParameterDict":
        """A new dict with the same values."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value under a key, which is `default` from now on if there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all values."""
        for key in list(self._keys):
            del self[key]

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last (key, value) pair."""
        key, _ = self._keys.popitem()
        self._keys[key] = None  # pop() removes it again, with its value
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value under a key, or `default`."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> "ParameterDict":
        """A new dict with `default` under each key."""
        return ParameterDict((key, default) for key in keys)

    def items(self) -> Iterable[tuple[str, Any]]:
        """(key, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add or replace values, from a mapping or from (key, value) pairs."""
        _need_iterable(parameters, "ParametersDict.update", _PAIRS)
        if isinstance(parameters, (Mapping, ParameterDict)):
            # PyTorch takes the keys of an unordered mapping in sorted order.
            ordered = isinstance(parameters, (OrderedDict, ParameterDict))
            keys = parameters.keys() if ordered else sorted(parameters)
            for key in keys:
                self[key] = parameters[key]
            return
        for key, value in _pairs(parameters, "ParameterDict"):
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(_line(key, p, torch.typename(p)) for key, p in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")
