"""Modules that hold modules: Sequential, ModuleList, ModuleDict (and the deprecated Container).

Children of the list-like ones are named "0", "1", ... ParameterList and ParameterDict are in
parameters.py.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from typing import Any, Self

from rushlight._engine.core.callers import warn
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.parameters import (
    _PAIRS,
    ParameterDict,
    ParameterList,
    _DictLike,
    _ListLike,
    _need_iterable,
    _pairs,
)
from rushlight.nn.modules.tree import _addindent


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

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at `index`."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def pop(self, key: Any) -> Any:
        """Remove and return the module at an index."""
        module = self[key]  # type: ignore[index]
        del self[key]  # type: ignore[attr-defined]
        return module


class Sequential(_Modules):
    """Calls its children one after the other: Sequential(a, b)(x) is b(a(x)).

    Takes modules, or one OrderedDict of names and modules. Indexing, slicing, `append`, `insert`,
    `extend`, `pop`, `+` and `*` work as on a list.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = len(args) == 1 and isinstance(args[0], OrderedDict)
        for name, module in args[0].items() if named else enumerate(args):
            self.add_module(name if named else str(name), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def _get_item_by_idx(self, iterator: Iterable[Any], idx: Any) -> Any:
        """The idx-th item; negative from the end."""
        return next(islice(iterator, int(self._get_abs_string_index(idx)), None))

    def _key(self, idx: Any) -> str:
        return self._get_item_by_idx(self._modules.keys(), idx)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[idx]))
        return self._get_item_by_idx(self._modules.values(), idx)

    def __add__(self, other: Any) -> "Sequential":
        _check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Any:
        _check_sequential(other)
        return self.extend(other)

    def __mul__(self, other: int) -> "Sequential":
        _check_times(other)
        return Sequential(*list(self) * other)

    def __rmul__(self, other: int) -> "Sequential":
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
        super().insert(index, module)
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

    def __add__(self, other: Iterable[Any]) -> "ModuleList":
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


__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
