# Written by `python tools/stubs.py`.
"""Modules that hold modules or parameters: Sequential, ModuleList, ModuleDict (and the deprecated Container),
ParameterList and ParameterDict.

Children of the list-like ones are named "0", "1", ... Tensors in a list or dict of parameters become
Parameters; other values are kept.
"""
from collections.abc import Iterable, Iterator, Mapping
from rushlight import Tensor
from rushlight.nn.modules.module import Module
from typing import Any, Self

class Container(Module):
    """Deprecated: children given as keywords."""

    def __init__(self, **kwargs: Any) -> None: ...
class ModuleDict(_DictLike):
    """A dict of modules that are registered; it is not called itself."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None: ...
    def __delitem__(self, key: str) -> None: ...
    def __getitem__(self, key: str) -> Any: ...
    def __setitem__(self, key: str, module: Any) -> None: ...
    def clear(self) -> None:
        """Remove all modules."""
    def items(self) -> Iterable[tuple[str, Module]]:
        """(key, module) pairs."""
    def update(self, modules: Any) -> None:
        """Add or replace modules, from a mapping or from (key, module) pairs."""
    def values(self) -> Iterable[Module]:
        """The modules."""
class ModuleList(_Modules):
    """A list of modules that are registered; it is not called itself."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None: ...
    def __add__(self, other: Iterable[Any]) -> ModuleList: ...
    def __getitem__(self, idx: Any) -> Any: ...
    def __repr__(self) -> str:
        """As any module's, but a run of equal children is one line: "(0-2): 3 x Linear(...)"."""
    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at `index`."""
class ParameterDict(_DictLike):
    """A dict of parameters (and other values) that are registered; keys are strings."""

    def __init__(self, parameters: Any = None) -> None: ...
    def __call__(self, input: Tensor) -> Any:
        """RuntimeError: it is a dict, not a layer."""
    def __delitem__(self, key: str) -> None: ...
    def __getitem__(self, key: str) -> Any: ...
    def __ior__(self, other: Mapping[str, Any]) -> Any: ...
    def __or__(self, other: Mapping[str, Any]) -> ParameterDict: ...
    def __reversed__(self) -> Iterator[str]: ...
    def __ror__(self, other: Tensor) -> Any: ...
    def __setitem__(self, key: str, value: Any) -> None: ...
    def clear(self) -> None:
        """Remove all values."""
    def copy(self) -> ParameterDict:
        """A new dict with the same values."""
    def extra_repr(self) -> str:
        """What repr() shows: a line for each entry, its key, type, size and device."""
    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dict with `default` under each key."""
    def get(self, key: str, default: Any = None) -> Any:
        """The value under a key, or `default`."""
    def items(self) -> Iterable[tuple[str, Any]]:
        """(key, value) pairs."""
    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last (key, value) pair."""
    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value under a key, which is `default` from now on if there was none."""
    def update(self, parameters: Any) -> None:
        """Add or replace values, from a mapping or from (key, value) pairs."""
    def values(self) -> Iterable[Any]:
        """The values."""
class ParameterList(_ListLike):
    """A list of parameters (and other values) that are registered."""

    def __init__(self, values: Iterable[Any] | None = None) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """RuntimeError: it is a list, not a layer."""
    def __getitem__(self, idx: Any) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def __setitem__(self, idx: Any, param: Any) -> None: ...
    def append(self, value: Any) -> Any:
        """Add a value at the end."""
    def extend(self, values: Iterable[Any]) -> Any:
        """Add values at the end."""
    def extra_repr(self) -> str:
        """What repr() shows: a line for each entry, its type, dtype, size and device."""
class Sequential(_Modules):
    """Calls its children one after the other: Sequential(a, b)(x) is b(a(x)).

    Takes modules, or one OrderedDict of names and modules. Indexing, slicing, `append`, `insert`,
    `extend`, `pop`, `+` and `*` work as on a list.
    """

    def __init__(self, *args: Any) -> None: ...
    def __add__(self, other: Iterable[Any]) -> Sequential: ...
    def __getitem__(self, idx: Any) -> Any: ...
    def __iadd__(self, other: Iterable[Any]) -> Any: ...
    def __imul__(self, other: int) -> Any: ...
    def __mul__(self, other: int) -> Sequential: ...
    def __rmul__(self, other: int) -> Sequential: ...
    def forward(self, input: Tensor) -> Tensor:
        """The input, passed through every child in turn; without children, the input itself. One argument
        only.
        """
    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at `index`."""
class _DictLike(Module):
    """Members are found by their keys, those of the dict `_table`."""

    def __contains__(self, key: object) -> bool: ...
    def __getitem__(self, key: str) -> Any: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def keys(self) -> Iterable[str]:
        """The keys, in order of insertion."""
    def pop(self, key: str) -> Any:
        """Remove and return what is under a key."""
class _ListLike(Module):
    """Members are attributes named by their positions, which dir() leaves out."""

    def __getitem__(self, idx: Any) -> Any: ...
    def __iadd__(self, other: Iterable[Any]) -> Any: ...
    def __len__(self) -> int: ...
class _Modules(_ListLike):
    """Children named by their positions."""

    def __delitem__(self, idx: Any) -> None: ...
    def __iter__(self) -> Iterator[Module]: ...
    def __len__(self) -> int: ...
    def __setitem__(self, idx: Any, module: Any) -> None: ...
    def append(self, module: Module) -> Self:
        """Add a module at the end."""
    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end."""
    def pop(self, key: Tensor) -> Any:
        """Remove and return the module at an index."""
def _as_parameter(value: Any) -> Any: ...
def _check_sequential(other: Tensor) -> None: ...
def _check_times(other: Tensor) -> None: ...
def _line(key: Tensor, value: Any, of: str) -> str: ...
def _need_iterable(given: Any, call: str, of: str = '') -> None: ...
def _pairs(given: Iterable[Any], owner: str) -> Iterator[tuple[Any, Any]]:
    """The (key, value) pairs that a dict-like module is updated with, each checked."""
__all__ = ['Container', 'ModuleDict', 'ModuleList', 'ParameterDict', 'ParameterList', 'Sequential']
