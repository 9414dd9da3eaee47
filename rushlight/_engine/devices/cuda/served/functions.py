"""NumPy's functions that the engine calls on arrays of a device, by pointwise kernels and copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, overload

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from rushlight._engine.core import dtype as dt
from rushlight._engine.devices.cuda.array import DeviceArray, basic
from rushlight._engine.devices.cuda.device import Device, NotServed
from rushlight._engine.devices.cuda.kernels import launches
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.ops.atoms import ATOMS
from rushlight._engine.ops.expressions import Expr, m, symbol

_NAMES = ("a", "b", "c")


@cache
def _atoms() -> dict[Any, str]:
    """The atoms by their functions of NumPy."""
    found: dict[Any, str] = {a.numpy: name for name, a in ATOMS.items() if isinstance(a.numpy, np.ufunc)}
    whole = {
        getattr(np, name): name
        for name in "floor_divide remainder fmod floor ceil trunc reciprocal log1p".split()
    }
    return {**found, **whole, np.power: "pow", np.sign: "sgn"}


def _name(of: Any) -> str:
    return dt.from_numpy_dtype(np.dtype(of)).name


@cache
def _meaning(atom: str, inputs: tuple[str, ...], work: str, result: str) -> Meaning:
    """An atom on operands that are converted to `work` before."""
    operands: list[Expr] = [
        symbol(n) if d == work else m.cast(symbol(n), arg=work) for n, d in zip(_NAMES, inputs, strict=False)
    ]
    root = getattr(m, atom)(*operands)
    return Meaning((root,), tuple(zip(_NAMES, inputs, strict=False)), (result,), work)


def ufunc(backend: Device, function: np.ufunc, args: Sequence[Any], named: dict[str, Any]) -> DeviceArray:
    """A ufunc of the device's arrays and the host's numbers."""
    atom = _atoms().get(function)
    out, of = named.get("out"), named.get("dtype")
    if atom is None or named.keys() - {"out", "dtype", "casting"} or len(args) > len(_NAMES):
        raise NotServed(f"NumPy's {function.__name__}")
    if any(a.__class__ is not DeviceArray and np.ndim(a) for a in args):
        raise NotServed(f"NumPy's {function.__name__} of an array of the host's")
    # What NumPy would compute in, and give.
    samples = [np.ones((1,) * a.ndim, a.dtype) if hasattr(a, "dtype") else a for a in args]
    with np.errstate(all="ignore"):
        sample = np.asarray(function(*samples, dtype=of))
    work = sample.dtype if sample.dtype.kind != "b" else np.result_type(*samples)
    given = [a if a.__class__ is DeviceArray else np.asarray(a, work) for a in args]
    meaning = _meaning(atom, tuple([_name(a.dtype) for a in given]), _name(work), _name(sample.dtype))
    if out is None:
        return launches.pointwise(backend, meaning, given, None, sample.dtype, function.__name__)
    (target,) = out
    meaning = _meaning(atom, tuple([_name(a.dtype) for a in given]), _name(work), _name(target.dtype))
    return launches.pointwise(backend, meaning, given, target, target.dtype, function.__name__)


# --- conditions -----------------------------------------------------------------------------------


@cache
def choice(of: str) -> Meaning:
    """One of two values, by a condition."""
    names = (("c", "bool"), ("a", of), ("b", of))
    work = dt.opmath(dt.BY_NAME[of]).name
    return Meaning((m.where(symbol("c"), symbol("a"), symbol("b")),), names, (of,), work)


def where(backend: Device, condition: Any, a: Any, b: Any) -> Any:
    """np.where."""
    of = np.result_type(*[x.dtype if hasattr(x, "dtype") else x for x in (a, b)])
    given = [as_dtype(backend, x, of) for x in (a, b)]
    return launches.pointwise(backend, choice(_name(of)), (condition, *given), None, of, "where")


@overload
def as_dtype(backend: Device, a: DeviceArray, of: Any) -> DeviceArray: ...
@overload
def as_dtype(backend: Device, a: Any, of: Any) -> Any: ...
def as_dtype(backend: Device, a: Any, of: Any) -> Any:
    """An operand in a dtype."""
    if a.__class__ is not DeviceArray:
        return np.asarray(a).astype(of)
    return a if a.dtype == of else astype(backend, a, of)


def masked(backend: Device, target: DeviceArray, place: Any, value: Any) -> None:
    """target[mask] = value, a number."""
    if basic(place) or place.__class__ is not DeviceArray or place.dtype.kind != "b" or np.ndim(value):
        raise NotServed("an assignment by index")
    if value.__class__ is not DeviceArray:
        value = np.asarray(value).astype(target.dtype)
    mask = place.relaid(
        (*place.shape, *target.shape[place.ndim :]),
        (*place.strides, *[0] * (target.ndim - place.ndim)),
    )
    meaning = choice(_name(target.dtype))
    launches.into(backend, meaning, (mask, value, target), (target,), "masked fill")


def _reduced(how: str) -> Callable[..., Any]:
    """NumPy's sum, max, min, any or all."""

    def run(
        backend: Device,
        a: DeviceArray,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
    ) -> DeviceArray:
        # a circle, if that file is loaded first: it converts by this one
        from rushlight._engine.devices.cuda.served import reductions

        if out is not None or a.dtype.kind == "c" or (not a.size and how in ("max", "min")):
            raise NotServed(f"NumPy's {how} of these elements")
        with np.errstate(all="ignore"):
            of = np.asarray(
                _NUMPY[how](np.ones(1, a.dtype), dtype=dtype) if dtype else _NUMPY[how](np.ones(1, a.dtype))
            ).dtype
        axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
        shape = tuple([1 if i in axes else n for i, n in enumerate(a.shape) if keepdims or i not in axes])
        made: DeviceArray = backend.empty(shape, of, None, poison=False)
        given, work = _name(a.dtype), _name(a.dtype) if how in ("any", "all", "max", "min") else _name(of)
        root = symbol("input") if given == work else m.cast(symbol("input"), arg=work)
        mapped = Meaning((root,), (("input", given),), (_name(of),), dt.opmath(dt.BY_NAME[work]).name)
        reductions.into(backend, how, mapped, None, a, axes, made, how)
        return made

    return run


_NUMPY: dict[str, Any] = {"add": np.sum, "max": np.max, "min": np.min, "any": np.any, "all": np.all}
_NUMPY["mul"] = np.prod


def _count_nonzero(backend: Device, a: DeviceArray, axis: Any = None, keepdims: bool = False) -> DeviceArray:
    """np.count_nonzero."""
    found: DeviceArray = FUNCTIONS[np.sum](
        backend, ufunc(backend, np.not_equal, (a, 0), {}), axis, keepdims=keepdims
    )
    return found


# --- copies ---------------------------------------------------------------------------------------


def astype(
    backend: Device, a: DeviceArray, of: Any, order: str = "K", casting: str = "unsafe", copy: bool = True
) -> DeviceArray:
    """ndarray.astype."""
    of = np.dtype(of)
    if a.dtype == of and not copy:
        return a
    strides = tuple([s // a.itemsize * of.itemsize for s in a.strides]) if a.dense and order == "K" else None
    made: DeviceArray = backend.empty(a.shape, of, strides, poison=False)
    launches.convert(backend, made, a)
    return made


def copy(backend: Device, a: DeviceArray, order: str = "C") -> DeviceArray:
    """ndarray.copy."""
    return launches.copied(backend, a, a.strides if order == "K" and a.dense else None)


def reshape(backend: Device, a: DeviceArray, *shape: Any, **how: Any) -> Any:
    """ndarray.reshape of what needs a copy."""
    if how:
        raise NotServed("a reshape in another order")
    return launches.copied(backend, a).reshape(*shape)


def concatenate(backend: Device, arrays: Sequence[DeviceArray], axis: int = 0) -> DeviceArray:
    """np.concatenate."""
    first = arrays[0]
    axis %= first.ndim
    of = np.result_type(*[a.dtype for a in arrays])
    shape = list(first.shape)
    shape[axis] = sum(a.shape[axis] for a in arrays)
    made: DeviceArray = backend.empty(tuple(shape), of, None, poison=False)
    at = 0
    for a in arrays:
        there = made[(slice(None),) * axis + (slice(at, at + a.shape[axis]),)]
        launches.convert(backend, there, a, "cat")
        at += a.shape[axis]
    return made


def _filled(value: Any) -> Callable[..., DeviceArray]:
    def like(backend: Device, a: DeviceArray, dtype: Any = None, **how: Any) -> DeviceArray:
        made: DeviceArray = backend.empty(a.shape, dtype or a.dtype, None, poison=False)
        if value is not None:
            launches.convert(backend, made, np.asarray(value).astype(made.dtype))
        return made

    return like


def _full_like(backend: Device, a: DeviceArray, value: Any, dtype: Any = None, **how: Any) -> DeviceArray:
    return _filled(value)(backend, a, dtype)


def _infinite(backend: Device, a: DeviceArray, value: float) -> DeviceArray:
    return ufunc(backend, np.equal, (a, np.asarray(value).astype(a.dtype)), {})


def _contiguous(backend: Device, a: DeviceArray, dtype: Any = None) -> DeviceArray:
    return launches.contiguous(backend, a if dtype is None else as_dtype(backend, a, np.dtype(dtype)))


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: where,
    np.isneginf: lambda backend, a: _infinite(backend, a, -np.inf),
    np.isposinf: lambda backend, a: _infinite(backend, a, np.inf),
    np.ndarray.astype: astype,
    np.ndarray.copy: copy,
    np.ndarray.reshape: reshape,
    np.concatenate: concatenate,
    np.ascontiguousarray: _contiguous,
    np.zeros_like: _filled(0),
    np.ones_like: _filled(1),
    np.empty_like: _filled(None),
    np.full_like: _full_like,
    **{function: _reduced(how) for how, function in _NUMPY.items()},
    np.add.reduce: _reduced("add"),
    np.multiply.reduce: _reduced("mul"),
    np.maximum.reduce: _reduced("max"),
    np.minimum.reduce: _reduced("min"),
    np.logical_or.reduce: _reduced("any"),
    np.logical_and.reduce: _reduced("all"),
    np.count_nonzero: _count_nonzero,
    np.ndarray.sum: _reduced("add"),
    np.ndarray.max: _reduced("max"),
    np.ndarray.min: _reduced("min"),
    np.ndarray.any: _reduced("any"),
    np.ndarray.all: _reduced("all"),
}
