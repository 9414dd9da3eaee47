"""x[...] and x[...] = v: short ways for the usual indices, a ParsedIndex for all others.

With an interpreter in the dispatcher, an index becomes the public rows select, slice, unsqueeze, index
and index_put, so that interpreters need to know nothing of brackets.
"""

from __future__ import annotations

import operator
import weakref
from functools import lru_cache
from types import EllipsisType, FunctionType, NoneType
from typing import Any

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.in_place import check_writable, refuse_shared, remember, track_view
from rushlight._engine.core.conversion import number
from rushlight._engine.core.layout import check_apart_from_itself
from rushlight._engine.core.recording import TAPE, constant, off_host, settle
from rushlight._engine.core.services import service
from rushlight._engine.dispatch import overrides
from rushlight._engine.dispatch.dispatcher import lookup
from rushlight._engine.dispatch.interpreters import (
    BELOW,
    CLASSES,
    LONE,
    MODES,
    PLAIN,
    STACK,
    interpret,
    listening,
)
from rushlight._engine.dispatch.methods import copy_, fill_
from rushlight._engine.dispatch.nodes import indexing_nodes
from rushlight._engine.dispatch.runners.in_place import through
from rushlight._engine.dispatch.tensor_rows import TENSOR_ROWS
from rushlight._engine.numerics import advanced_indexing
from rushlight._engine.numerics.advanced_indexing import view
from rushlight._engine.ops.indexing.reads import BASIC
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.foreign import foreign
from rushlight._engine.tensors.indexing import FULL, WHOLE, ParsedIndex, parse
from rushlight._engine.tensors.kind import kind
from rushlight._engine.tensors.lazy_views import mark
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.storages.storage import INFERENCE
from rushlight._engine.tensors.tensor import WRAPPED, Tensor, alias, storage, wrap

Basic = tuple[Any, ...]
Indices = tuple["Tensor | None", ...]
_NUMBERS = (int, float, complex, bool, np.integer)
_USUAL = {int, float, complex, bool, slice, tuple, list, EllipsisType, NoneType, np.ndarray, Tensor}
_PLACES = frozenset({int, slice, EllipsisType, NoneType})
_new, _reference, _seen = object.__new__, weakref.ref, advanced_indexing.view


def getitem(self: Tensor, index: Any) -> Any:
    """x[index]: a view for ints, slices, None and `...`; a copy for index tensors and masks."""
    if MODES or self.__class__ not in PLAIN:
        return _watched(_getitem, operator.getitem, self, index)
    key = _plain_key(index)
    if key is not None:
        try:
            return _view(self, self._memory[key], key, (), None)
        except (IndexError, OverflowError):
            pass  # named by the parser
    elif index is None:
        return _view(self, self._memory.reshape((1, *self._geometry.shape)), WHOLE, (0,), "unsqueeze")
    elif index.__class__ not in PLAIN and isinstance(index, Tensor):
        return _watched(_getitem, operator.getitem, self, index)
    else:
        items: Any = index
        ones = _places_of_none(self._geometry.ndim, items) if items.__class__ is tuple else ()
        key = _plain_key(tuple([item for item in items if item is not None])) if ones else None
        if key is not None:
            last = None if self._grad_node is None else _last_step(items)
            if last or self._grad_node is None:
                try:
                    return _view(self, _seen(self._memory, key, ones), key, ones, last)
                except (IndexError, OverflowError):
                    pass
            return _getitem(self, index)
        indices = _plain_indices(index)
        if indices is not None:
            return _read(self, indices)
        if (index.__class__ not in _USUAL and foreign(index)) or _asks(index):
            return _watched(_getitem, operator.getitem, self, index)
    return _getitem(self, index)


def _asks(index: Any) -> bool:
    """Whether the class of one of several indices may take the brackets over."""
    if index.__class__ is tuple:
        classes: Any = map(type, index)
    elif index.__class__ is list:
        classes = set(map(type, index))  # lists are long
    else:
        return False
    for cls in classes:
        if cls not in _USUAL and cls not in PLAIN and hasattr(cls, "__torch_function__"):
            return True
    return False


def _places_of_none(ndim: int, index: tuple[Any, ...]) -> tuple[int, ...]:
    """`_new_dims`; () for indices of other classes, which are not kept."""
    classes = tuple(map(type, index))
    return _new_dims(ndim, classes) if _PLACES.issuperset(classes) else ()


@lru_cache(maxsize=1024)
def _new_dims(ndim: int, classes: tuple[type, ...]) -> tuple[int, ...]:
    """Where `None`s among ints, slices and `...` put dims of size 1."""
    spare = ndim - sum(cls is int or cls is slice for cls in classes)
    ones, dim = list[int](), 0
    for cls in classes:
        if cls is NoneType:
            ones.append(dim)
        elif cls is EllipsisType:
            dim += spare
            continue
        dim += cls is not int
    return tuple(ones)


def _last_step(index: tuple[Any, ...]) -> str | None:
    """The name unsqueeze where dims are put in after all parts; None where the sizes have to tell."""
    for item in reversed(index):
        if item is None:
            return "unsqueeze"
        if item is not ... and (item.__class__ is int or item != FULL):
            return None
    return None


def _forward(step: Any) -> bool:
    """Whether NumPy and PyTorch read a slice of this step alike."""
    return step is None or (step.__class__ is int and step > 0)


def _plain_key(index: Any) -> Any:
    """The index as NumPy takes it, where both agree: ints, forward slices and one `...`."""
    cls = index.__class__
    if cls is int:
        return (index, ...)
    if cls is slice:
        return (index, ...) if _forward(index.step) else None
    if cls is not tuple:
        return None
    rest: Any = WHOLE
    for item in index:
        cls = item.__class__
        if cls is int or (cls is slice and (item.step is None or _forward(item.step))):
            continue
        if item is not ... or not rest:
            return None
        rest = ()
    return index + rest


def _plain_indices(index: Any) -> Indices | None:
    """An index tensor, or several with full slices before and between them."""
    if index.__class__ is Tensor:
        return (index,) if index._geometry.ndim else None
    if index.__class__ is not tuple:
        return None
    found: list[Tensor | None] = []
    for item in index:
        if item.__class__ is Tensor and item._geometry.ndim:
            found.append(item)
        elif item.__class__ is slice and item == FULL:
            found.append(None)
        else:
            return None
    return tuple(found) if found[-1] is not None else None


def _getitem(self: Tensor, index: Any) -> Any:
    plan = parse(index, self._geometry.shape)
    if MODES and _interpreted():
        if listening() and not plan.advanced:
            return interpret(None, _basic, (self, plan.basic, plan.ones, plan.last), {})
        return _by_rows(self, plan)
    found = self
    if plan.basic != WHOLE or plan.ones or not plan.advanced:
        found = _view(self, view(self._memory, plan.basic, plan.ones), plan.basic, plan.ones, plan.last)
    return _read(found, _tensors(plan)) if plan.advanced else found


def _watched(run: Any, public: Any, *args: Any) -> Any:
    """Let subclasses with their own __torch_function__ take over; interpreters see rows."""
    index = args[1] if args[1].__class__ in (tuple, list) else args[1:2]
    among = (args[0], *index, *args[2:])
    asked = CLASSES.asked and [
        a
        for a in among
        if a.__class__ not in PLAIN and isinstance(a, Tensor) and a.__class__.__torch_function__ is not None
    ]
    asked = asked or (CLASSES.asked and [a for a in among[1:] if foreign(a)])
    if not asked:
        if MODES and STACK.modes and hasattr(STACK.modes[-1], "indexing"):
            return STACK.modes[-1].indexing(run, *args)
        watched = MODES and STACK.modes and getattr(STACK.modes[-1], "watches", False)
        return _noted(public, args) if watched else run(*args)
    cls = type(asked[0])
    hook = cls.__torch_function__
    if getattr(hook, "__func__", None) is overrides.default:
        if MODES and STACK.modes and hasattr(STACK.modes[-1], "indexing"):
            return STACK.modes[-1].indexing(run, *args)
        return overrides.as_class(overrides.disabled(run, (), args), cls)
    return hook(getattr(Tensor, f"__{public.__name__}__"), tuple(type(a) for a in asked), args, {})


def _interpreted() -> bool:
    """Whether an interpreter is to see rows; one that only watches (a profiler) changes no path."""
    return any(not getattr(mode, "watches", False) for mode in STACK.modes)


def _noted(public: Any, args: Any) -> Any:
    """The brackets as one op, named by its row, for an interpreter that only watches."""
    index = args[1] if isinstance(args[1], tuple) else (args[1],)
    gathers = any(isinstance(i, (Tensor, list, np.ndarray)) for i in index)
    read = "select" if int in map(type, index[:1]) else "slice"
    names = (read, "index") if public is operator.getitem else ("_overwritten", "index_put")
    row, run = ROWS[names[gathers]], _PLAIN[public]
    if TAPE or STACK.modes != LONE:
        return interpret(row, run, args, {})
    return LONE[0].timed(overrides.place(row, run), run, args, {})


def _by_rows(self: Tensor, plan: ParsedIndex) -> Any:
    """The ParsedIndex in public rows."""
    found, dim = self, 0
    for item in plan.basic[:-1]:
        if item.__class__ is int:
            found = ROWS["select"](found, dim, item)
            continue
        if item is not FULL:
            found = ROWS["slice"](found, dim, item.start, item.stop, item.step)
        dim += 1
    for dim in plan.ones:
        found = ROWS["unsqueeze"](found, dim)
    return ROWS["index"](found, _tensors(plan)) if plan.advanced else found


# --- views ----------------------------------------------------------------------------------------


def _view(self: Tensor, array: Any, basic: Basic, ones: tuple[int, ...], last: str | None) -> Tensor:
    # As wrap_view and track_view, written out: brackets are the views that are taken most often.
    s, of, how = self._storage, self._kind, (basic, ones)
    if s is None or s is INFERENCE:
        s = storage(self)
    out: Tensor = _new(Tensor)
    out._array = array
    out._kind = of.plain
    out._grad_node = None
    out._output_nr = 0
    out._storage = s
    if self._grad_node is None and not of.lazy:
        out._view_of = (self, _again, how, (of, _again, how, _seen, how))
        known = s.views
        if known is None or len(known) >= s.prune_at:
            remember(out, s)
        else:
            known.append(_reference(out))
        return out
    if of.lazy:
        mark(out, of.conj, of.neg)
    track_view(out, self, _again, how, None if of.lazy else (of, _again, how, _seen, how))
    if self._grad_node is not None and LOCAL.enabled:
        last = last or parse(basic, self._geometry.shape).last
        indexing_nodes.record_view(self, out, basic, ones, last)
    return out


def _basic(self: Tensor, basic: Basic, ones: tuple[int, ...], last: str | None) -> Tensor:
    """x[ints and slices], for an interpreter that hears of it as one op."""
    return _view(self, view(self._memory, basic, ones), basic, ones, last)


def _again(self: Tensor, basic: Basic, ones: tuple[int, ...]) -> Tensor:
    """The view taken anew, of a base that was written to."""
    if self.__class__ in WRAPPED:
        found: Tensor = BASIC(self, basic, ones)
        return found
    if MODES and listening():
        return interpret(None, _basic, (self, basic, ones, None), {})
    return _view(self, view(self._memory, basic, ones), basic, ones, None)


setattr(_again, "heard", BASIC)


def as_subclass(self: Tensor, cls: type) -> Tensor:
    """x[...], as an instance of a subclass: writes through it reach x and x's graph."""
    seen = _view(self, self._memory, WHOLE, (), "alias")
    made = alias(seen, seen._grad_node, seen._output_nr, cls)
    track_view(made, *seen._view_of)
    return made


# --- index tensors --------------------------------------------------------------------------------


def _tensors(plan: ParsedIndex) -> Indices:
    return tuple([_constant(i) if isinstance(i, np.ndarray) else i for i in plan.advanced])


def _constant(places: Any) -> Tensor:
    constant(places)
    return wrap(places)


def _arrays(indices: Indices) -> list[Any]:
    return [None if i is None else i._array for i in indices]


def _backend(self: Tensor, indices: Indices) -> Any:
    """The device that an index is read or written on: indices may lie on the CPU, or where the tensor
    does.
    """
    off_host("an index on a CUDA device")
    backend = self._kind.backend
    for i in indices:
        if i is not None and i._kind.backend is not None and i._kind.backend is not backend:
            raise RuntimeError(
                "indices should be either on cpu or on the same device as the indexed tensor "
                f"({self._kind.device})"
            )
    return backend


def _read(self: Tensor, indices: Indices) -> Tensor:
    if self._kind.on_meta:
        shape = advanced_indexing.understand(self._geometry.shape, _arrays(indices)).result
        out = wrap(meta_array(shape, self._kind.np), self._kind)
    elif self._kind.backend is not None or any(
        i is not None and i._kind.backend is not None for i in indices
    ):
        out = wrap(_backend(self, indices).run_read(self._array, _arrays(indices)), self._kind)
    else:
        out = wrap(advanced_indexing.read(self._array, _arrays(indices)), self._kind)
        if TAPE:
            TAPE[-1].run(advanced_indexing.read, (self._array, _arrays(indices)), out, (self, *indices))
    if self._grad_node is not None and LOCAL.enabled:
        indexing_nodes.record_index(self, out, indices)
    return out


# --- writing --------------------------------------------------------------------------------------


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """x[index] = value: a number, or a tensor that broadcasts to what the index reads."""
    usual = index.__class__ in _USUAL and value.__class__ in _USUAL
    if MODES or self.__class__ not in PLAIN or (not usual and (foreign(index) or foreign(value))):
        _watched(_setitem, operator.setitem, self, index, value)
        return
    if isinstance(value, Tensor):
        if value.__class__ not in PLAIN:
            _watched(_setitem, operator.setitem, self, index, value)
            return
        untracked = value._grad_node is None
    else:
        untracked = isinstance(value, _NUMBERS)
    if untracked and self._grad_node is None and _write_plain(self, index, value):
        return
    if _asks(index) or (isinstance(index, Tensor) and index.__class__ not in PLAIN):
        _watched(_setitem, operator.setitem, self, index, value)
        return
    _setitem(self, index, value)


def _refuse_value(self: Tensor, value: Any) -> None:
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    raise TypeError(
        f"can't assign a {name} to a torch.{self._kind.dtype.legacy}Tensor; "
        "make it a tensor first, with torch.as_tensor"
    )


def _write_plain(self: Tensor, index: Any, value: Any) -> bool:
    """The short way: no gradients, plain memory, a value that NumPy takes as it is; else False."""
    a, shared = self._memory, self._storage
    if 0 in a.strides or self._kind.special or (shared is not None and shared.inference):
        return False
    source: Any
    if isinstance(value, Tensor):
        if value._kind is not self._kind:
            return False
        source = value._array
    elif value.__class__ is float and a.dtype.kind == "f" and -65000.0 < value < 65000.0:
        source = value
    else:
        source = number(value, self._kind.dtype)
    key = _plain_key(index)
    within = shared is not None and isinstance(value, Tensor) and value._storage is shared
    try:
        if within and (key is None or np.may_share_memory(a[key], source)):
            return False
        if key is not None:
            a[key] = source
        elif index.__class__ is Tensor and index._geometry.ndim and index is not self:
            advanced_indexing.write(a, (index._array,), np.asarray(source, a.dtype))
        else:
            return False
    except (IndexError, ValueError, RuntimeError, OverflowError):
        return False  # said again, in PyTorch's words, by the long way
    (storage(self) if shared is None else shared).version += 1
    return True


def _setitem(self: Tensor, index: Any, value: Any) -> None:
    if not isinstance(value, (Tensor, *_NUMBERS)):
        _refuse_value(self, value)
    if value.__class__ in BELOW and CLASSES.below:
        service("method told to a class with a __torch_dispatch__")(
            "__setitem__", _setitem, self, index, value
        )
        return
    value = value.clone() if isinstance(value, Tensor) and value._kind.lazy else value
    plan = parse(index, self._geometry.shape)
    target = _by_rows(self, plan._replace(advanced=())) if MODES and _interpreted() else self
    if target is self and (plan.basic != WHOLE or plan.ones):
        target = _view(self, view(self._memory, plan.basic, plan.ones), plan.basic, plan.ones, plan.last)
    if plan.advanced:
        _put(target, _tensors(plan), value)
    elif isinstance(value, Tensor):
        copy_(target, _expand(value, target._geometry.shape))
    else:
        check_apart_from_itself(target._geometry)
        fill_(target, value)


def _expand(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`value` broadcast to the shape of what is written; leading dims of size 1 are dropped."""
    value = _without_leading_ones(value, len(shape))
    if value._geometry.shape == shape:
        return value
    if value._geometry.ndim > len(shape):
        raise RuntimeError(
            f"expand(torch.{value._kind.dtype.legacy}Tensor{{{list(value._geometry.shape)}}}, "
            f"size={list(shape)}): the number of sizes provided ({len(shape)}) must be greater or equal to "
            f"the number of dimensions in the tensor ({value._geometry.ndim})"
        )
    return TENSOR_ROWS["expand"](value, shape)


def _without_leading_ones(value: Tensor, ndim: int) -> Tensor:
    sizes = value._geometry.shape
    extra = 0
    while len(sizes) - extra > ndim and sizes[extra] == 1:
        extra += 1
    return ROWS["_view"](value, sizes[extra:]) if extra else value


def _put(target: Tensor, indices: Indices, value: Any) -> None:
    if target._kind.lazy:
        through(lambda own: _put(own, indices, value), target, value)
        return
    if not (_only_mask(indices) and (not isinstance(value, Tensor) or value._geometry.size == 1)):
        refuse_shared(target, (value, indices), wholly=True)
    if not isinstance(value, Tensor):
        value = wrap(
            constant(number(value, target._kind.dtype)),
            kind(target._kind.dtype) if (target._kind.backend is not None) else target._kind,
        )
    elif value._geometry.size == 1 and value._kind is not target._kind and _only_mask(indices):
        value = value.reshape(()).to(target._kind.dtype)
    if not (MODES and _interpreted()):
        if value._geometry.ndim > 1:
            ndim = len(advanced_indexing.understand(target._geometry.shape, _arrays(indices)).result)
            value = _without_leading_ones(value, ndim)
        if not (LOCAL.enabled and (target._grad_node is not None or value._grad_node is not None)):
            _put_plain(target, _arrays(indices), value)
            return
    elif value.dim() > 1:
        value = _as_deep(value, target, [i for i in indices if i is not None])
    index_put: Any = lookup("Tensor", "index_put_")
    index_put(target, indices, value)


def _as_deep(value: Tensor, target: Tensor, indices: list[Tensor]) -> Tensor:
    """`value` without the leading dims of size 1 that target[indices] does not have."""
    masks = [i._kind.dtype.name in ("bool", "uint8") for i in indices]
    ndim = target.dim() - sum(i.dim() if mask else 1 for i, mask in zip(indices, masks, strict=True))
    ndim += max(1 if mask else i.dim() for i, mask in zip(indices, masks, strict=True))
    sizes = list(value.shape)
    while len(sizes) > ndim and sizes[0] == 1:
        del sizes[0]
    return value.reshape(sizes) if len(sizes) < value.dim() else value


def _placed_on(target: Tensor, value: Tensor) -> None:
    """Values lie where the tensor does, or are a single one of the CPU."""
    if value._kind.backend is not target._kind.backend and (
        value._geometry.ndim or value._kind.backend is not None
    ):
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but got values is on {value._kind.device}, "
            f"different from other tensors on {target._kind.device} (when checking argument in method "
            "wrapper_CUDA__index_put_impl_)"
        )


def _only_mask(indices: Indices) -> bool:
    given = [i for i in indices if i is not None]
    return len(given) == 1 and given[0]._geometry.dtype.kind == "b"


def _put_plain(target: Tensor, indices: list[Any], value: Tensor) -> None:
    """index_put_ where nothing is recorded: written where it stands."""
    if target._kind.dtype is not value._kind.dtype or target._kind.on_meta is not value._kind.on_meta:
        advanced_indexing.fitting(target._geometry.shape, indices, value._geometry.shape)
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {target._kind.dtype.legacy} "
            f"for the destination and {value._kind.dtype.legacy} for the source."
        )
    if 0 not in target._geometry.strides:
        check_writable(target, False)
    settle()
    if target._kind.backend is not None:
        _placed_on(target, value)
        off_host("an index on a CUDA device")
        target._kind.backend.write(advanced_indexing.write, (target._array, indices, value._array))
    elif not target._kind.on_meta:
        advanced_indexing.write(target._array, indices, value._array)
        if TAPE:
            TAPE[-1].write(advanced_indexing.write, (target._array, indices, value._array), (target, value))
    storage(target).version += 1


# Both as if nobody stood in the dispatcher.
_PLAIN = {
    public: FunctionType(run.__code__, {**globals(), "MODES": ()})
    for public, run in ((operator.getitem, getitem), (operator.setitem, setitem))
}
setattr(_PLAIN[operator.setitem], "writes", True)


getitem.__name__ = getitem.__qualname__ = "__getitem__"
setitem.__name__ = setitem.__qualname__ = "__setitem__"
