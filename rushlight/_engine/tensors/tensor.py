"""The tensor: a strided view of a storage, with a dtype, a device and a place in autograd's graph.

Invariants: `_array` is the NumPy view that holds the data; `_kind` its interned Kind; `_grad_node` the
autograd node that made it (the AccumulateGrad node of a leaf that requires grad, None where no gradient is
tracked) and `_output_nr` which of the node's results it is; `_storage` its Storage, shared by all views, made
when first needed. Views of tracked tensors also have `_view_of`, their View. Lazy views have no `_array`
(lazy_views.py): what looks at memory and not at values reads `_memory`. Methods that are ops come from the
table: the first look-up of a name binds it to the class.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core.accelerator import asarray, is_away
from rushlight._engine.core.dtype import FLOATING, from_numpy_dtype
from rushlight._engine.core.recording import TAPE
from rushlight._engine.core.services import service
from rushlight._engine.core.tracebacks import own
from rushlight._engine.lazy import is_ours, package
from rushlight._engine.names import completion
from rushlight._engine.tensors.conversion import Conversion
from rushlight._engine.tensors.geometry import Geometry, name_attributes
from rushlight._engine.tensors.gradient import Gradient
from rushlight._engine.tensors.kind import CPU_KINDS, Kind, kind
from rushlight._engine.tensors.lazy_views import hidden_memory, shared, values
from rushlight._engine.tensors.of_class import (
    PARTS,
    PLAIN,
    AskedByClass,
    Attribute,
    ask_by_class,
    asking_its_own,
)
from rushlight._engine.tensors.older import Older
from rushlight._engine.tensors.operators import Operators
from rushlight._engine.tensors.other_kinds import OtherKinds
from rushlight._engine.tensors.storages.storage import INFERRING, Storage, fresh, storage


def lookup(namespace: str, name: str) -> Callable[..., Any] | None:
    """The callable generated from a row, or None where the table has no such name."""
    found: Callable[..., Any] | None = service("callable of a public name")(namespace, name)
    return found


# Classes with a __torch_dispatch__ of their own.
BELOW: set[type] = set()


def _is_mixed_in(name: str, cls: type) -> bool:
    """Whether a class of tensors has something from a part that is no tensor."""
    return any(name in vars(part) and not isinstance(part, TensorMeta) for part in cls.__mro__)


class TensorMeta(AskedByClass):
    """Finds Tensor.NAME in the op table when it is first asked for."""

    def __init__(cls, name: str, bases: tuple[type, ...], own: dict[str, Any], **options: Any) -> None:
        super().__init__(name, bases, own, **options)
        if "__torch_dispatch__" in own or any(base in BELOW for base in cls.__mro__):
            service("class with a __torch_dispatch__")(cls)
        if not is_ours(cls) and ("__torch_function__" in own or _is_mixed_in("__torch_function__", cls)):
            service("class with a __torch_function__")(cls)

    def __getattr__(cls, name: str) -> Any:
        if name in cls._operators:
            found = lookup("Tensor", name)
            if found is not None:
                setattr(Tensor, name, found)
                return found
        raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")

    def __dir__(cls) -> list[str]:
        return sorted({*type.__dir__(cls), *completion.names("Tensor")})


TensorMeta.__name__ = TensorMeta.__qualname__ = "_TensorMeta"  # as PyTorch calls it


class Tensor(Operators, Geometry, Conversion, Gradient, Older, OtherKinds, metaclass=TensorMeta):
    """A multi-dimensional array; make one with torch.tensor, torch.zeros, torch.from_numpy, ..."""

    __module__ = package()
    # _array       the array that holds the data: its values, shape and strides. Read as `_memory` and
    #              `_geometry` where the values are not asked for (below)
    # _kind        the Kind: dtype and device
    # _grad_node   the autograd node that made it; of a leaf that requires grad, its AccumulateGrad
    # _output_nr   which of that node's results it is
    # _storage     the Storage that all views of the memory share; None until somebody needs it
    # _view_of     of a view: its base, and how it was taken (View in autograd/in_place.py)
    # _grad        the gradient of a leaf
    # _hidden      what is known of a tensor whose `_array` is empty: a lazy view's memory, or a Pending
    __slots__ = (
        "_array",
        "_kind",
        "_grad_node",
        "_output_nr",
        "_storage",
        "_view_of",
        "_grad",
        "_hidden",
        "__dict__",
        "__weakref__",
    )
    __array_priority__ = 1000
    _array: np.ndarray[Any, Any]
    _memory: np.ndarray[Any, Any]
    _geometry: np.ndarray[Any, Any]
    _kind: Kind
    _storage: Storage | None

    def __new__(cls, *args: Any, **kwargs: Any) -> Tensor:
        from rushlight._engine.tensors.construction.legacy import legacy_new  # it imports this file

        made: Tensor = legacy_new(cls, args, kwargs)
        return made

    def __dir__(self) -> list[str]:
        fields = {name for name in Tensor.__slots__ if name[:2] != "__"}
        return sorted({*super().__dir__(), *completion.names("Tensor")} - fields)

    def __hash__(self) -> int:
        return id(self)

    @asking_its_own
    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)

    def _state(self, state: Tensor) -> Tensor:
        """What an optimizer keeps of this parameter: a tensor of its memory's shape, perhaps of its class."""
        return state

    def as_subclass(self, cls: type) -> Any:
        """A view of the whole tensor that is an instance of `cls`, a subclass of Tensor."""
        run: Any = lookup("operator", "as_subclass")
        return run(self, cls)

    @staticmethod
    def _make_subclass(
        cls: type,
        data: Any,
        require_grad: bool = False,
        dispatch_sizes_strides_policy: str | None = None,
        dispatch_device: bool = False,
        dispatch_layout: bool = False,
    ) -> Any:
        """The same data outside the graph, as an instance of `cls`."""
        made = alias(data, cls=cls)
        if require_grad and made._kind.dtype.category < FLOATING:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        # Not by the methods of `cls`, which may ask for what it has not been given yet.
        if require_grad:
            Gradient.requires_grad_(made)
        if dispatch_sizes_strides_policy is not None or dispatch_device or dispatch_layout:
            told = dispatch_sizes_strides_policy, dispatch_device, dispatch_layout
            service("what an instance answers itself")(made, *told)
        return made

    @staticmethod
    def _make_wrapper_subclass(cls: type, size: Any, *more: Any, **options: Any) -> Any:
        """An instance of `cls`, which has a `__torch_dispatch__`, of this size, and without memory."""
        return service("instance of a wrapper subclass")(cls, size, *more, **options)


# Classes of tensors that are wrapped in a level of vmap or of forward mode (transforms/levels.py).
WRAPPED: set[type] = set()


class LISTENING:
    """Stands among WRAPPED while somebody may listen below autograd."""


class _Unbound:
    """A method that nobody has asked for yet: the first look-up binds what the table has of this name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, t: Any, cls: type) -> Any:
        if t is None and completion.is_completing():
            return property()
        found = lookup("Tensor", self.name)
        if found is None:
            raise AttributeError(f"'{cls.__name__}' object has no attribute '{self.name}'")
        setattr(Tensor, self.name, found)
        return getattr(cls if t is None else t, self.name)


for _part in Tensor.__bases__:
    name_attributes(_part)
    _own = {n: found for n, found in vars(_part).items() if isinstance(found, Attribute) or callable(found)}
    ask_by_class(n for n, found in _own.items() if n[0] != "_" or isinstance(found, Attribute))
ask_by_class(n for n in vars(OtherKinds) if n[:2] != "__")
ask_by_class(("_is_view",))
PARTS.update((Tensor, *Tensor.__bases__))
PLAIN.add(Tensor)
for _name in (*completion.names("Tensor"), "_follow_"):
    setattr(Tensor, _name, _Unbound(_name))

# The same slot by other names: as fast to read, but where it is empty __getattr__ knows which was asked for.
# `_array` is asked for values, `_memory` for the memory as it lies, `_geometry` for sizes and strides alone.
ARRAY: Any = Tensor.__dict__["_array"]
Tensor._memory = Tensor._geometry = ARRAY

_new = object.__new__


def _unfilled(self: Any, name: str) -> Any:
    """Attributes that a tensor has not, its array among them."""
    if name == "_array":
        return values(self)
    if name == "_memory" or name == "_geometry":
        return hidden_memory(self, name)
    raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


# Whether there may be tensors with an empty slot for as long as the process lives.
_lasting: list[bool] = []
_NAMES_OF_ARRAY = ("_array", "_memory", "_geometry")


def expect_unfilled(lasting: bool = True) -> None:
    """From now on there are tensors whose `_array` is empty (lazy_views.py); lasting: until the end.

    Not before: what answers for an empty slot makes others slower to read. A class with a `__getattr__` finds
    each of its instances' slots in many times the time; properties of machine code, only the array.
    """
    if lasting and not _lasting:
        _lasting.append(True)
    if "__getattr__" in Tensor.__dict__ or Tensor.__dict__["_array"] is not ARRAY:
        return
    found = None if lasting else _properties()
    if found is None:
        setattr(Tensor, "__getattr__", own(_unfilled))
    else:
        for name, asking in zip(_NAMES_OF_ARRAY, found, strict=True):
            setattr(Tensor, name, asking)


@cache
def _properties() -> list[Any] | None:
    """What stands for the slot meanwhile under each of its names; None where Python has to."""
    from rushlight._engine.tensors import slots  # few programs need it

    if not slots.usable([(wrap(np.zeros(1)), Tensor, ("_array",))]):
        return None
    answer = own(_unfilled)
    return [slots.asking(Tensor, ARRAY, name, answer) for name in _NAMES_OF_ARRAY]


def expect_filled() -> None:
    """Whoever expected tensors whose `_array` is empty for a while has filled them all."""
    if _lasting:
        return
    if "__getattr__" in Tensor.__dict__:
        delattr(Tensor, "__getattr__")
    if Tensor.__dict__["_array"] is not ARRAY:
        for name in _NAMES_OF_ARRAY:
            setattr(Tensor, name, ARRAY)


def wrap(array: Any, of: Kind | None = None) -> Tensor:
    """A fresh tensor around `array` (no copy), which nothing else must own."""
    if array.__class__ is not np.ndarray:
        array = asarray(array)
        if of is None and is_away(array):
            known = array.device.kinds
            of = known.get(array.dtype)
            if of is None:
                of = known[array.dtype] = kind(from_numpy_dtype(array.dtype), array.device.where)
    t: Tensor = _new(Tensor)
    t._array = array
    t._kind = CPU_KINDS[array.dtype] if of is None else of.plain
    t._grad_node = None
    t._output_nr = 0
    t._storage = fresh() if INFERRING else None
    return t


def wrap_view(array: np.ndarray[Any, Any], base: Tensor, of: Kind | None = None) -> Tensor:
    """A tensor around a view of `base`'s array: it shares the storage and its version."""
    t: Tensor = _new(Tensor)
    t._array = array
    t._kind = (base._kind if of is None else of).plain
    t._grad_node = None
    t._output_nr = 0
    t._storage = storage(base)
    return t


def alias(t: Tensor, node: Any = None, number: int = 0, cls: type = Tensor) -> Tensor:
    """The same memory, read in the same way, at another place in the graph: result `number` of `node`."""
    other: Tensor = _new(cls)
    other._kind, other._grad_node, other._output_nr, other._storage = t._kind, node, number, storage(t)
    if t._kind.lazy:
        other._hidden = t._hidden
    elif not (TAPE and shared(t, other)):
        other._array = t._array
    return other


__all__ = ["ARRAY", "WRAPPED", "Tensor", "alias", "kind", "lookup", "storage", "wrap", "wrap_view"]
