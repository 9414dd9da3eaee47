"""The tensor: a strided view of a storage, with a dtype, a device and a place in autograd's graph.

Invariants: `_a` is the NumPy view that holds the data; `_k` its interned Kind; `_g` the autograd
node that made it (the AccumulateGrad node of a leaf that requires grad, None where no gradient is
tracked) and `_i` which of the node's results it is; `_s` its Storage, shared by all views, made
when first needed. Views of tracked tensors also have `_b`, their View. Lazy views have no `_a`
(lazy_views.py): what looks at memory and not at values reads `_m`. Methods that are ops come
from the table: the first look-up of a name binds it to the class.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from rushlight._engine.core.accelerator import asarray, is_away
from rushlight._engine.core.dtype import FLOATING, from_numpy_dtype
from rushlight._engine.core.recording import TAPE
from rushlight._engine.core.tracebacks import own
from rushlight._engine.lazy import is_ours, package
from rushlight._engine.names import completion
from rushlight._engine.tensors.conversion import Conversion
from rushlight._engine.tensors.geometry import Geometry
from rushlight._engine.tensors.gradient import Gradient
from rushlight._engine.tensors.kind import CPU_KINDS, Kind, kind
from rushlight._engine.tensors.lazy_views import hidden_memory, shared, values
from rushlight._engine.tensors.operators import Operators
from rushlight._engine.tensors.storages.storage import INFERRING, Storage, fresh, storage


@cache
def _dispatcher() -> Any:
    # Not imported above: it stands on tensors.
    return import_module("rushlight._engine.dispatch.dispatcher")


def lookup(namespace: str, name: str) -> Callable[..., Any] | None:
    """The callable generated from a row, or None where the table has no such name."""
    return _dispatcher().lookup(namespace, name)


# Classes with a __torch_dispatch__ of their own.
BELOW: set[type] = set()


class TensorMeta(type):
    """Finds Tensor.NAME in the op table when it is first asked for."""

    def __init__(cls, name: str, bases: tuple[type, ...], own: dict[str, Any], **options: Any) -> None:
        super().__init__(name, bases, own, **options)
        if "__torch_dispatch__" in own or any(base in BELOW for base in cls.__mro__):
            import_module("rushlight._torch_dispatch.methods").adopt(cls)
        if "__torch_function__" in own and not is_ours(cls):
            import_module("rushlight._engine.dispatch.method_overrides").adopt(cls)

    def __getattr__(cls, name: str) -> Any:
        if name in cls._operators:
            found = lookup("Tensor", name)
            if found is not None:
                setattr(Tensor, name, found)
                return found
        raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")

    def __dir__(cls) -> list[str]:
        return sorted({*type.__dir__(cls), *completion.names("Tensor")})


class Tensor(Operators, Geometry, Conversion, Gradient, metaclass=TensorMeta):
    """A multi-dimensional array; make one with torch.tensor, torch.zeros, torch.from_numpy, ..."""

    __module__ = package()
    # _a       the array that holds the data: strides, shape, memory; also read as `_m` and `_l` (below)
    # _k       the Kind: dtype and device
    # _g, _i   the autograd node that made it, and which of the node's results it is
    # _s       the Storage that all views of the memory share; None until somebody needs it
    # _b       of a view of a tracked tensor: its base, and how it was taken
    # _grad    the gradient of a leaf
    # _hidden  what is known of a tensor whose `_a` is empty: a lazy view's memory, or a Pending
    __slots__ = ("_a", "_k", "_g", "_i", "_s", "_b", "_grad", "_hidden", "__dict__", "__weakref__")
    __array_priority__ = 1000
    _a: np.ndarray[Any, Any]
    _m: np.ndarray[Any, Any]
    _l: np.ndarray[Any, Any]
    _k: Kind
    _s: Storage | None

    def __new__(cls, *args: Any, **kwargs: Any) -> Tensor:
        from rushlight._engine.tensors.construction.legacy import legacy_new  # it imports this file

        return legacy_new(cls, args, kwargs)

    def __dir__(self) -> list[str]:
        fields = {name for name in Tensor.__slots__ if name[:2] != "__"}
        return sorted({*super().__dir__(), *completion.names("Tensor")} - fields)

    def __hash__(self) -> int:
        return id(self)

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)

    def _state(self, state: Tensor) -> Tensor:
        """What an optimizer keeps of this parameter: a tensor of its memory's shape, perhaps of its class."""
        return state

    def as_subclass(self, cls: type) -> Any:
        """A view of the whole tensor that is an instance of `cls`, a subclass of Tensor."""
        return lookup("operator", "as_subclass")(self, cls)

    @staticmethod
    def _make_subclass(cls: type, data: Any, require_grad: bool = False) -> Any:
        """The same data outside the graph, as an instance of `cls`."""
        made = alias(data, cls=cls)
        if require_grad and made.dtype.category < FLOATING:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return made.requires_grad_() if require_grad else made

    @staticmethod
    def _make_wrapper_subclass(cls: type, size: Any, **options: Any) -> Any:
        """An instance of `cls`, which has a `__torch_dispatch__`, of this size, and without memory."""
        return import_module("rushlight._torch_dispatch.classes").make_wrapper_subclass(cls, size, **options)


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


for _name in (*completion.names("Tensor"), "_follow_"):
    setattr(Tensor, _name, _Unbound(_name))

# The same slot by other names: as fast to read, but where it is empty __getattr__ knows which was asked for.
# `_a` is asked for values, `_m` for the memory as it lies, `_l` for sizes and strides alone.
ARRAY = Tensor.__dict__["_a"]
Tensor._m = Tensor._l = ARRAY

_new = object.__new__


def _unfilled(self: Any, name: str) -> Any:
    """Attributes that a tensor has not, its array among them."""
    if name == "_a":
        return values(self)
    if name == "_m" or name == "_l":
        return hidden_memory(self, name)
    raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


# Whether there may be tensors with an empty slot for as long as the process lives.
_lasting: list[bool] = []
_ASKING = ("_a", "_m", "_l")


def expect_unfilled(lasting: bool = True) -> None:
    """From now on there are tensors whose `_a` is empty (lazy_views.py); lasting: until the end.

    Not before: what answers for an empty slot makes others slower to read. A class with a `__getattr__` finds
    each of its instances' slots in many times the time; properties of machine code, only the array.
    """
    if lasting and not _lasting:
        _lasting.append(True)
    if "__getattr__" in Tensor.__dict__ or Tensor.__dict__["_a"] is not ARRAY:
        return
    found = None if lasting else _properties()
    if found is None:
        setattr(Tensor, "__getattr__", own(_unfilled))
    else:
        for name, asking in zip(_ASKING, found, strict=True):
            setattr(Tensor, name, asking)


@cache
def _properties() -> list[Any] | None:
    """What stands for the slot meanwhile under each of its names; None where Python has to."""
    from rushlight._engine.tensors import slots  # few programs need it

    if not slots.usable([(wrap(np.zeros(1)), Tensor, ("_a",))]):
        return None
    answer = own(_unfilled)
    return [slots.asking(Tensor, ARRAY, name, answer) for name in _ASKING]


def expect_filled() -> None:
    """Whoever expected tensors whose `_a` is empty for a while has filled them all."""
    if _lasting:
        return
    if "__getattr__" in Tensor.__dict__:
        delattr(Tensor, "__getattr__")
    if Tensor.__dict__["_a"] is not ARRAY:
        for name in _ASKING:
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
    t._a = array
    t._k = CPU_KINDS[array.dtype] if of is None else of.plain
    t._g = None
    t._i = 0
    t._s = fresh() if INFERRING else None
    return t


def wrap_view(array: np.ndarray[Any, Any], base: Tensor, of: Kind | None = None) -> Tensor:
    """A tensor around a view of `base`'s array: it shares the storage and its version."""
    t: Tensor = _new(Tensor)
    t._a = array
    t._k = (base._k if of is None else of).plain
    t._g = None
    t._i = 0
    t._s = storage(base)
    return t


def alias(t: Tensor, node: Any = None, number: int = 0, cls: type = Tensor) -> Tensor:
    """The same memory, read in the same way, at another place in the graph: result `number` of `node`."""
    other: Tensor = _new(cls)
    other._k, other._g, other._i, other._s = t._k, node, number, storage(t)
    if t._k.lazy:
        other._hidden = t._hidden
    elif not (TAPE and shared(t, other)):
        other._a = t._a
    return other


__all__ = ["ARRAY", "WRAPPED", "Tensor", "alias", "kind", "lookup", "storage", "wrap", "wrap_view"]
