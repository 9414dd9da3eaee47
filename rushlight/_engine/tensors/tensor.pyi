# Written by `python tools/stubs.py`.
"""The tensor: a strided view of a storage, with a dtype, a device and a place in autograd's graph.

Invariants: `_array` is the NumPy view that holds the data; `_kind` its interned Kind; `_grad_node` the
autograd node that made it (the AccumulateGrad node of a leaf that requires grad, None where no gradient is
tracked) and `_output_nr` which of the node's results it is; `_storage` its Storage, shared by all views, made
when first needed. Views of tracked tensors also have `_view_of`, their View. Lazy views have no `_array`
(lazy_views.py): what looks at memory and not at values reads `_memory`. Methods that are ops come from the
table: the first look-up of a name binds it to the class.
"""
import numpy as np
from builtins import bool as _bool, int as _int, type as _type
from collections.abc import Callable
from rushlight._engine.tensors.kind import Kind
from rushlight._engine.tensors.of_class import AskedByClass
from typing import Any

from rushlight import Tensor as Tensor
from rushlight._engine.tensors.storages.storage import storage as storage
from rushlight._engine.tensors.kind import kind as kind
ARRAY: Any
BELOW: set[_type]
class LISTENING:
    """Stands among WRAPPED while somebody may listen below autograd."""

class TensorMeta(AskedByClass):
    """Finds Tensor.NAME in the op table when it is first asked for."""

    def __init__(cls, name: str, bases: tuple[_type, ...], own: dict[str, Any], **options: Any) -> None: ...
    def __getattr__(cls, name: str) -> Any: ...
WRAPPED: set[_type]
class _Unbound:
    """A method that nobody has asked for yet: the first look-up binds what the table has of this name."""

    def __init__(self, name: str) -> None: ...
    def __get__(self, t: Any, cls: _type) -> Any: ...
    name: Any
def _is_mixed_in(name: str, cls: _type) -> _bool:
    """Whether a class of tensors has something from a part that is no tensor."""
_lasting: list[_bool]
def _unfilled(self: Any, name: str) -> Any:
    """Attributes that a tensor has not, its array among them."""
def alias(t: Tensor, node: Any = None, number: _int = 0, cls: _type = ...) -> Tensor:
    """The same memory, read in the same way, at another place in the graph: result `number` of `node`."""
def expect_filled() -> None:
    """Whoever expected tensors whose `_array` is empty for a while has filled them all."""
def expect_unfilled(lasting: _bool = True) -> None:
    """From now on there are tensors whose `_array` is empty (lazy_views.py); lasting: until the end.

    Not before: what answers for an empty slot makes others slower to read. A class with a `__getattr__` finds
    each of its instances' slots in many times the time; properties of machine code, only the array.
    """
def lookup(namespace: str, name: str) -> Callable[..., Any] | None:
    """The callable generated from a row, or None where the table has no such name."""
def wrap(array: Any, of: Kind | None = None) -> Tensor:
    """A fresh tensor around `array` (no copy), which nothing else must own."""
def wrap_view(array: np.ndarray[Any, Any], base: Tensor, of: Kind | None = None) -> Tensor:
    """A tensor around a view of `base`'s array: it shares the storage and its version."""
__all__ = ['ARRAY', 'WRAPPED', 'Tensor', 'alias', 'kind', 'lookup', 'storage', 'wrap', 'wrap_view']
