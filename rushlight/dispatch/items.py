"""x[...] and x[...] = v: short ways for the usual indices, a Plan for all others.

With an interpreter in the door, an index becomes the public rows select, slice, unsqueeze, index
and index_put, so that interpreters need to know nothing of brackets.
"""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from rushlight.autograd.inplace import check_writable, track_view
from rushlight.autograd.mode import LOCAL
from rushlight.base import advanced
from rushlight.base.advanced import view
from rushlight.dispatch import overrides
from rushlight.dispatch.formula import scalar
from rushlight.dispatch.methods import copy_, fill_
from rushlight.dispatch.rules import Rules
from rushlight.dispatch.state import MODES, PLAIN, STACK
from rushlight.ops.index import BASIC
from rushlight.ops.table import ROWS
from rushlight.tensor.indexing import FULL, WHOLE, Plan, parse
from rushlight.tensor.meta import meta_array
from rushlight.tensor.tensor import Tensor, storage, wrap, wrap_view

_NUMBERS = (int, float, complex, bool)
# PyTorch names the view after its last step.
_RULES = {name: Rules(BASIC, BASIC.vjp, name) for name in ("select", "slice", "unsqueeze", "alias")}


def getitem(self: Tensor, index: Any) -> Any:
    """x[index]: a view for ints, slices, None and `...`; a copy for index tensors and masks."""
    if MODES or self.__class__ not in PLAIN:
        return _watched(_getitem, operator.getitem, self, index)
    key = _plain_key(index)
    if key is not None:
        try:
            return _view(self, self._a[key], key, (), None)
        except IndexError:
            pass                          # named by the parser
    elif index.__class__ is Tensor and index._a.ndim:
        return _read(self, (index,))
    return _getitem(self, index)


def _plain_key(index: Any) -> Any:
    """The index as NumPy takes it, where both agree: ints, positive slices and one `...`."""
    cls = index.__class__
    if cls is int:
        return (index, ...)
    if cls is slice:
        return (index, ...) if index.step is None else None
    if cls is not tuple:
        return None
    rest: Any = WHOLE
    for item in index:
        cls = item.__class__
        if cls is int or cls is slice and item.step is None:
            continue
        if item is not ... or not rest:
            return None
        rest = ()
    return index + rest


def _getitem(self: Tensor, index: Any) -> Any:
    plan = parse(index, self._a.shape)
    if MODES and STACK.modes:
        return _by_rows(self, plan)
    found = self
    if plan.basic != WHOLE or plan.ones or not plan.advanced:
        found = _view(self, view(self._a, plan.basic, plan.ones), plan.basic, plan.ones, plan.last)
    return _read(found, _tensors(plan)) if plan.advanced else found


def _watched(run: Any, public: Any, *args: Any) -> Any:
    """Let subclasses with their own __torch_function__ take over; interpreters see rows."""
    foreign = [a for a in args if a.__class__ not in PLAIN and isinstance(a, Tensor)]
    foreign += [a for a in args[1:2] if not isinstance(a, Tensor) and hasattr(
        a.__class__, "__torch_function__")]
    if not foreign:
        return run(*args)
    cls = type(foreign[0])
    hook = cls.__torch_function__  # type: ignore[attr-defined]
    if getattr(hook, "__func__", None) is overrides.default.__func__:  # type: ignore[attr-defined]
        return overrides.as_class(run(*args), cls)
    name = f"__{public.__name__}__"
    return hook(getattr(Tensor, name), tuple(type(f) for f in foreign), args, {})


def _by_rows(self: Tensor, plan: Plan) -> Any:
    """The Plan in public rows."""
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


def _view(self: Tensor, array: Any, basic: tuple[Any, ...], ones: tuple[int, ...],
          last: str | None) -> Tensor:
    out = wrap_view(array, self)
    track_view(out, self, _again, (basic, ones))
    if self._g is not None and LOCAL.enabled:
        last = last or parse(basic, self._a.shape).last
        _RULES[last].record({"input": self, "basic": basic, "ones": ones}, out)
    return out


def _again(self: Tensor, basic: tuple[Any, ...], ones: tuple[int, ...]) -> Tensor:
    """The view taken anew, of a base that was written to."""
    return _view(self, view(self._a, basic, ones), basic, ones, None)


# --- index tensors --------------------------------------------------------------------------------


def _tensors(plan: Plan) -> tuple[Tensor | None, ...]:
    return tuple([wrap(i) if isinstance(i, np.ndarray) else i for i in plan.advanced])


def _arrays(indices: tuple[Tensor | None, ...]) -> list[Any]:
    return [None if i is None else i._a for i in indices]


def _read(self: Tensor, indices: tuple[Tensor | None, ...]) -> Tensor:
    if self._k.on_meta:
        shape = advanced.understand(self._a.shape, _arrays(indices)).result
        out = wrap(meta_array(shape, self._k.np), self._k)
    else:
        out = wrap(advanced.read(self._a, _arrays(indices)), self._k)
    if self._g is not None and LOCAL.enabled:
        _index_rules().record({"input": self, "indices": indices}, out)
    return out


def _index_rules() -> Rules:
    found = _RULES.get("index")
    if found is None:
        row = ROWS["index"]
        found = _RULES["index"] = Rules(row, row.vjp)
    return found


# --- writing --------------------------------------------------------------------------------------


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """x[index] = value: a number, or a tensor that broadcasts to what the index reads."""
    if MODES or self.__class__ not in PLAIN:
        _watched(_setitem, operator.setitem, self, index, value)
        return
    if value.__class__ not in _NUMBERS and not isinstance(value, Tensor):
        _check_value(self, value)
    if self._g is None and not (isinstance(value, Tensor) and value._g is not None):
        key = _plain_key(index)
        if key is not None and _write_plain(self, key, value):
            return
    _setitem(self, index, value)


def _check_value(self: Tensor, value: Any) -> None:
    if not isinstance(value, _NUMBERS):
        raise TypeError(f"can't assign a {_type_name(value)} to a torch.{self._k.dtype.legacy}Tensor; "
                        "make it a tensor first, with torch.as_tensor")


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _write_plain(self: Tensor, key: Any, value: Any) -> bool:
    """The short way: no gradients, no index tensors, a value of the right shape; else False."""
    try:
        target = self._a[key]
    except IndexError:
        return False
    if isinstance(value, Tensor):
        source = value._a
        if source.dtype.kind == "c" or source.ndim > target.ndim or self._k.on_meta:
            return False
        if source.shape != target.shape and not advanced.broadcasts(source.shape, target.shape):
            return False
    elif value.__class__ is complex or self._k.on_meta:
        return False
    else:
        source = scalar(value, self._k.np)
    shared = self._s if self._s is not None else storage(self)
    if 0 in self._a.strides or shared.inference:
        return False
    with np.errstate(all="ignore"):
        target[...] = source
    shared.version += 1
    return True


def _setitem(self: Tensor, index: Any, value: Any) -> None:
    _check_value(self, value) if not isinstance(value, Tensor) else None
    plan = parse(index, self._a.shape)
    target = _by_rows(self, plan._replace(advanced=())) if MODES and STACK.modes else self
    if target is self and (plan.basic != WHOLE or plan.ones):
        target = _view(self, view(self._a, plan.basic, plan.ones), plan.basic, plan.ones, plan.last)
    if plan.advanced:
        _put(target, _tensors(plan), value)
    elif isinstance(value, Tensor):
        copy_(target, _expand(value, target._a.shape))
    else:
        fill_(target, value)


def _expand(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`value` broadcast to the shape of what is written; leading dims of size 1 are dropped."""
    value = _without_leading_ones(value, len(shape))
    if value._a.shape == shape:
        return value
    if value._a.ndim > len(shape):
        raise RuntimeError(f"expand(torch.{value._k.dtype.legacy}Tensor{{{list(value._a.shape)}}}, "
                           f"size={list(shape)}): the number of sizes provided ({len(shape)}) must be "
                           "greater or equal to the number of dimensions in the tensor "
                           f"({value._a.ndim})")
    return ROWS["expand"](value, shape)


def _without_leading_ones(value: Tensor, ndim: int) -> Tensor:
    sizes = value._a.shape
    extra = 0
    while len(sizes) - extra > 0 and sizes[extra] == 1 and len(sizes) - extra > ndim:
        extra += 1
    return ROWS["_view"](value, sizes[extra:]) if extra else value


def _put(target: Tensor, indices: tuple[Tensor | None, ...], value: Any) -> None:
    mask = _only_mask(indices)
    if not isinstance(value, Tensor):
        value = wrap(np.array(_number(target, value), target._k.np), target._k)
    elif mask and value._a.size == 1 and value._k is not target._k:
        value = value.reshape(()).to(target._k.dtype)
    if not (MODES and STACK.modes):
        shape = advanced.understand(target._a.shape, _arrays(indices)).result if (
            value._a.ndim > 1) else ()
        value = _without_leading_ones(value, len(shape)) if shape else value
        if not (LOCAL.enabled and (target._g is not None or value._g is not None)):
            put(target, _arrays(indices), value)
            return
    from rushlight.dispatch.door import lookup

    lookup("Tensor", "index_put_")(target, indices, value)


def _only_mask(indices: tuple[Tensor | None, ...]) -> bool:
    given = [i for i in indices if i is not None]
    return len(given) == 1 and given[0]._a.dtype.kind == "b"


def _number(target: Tensor, value: Any) -> Any:
    if isinstance(value, complex) and not target._k.dtype.is_complex:
        raise RuntimeError(f"value cannot be converted to type {target._k.dtype.name} without "
                           f"overflow: {value}")
    return scalar(value, target._k.np)


def put(target: Tensor, indices: list[Any], value: Tensor, accumulate: bool = False) -> None:
    """index_put_ where nothing is recorded: written where it stands."""
    if target._k is not value._k:
        raise RuntimeError("Index put requires the source and destination dtypes match, got "
                           f"{target._k.dtype.legacy} for the destination and "
                           f"{value._k.dtype.legacy} for the source.")
    if not 0 in target._a.strides:
        check_writable(target, False)
    advanced.write(target._a, indices, value._a, accumulate)
    storage(target).version += 1
