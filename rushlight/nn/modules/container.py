"""Modules that hold modules or parameters: Sequential, ModuleList, ModuleDict (and the deprecated Container),
ParameterList and ParameterDict.

Children of the list-like ones are named "0", "1", ... Tensors in a list or dict of parameters become
Parameters; other values are kept.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from typing import Any, Self

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight.nn.modules.base.tree import _addindent
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

    _only_here = True

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, idx: Any) -> Any:
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

    _only_here = True

    def __len__(self) -> int:
        return len(getattr(self, self._table))

    def __getitem__(self, key: str) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Iterator[str]:
        return iter(getattr(self, self._table))

    def __contains__(self, key: object) -> bool:
        return key in getattr(self, self._table)

    def keys(self) -> Iterable[str]:
        """The keys, in order of insertion."""
        table: dict[str, Any] = getattr(self, self._table)
        return table.keys()

    def pop(self, key: str) -> Any:
        """Remove and return what is under a key."""
        value = self[key]
        del self[key]
        return value


class Container(Module):
    """Deprecated: children given as keywords."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warn(
            "nn.Container is deprecated. All of it's functionality is now implemented in "
            "nn.Module. Subclass that instead.",
            FutureWarning,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Modules(_ListLike):
    """Children named by their positions."""

    _only_here = True

    def _renumber(self, modules: Iterable[Any]) -> None:
        self._modules = {str(i): module for i, module in enumerate(modules)}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def _key(self, idx: Any) -> str:
        return self._get_abs_string_index(idx)

    def __setitem__(self, idx: Any, module: Any) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx: Any) -> None:
        for name in list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]:
            delattr(self, name)
        self._renumber(self)

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end."""
        for module in list(sequential):
            self.append(module)
        return self

    def _insert(self, index: int, module: Module) -> None:
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def pop(self, key: Any) -> Any:
        """Remove and return the module at an index."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Modules):
    """Calls its children one after the other: Sequential(a, b)(x) is b(a(x)).

    Takes modules, or one OrderedDict of names and modules. Indexing, slicing, `append`, `insert`,
    `extend`, `pop`, `+` and `*` work as on a list.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for position, module in enumerate(args):
                self.add_module(str(position), module)

    def forward(self, input: Any) -> Any:
        """The input, passed through every child in turn; without children, the input itself. One argument
        only.
        """
        for module in self._modules.values():
            input = module(input)
        return input

    def _get_item_by_idx(self, iterator: Iterable[Any], idx: Any) -> Any:
        """The idx-th item; negative from the end."""
        return next(islice(iterator, int(self._get_abs_string_index(idx)), None))

    def _key(self, idx: Any) -> str:
        return str(self._get_item_by_idx(self._modules.keys(), idx))

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[idx]))
        return self._get_item_by_idx(self._modules.values(), idx)

    def __add__(self, other: Iterable[Any]) -> Sequential:
        _check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Iterable[Any]) -> Any:
        _check_sequential(other)
        return self.extend(other)

    def __mul__(self, other: int) -> Sequential:
        _check_times(other)
        return Sequential(*list(self) * other)

    def __rmul__(self, other: int) -> Sequential:
        return self * other

    def __imul__(self, other: int) -> Any:
        _check_times(other)
        once = list(self)
        for _ in range(other - 1):
            self.extend(once)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        self._insert(index, module)
        return self


def _check_sequential(other: Any) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(
            f"add operator supports only objects of Sequential class, but {type(other)} is given."
        )


def _check_times(other: Any) -> None:
    if not isinstance(other, int):
        raise TypeError(f"unsupported operand type(s) for *: {Sequential} and {type(other)}")
    if other <= 0:
        raise ValueError(f"Non-positive multiplication factor {other} for {Sequential}")


class ModuleList(_Modules):
    """A list of modules that are registered; it is not called itself."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self.__class__(list(self._modules.values())[idx])
        return self._modules[self._get_abs_string_index(idx)]

    def __add__(self, other: Iterable[Any]) -> ModuleList:
        return ModuleList((*self, *other))

    def __repr__(self) -> str:
        """As any module's, but a run of equal children is one line: "(0-2): 3 x Linear(...)"."""
        if not len(self):
            return self._get_name() + "()"
        lines, first = [], 0
        for text, run in groupby(map(repr, self)):
            count = len([*run])
            times = f"({first}-{first + count - 1}): {count} x" if count > 1 else f"({first}):"
            lines.append(_addindent(f"{times} {text}", 2))
            first += count
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at `index`."""
        self._insert(index, module)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        _need_iterable(modules, "ModuleList.extend")
        return super().extend(modules)


class ModuleDict(_DictLike):
    """A dict of modules that are registered; it is not called itself."""

    _table = "_modules"

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def items(self) -> Iterable[tuple[str, Module]]:
        """(key, module) pairs."""
        return self._modules.items()

    def values(self) -> Iterable[Module]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add or replace modules, from a mapping or from (key, module) pairs."""
        _need_iterable(modules, "ModuleDict.update", _PAIRS)
        named = isinstance(modules, (ModuleDict, Mapping))
        for key, module in modules.items() if named else _pairs(modules, "ModuleDict"):
            self[key] = module


class ParameterList(_ListLike):
    """A list of parameters (and other values) that are registered."""

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
        """What repr() shows: a line for each entry, its type, dtype, size and device."""
        return "\n".join(_line(i, p, str(getattr(p, "dtype", ""))) for i, p in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """RuntimeError: it is a list, not a layer."""
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(_DictLike):
    """A dict of parameters (and other values) that are registered; keys are strings."""

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

    def __or__(self, other: Mapping[str, Any]) -> ParameterDict:
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

    def copy(self) -> ParameterDict:
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
        return self[key] if key in self else default  # noqa: SIM401 - this is get()

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
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
        """What repr() shows: a line for each entry, its key, type, size and device."""
        return "\n".join(_line(key, p, torch.typename(p)) for key, p in self.items())

    def __call__(self, input: Any) -> Any:
        """RuntimeError: it is a dict, not a layer."""
        raise RuntimeError("ParameterDict should not be called.")


__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
