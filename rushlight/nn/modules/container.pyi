# Written by `python tools/stubs.py`.
"""Modules that hold modules: Sequential, ModuleList, ModuleDict (and the deprecated Container).

Children of the list-like ones are named "0", "1", ... ParameterList and ParameterDict are in
parameters.py.
"""
from collections.abc import Iterable, Iterator, Mapping
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.parameters import _DictLike, _ListLike
from rushlight._engine.tensors.tensor import Tensor
from typing import Any, Self

from rushlight.nn.modules.parameters import ParameterDict as ParameterDict
from rushlight.nn.modules.parameters import ParameterList as ParameterList
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
class Sequential(_Modules):
    """Calls its children one after the other: Sequential(a, b)(x) is b(a(x)).

    Takes modules, or one OrderedDict of names and modules. Indexing, slicing, `append`, `insert`,
    `extend`, `pop`, `+` and `*` work as on a list.
    """

    def __init__(self, *args: Any) -> None: ...
    def __add__(self, other: Tensor) -> Sequential: ...
    def __getitem__(self, idx: Any) -> Any: ...
    def __iadd__(self, other: Tensor) -> Any: ...
    def __imul__(self, other: int) -> Any: ...
    def __mul__(self, other: int) -> Sequential: ...
    def __rmul__(self, other: int) -> Sequential: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at `index`."""
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
    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at `index`."""
    def pop(self, key: Tensor) -> Any:
        """Remove and return the module at an index."""
def _check_sequential(other: Tensor) -> None: ...
def _check_times(other: Tensor) -> None: ...
__all__: list[str]
