"""NumPy's functions of whole arrays that are tensors' ops; all others are computed by NumPy."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._dynamo.exc import TorchDynamoException
from rushlight._numpy._ndarray import as_tensor, by_numpy, dtype_of, fits, from_numpy, kind_of, ndarray

FUNCTIONS: dict[str, Callable[..., Any]] = {}


class _ByNumpy(Exception):
    """The arguments are such as only NumPy's own function takes."""


def _function(own: Callable[..., Any]) -> Callable[..., Any]:
    """An entry of FUNCTIONS; what it leaves to NumPy is computed by NumPy."""
    name = own.__name__.removesuffix("_")
    usual = getattr(np, name)

    @functools.wraps(own)
    def run(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        try:
            found = _arrays(own(*args, **kwargs))
        except TorchDynamoException:
            raise
        except (_ByNumpy, TypeError, RuntimeError):
            found = by_numpy(usual, *args, **kwargs)
        return found if out is None else _into(out, found)

    run.__name__ = run.__qualname__ = name
    FUNCTIONS[name] = run
    return run


def _into(out: Any, found: Any) -> Any:
    """`out`, with the result in it. ValueError where it has another shape."""
    if out.shape != found.shape:
        raise ValueError(f"output array has shape {out.shape}, and the result {found.shape}")
    (out if type(out) is ndarray else from_numpy(out)).tensor.copy_(as_tensor(found))
    return out


def _arrays(found: Any) -> Any:
    if isinstance(found, torch.Tensor):
        return ndarray(found)
    return type(found)(map(_arrays, found)) if isinstance(found, (tuple, list)) else found


def _only(**given: Any) -> None:
    """Leave it to NumPy where one of these is given."""
    if any(v is not None and v is not np._NoValue for v in given.values()):
        raise _ByNumpy


def _axis(axis: Any, t: Any) -> Any:
    """axis as dims; AxisError for one that is not there."""
    if axis is None:
        return None
    several = axis if isinstance(axis, (tuple, list)) else (axis,)
    found = np.lib.array_utils.normalize_axis_tuple([int(a) for a in several], t.dim())
    return found if isinstance(axis, (tuple, list)) else found[0]


def _as(t: Any, dtype: Any) -> Any:
    return t if dtype is None else t.to(dtype_of(np.dtype(dtype)))


def _together(values: Sequence[Any]) -> list[Any]:
    """Tensors of the dtype that NumPy's promotion finds for all."""
    given = list(map(as_tensor, values))
    dtype = dtype_of(np.result_type(*map(kind_of, given)))
    return [t.to(dtype) for t in given]


def _kept(found: Any, t: Any, axis: Any) -> Any:
    """A result with the dims that were reduced."""
    dims = range(t.dim()) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return found.reshape([1 if d in dims else n for d, n in enumerate(t.shape)])


def _reduced(
    op: Callable[..., Any], a: Any, axis: Any, keepdims: Any, t: Any = None, one: bool = False
) -> Any:
    """op over all elements, or over dims (one: op takes one dim at a time)."""
    t = as_tensor(a) if t is None else t
    dims = _axis(axis, t)
    if dims is None:
        found = op(t.reshape(-1), 0) if one else op(t, tuple(range(t.dim()))) if t.dim() else op(t, ())
    elif one and isinstance(dims, tuple):
        found = t
        for d in sorted(dims, reverse=True):
            found = op(found, d)
    else:
        found = op(t, dims) if not isinstance(dims, tuple) or dims else t
    return _kept(found, t, dims) if keepdims is True else found


# --- reductions ------------------------------------------------------------------------------------


def _whole(t: Any, dtype: Any) -> Any:
    """What sums are of: small whole numbers are counted in int64."""
    if dtype is not None:
        _only(dtype=dtype if np.dtype(dtype).kind == "b" else None)
        return _as(t, dtype)
    if kind_of(t).kind == "u" and t.dtype != torch.bool:
        raise _ByNumpy
    return t if t.is_floating_point() or t.is_complex() else t.to(torch.int64)


@_function
def sum_(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **rest: Any
) -> Any:
    _only(out=out, **rest)
    return _reduced(torch.sum, a, axis, keepdims, _whole(as_tensor(a), dtype))


@_function
def prod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **rest: Any
) -> Any:
    _only(out=out, **rest)
    return _reduced(torch.prod, a, axis, keepdims, _whole(as_tensor(a), dtype), True)


def _real(a: Any, dtype: Any) -> Any:
    """What means are of: whole numbers are float64."""
    t = as_tensor(a)
    if dtype is not None:
        return _as(t, dtype)
    return t if t.is_floating_point() or t.is_complex() else t.to(torch.float64)


@_function
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **rest: Any
) -> Any:
    _only(out=out, **rest)
    return _reduced(torch.mean, a, axis, keepdims, _real(a, dtype))


def _spread(op: Callable[..., Any]) -> Callable[..., Any]:
    def run(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        **rest: Any,
    ) -> Any:
        t = _real(a, dtype)
        if t.is_complex():
            raise _ByNumpy
        _only(out=out, **rest)
        return _reduced(lambda t, d: op(t, d, correction=ddof), a, axis, keepdims, t)

    run.__name__ = op.__name__
    return _function(run)


std, var = _spread(torch.std), _spread(torch.var)


def _extreme(name: str, op: Callable[..., Any]) -> Callable[..., Any]:
    def run(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **rest: Any) -> Any:
        _only(out=out, **rest)
        t = as_tensor(a)
        if t.is_complex() or not t.numel():
            raise _ByNumpy
        return _reduced(op, a, axis, keepdims, t)

    run.__name__ = name
    return _function(run)


amax, max_ = _extreme("amax", torch.amax), _extreme("max", torch.amax)
amin, min_ = _extreme("amin", torch.amin), _extreme("min", torch.amin)


def _place(name: str, op: Callable[..., Any]) -> Callable[..., Any]:
    def run(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        _only(out=out)
        t = as_tensor(a)
        if t.is_complex() or not t.numel() or isinstance(axis, tuple):
            raise _ByNumpy
        t = t.to(torch.uint8) if t.dtype == torch.bool else t
        return _reduced(op, a, axis, keepdims, t, True)

    run.__name__ = name
    return _function(run)


argmax, argmin = _place("argmax", torch.argmax), _place("argmin", torch.argmin)


@_function
def any_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **rest: Any) -> Any:
    _only(out=out, **rest)
    return _reduced(torch.any, a, axis, keepdims, as_tensor(a) != 0)


@_function
def all_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **rest: Any) -> Any:
    _only(out=out, **rest)
    return _reduced(torch.all, a, axis, keepdims, as_tensor(a) != 0)


@_function
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return _reduced(torch.sum, a, axis, keepdims, (as_tensor(a) != 0).to(torch.int64))


def _running(op: Callable[..., Any]) -> Callable[..., Any]:
    def run(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        _only(out=out)
        t = _whole(as_tensor(a), dtype)
        return op(t.reshape(-1), 0) if axis is None else op(t, _axis(axis, t))

    run.__name__ = op.__name__
    return _function(run)


cumsum, cumprod = _running(torch.cumsum), _running(torch.cumprod)


# --- shapes ----------------------------------------------------------------------------------------


@_function
def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: Any = None) -> Any:
    _only(order=None if order == "C" else order, copy=copy)
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    t = as_tensor(a)
    known = math.prod(int(n) for n in sizes if n != -1)
    if (t.numel() != known) if -1 not in sizes else (known == 0 or t.numel() % known):
        raise ValueError(f"cannot reshape array of size {t.numel()} into shape {tuple(sizes)}")
    return t.reshape([int(n) for n in sizes])


@_function
def ravel(a: Any, order: str = "C") -> Any:
    _only(order=None if order == "C" else order)
    return as_tensor(a).reshape(-1)


@_function
def transpose(a: Any, axes: Any = None) -> Any:
    t = as_tensor(a)
    if axes is not None and len(axes) != t.dim():
        raise ValueError("axes don't match array")
    return t.permute(tuple(range(t.dim()))[::-1] if axes is None else _axis(tuple(axes), t))


@_function
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    t = as_tensor(a)
    return t.transpose(_axis(axis1, t), _axis(axis2, t))


@_function
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    t = as_tensor(a)
    return torch.moveaxis(t, _axis(source, t), _axis(destination, t))


@_function
def squeeze(a: Any, axis: Any = None) -> Any:
    t = as_tensor(a)
    dims = _axis(axis, t)
    several = dims if isinstance(dims, tuple) else () if dims is None else (dims,)
    if any(t.shape[d] != 1 for d in several):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return t.squeeze() if dims is None else t.squeeze(dims)


@_function
def expand_dims(a: Any, axis: Any) -> Any:
    t = as_tensor(a)
    several = axis if isinstance(axis, (tuple, list)) else (axis,)
    dims = np.lib.array_utils.normalize_axis_tuple(several, t.dim() + len(several))
    for d in sorted(dims):
        t = t.unsqueeze(d)
    return t


@_function
def broadcast_to(array: Any, shape: Any, subok: Any = False) -> Any:
    return as_tensor(array).expand(shape if isinstance(shape, (tuple, list)) else (shape,))


@_function
def flip(m: Any, axis: Any = None) -> Any:
    t = as_tensor(m)
    dims = _axis(axis, t)
    return t.flip(tuple(range(t.dim())) if dims is None else dims if isinstance(dims, tuple) else (dims,))


@_function
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    t = as_tensor(a)
    return torch.roll(t, shift, _axis(axis, t)) if axis is not None else torch.roll(t, shift)


@_function
def tile(A: Any, reps: Any) -> Any:
    return torch.tile(as_tensor(A), reps if isinstance(reps, (tuple, list)) else (reps,))


@_function
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    t = as_tensor(a)
    times = int(repeats) if isinstance(repeats, (int, np.integer)) else as_tensor(repeats)
    return (
        torch.repeat_interleave(t, times)
        if axis is None
        else torch.repeat_interleave(t, times, _axis(axis, t))
    )


@_function
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Any:
    _only(out=out, dtype=dtype, casting=casting)
    parts = _together(list(arrays))
    if axis is None:
        return torch.cat([t.reshape(-1) for t in parts])
    if len({t.dim() for t in parts}) > 1 or not parts[0].dim():
        raise _ByNumpy
    return torch.cat(parts, _axis(axis, parts[0]))


@_function
def stack(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = None) -> Any:
    _only(out=out, dtype=dtype, casting=casting)
    parts = _together(list(arrays))
    if len({t.shape for t in parts}) > 1:
        raise ValueError("all input arrays must have the same shape")
    (dim,) = np.lib.array_utils.normalize_axis_tuple(axis, parts[0].dim() + 1)
    return torch.stack(parts, dim)


def _joined(name: str, op: Callable[..., Any]) -> Callable[..., Any]:
    def run(tup: Any, *, dtype: Any = None, casting: Any = None) -> Any:
        _only(dtype=dtype, casting=casting)
        return op(_together(list(tup)))

    run.__name__ = name
    return _function(run)


vstack, hstack = _joined("vstack", torch.vstack), _joined("hstack", torch.hstack)
dstack, column_stack = _joined("dstack", torch.dstack), _joined("column_stack", torch.column_stack)


@_function
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    t = as_tensor(ary)
    dim = _axis(axis, t)
    if isinstance(indices_or_sections, int):
        if t.shape[dim] % indices_or_sections:
            raise ValueError("array split does not result in an equal division")
        return list(torch.tensor_split(t, indices_or_sections, dim))
    return list(torch.tensor_split(t, tuple(int(i) for i in indices_or_sections), dim))


# --- elements --------------------------------------------------------------------------------------


@_function
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None and y is None:
        return torch.nonzero(as_tensor(condition), as_tuple=True)
    given = [v if isinstance(v, (bool, int, float, complex)) else as_tensor(v) for v in (x, y)]
    kinds = [v if not isinstance(v, torch.Tensor) else kind_of(v) for v in given]
    dtype = dtype_of(np.result_type(*kinds))
    ready = [v.to(dtype) if isinstance(v, torch.Tensor) else torch.tensor(v, dtype=dtype) for v in given]
    return torch.where(as_tensor(condition) != 0, *ready)


@_function
def nonzero(a: Any) -> Any:
    return torch.nonzero(as_tensor(a), as_tuple=True)


def _is_of(number: Any, t: Any) -> bool:
    return type(number) is int and kind_of(t).kind in "iu" and fits(number, kind_of(t))


@_function
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **rest: Any) -> Any:
    _only(out=out, **rest)
    t = as_tensor(a)
    if not all(v is None or type(v) in (int, float) for v in (a_min, a_max)) or t.is_complex():
        raise _ByNumpy
    if not t.is_floating_point() and any(v is not None and not _is_of(v, t) for v in (a_min, a_max)):
        raise _ByNumpy
    return t.clamp(a_min, a_max)


@_function
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    _only(out=out, mode=None if mode == "raise" else mode)
    t, index = as_tensor(a), as_tensor(indices).to(torch.int64)
    t, dim = (t.reshape(-1), 0) if axis is None else (t, _axis(axis, t))
    return t[(slice(None),) * dim + (index,)]


@_function
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    t, index = as_tensor(arr), as_tensor(indices)
    return torch.take_along_dim(t, index, None if axis is None else _axis(axis, t))


@_function
def diag(v: Any, k: int = 0) -> Any:
    return torch.diag(as_tensor(v), k)


@_function
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return torch.diagonal(as_tensor(a), offset, axis1, axis2)


@_function
def tril(m: Any, k: int = 0) -> Any:
    return torch.tril(as_tensor(m), k)


@_function
def triu(m: Any, k: int = 0) -> Any:
    return torch.triu(as_tensor(m), k)


@_function
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    return _sorted(a, axis)[0]


@_function
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    return _sorted(a, axis)[1]


def _sorted(a: Any, axis: Any) -> Any:
    """Elements in order, and where they were."""
    t = as_tensor(a)
    if t.is_complex():
        raise _ByNumpy
    if axis is None:
        return torch.sort(t.reshape(-1), stable=True)
    return torch.sort(t, _axis(axis, t), stable=True)


@_function
def copy(a: Any, order: str = "K", subok: Any = False) -> Any:
    return as_tensor(a).clone()


def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Rounded to decimals; to even where two are as near."""
    _only(out=out)
    t = as_tensor(a)
    if not t.is_floating_point():
        raise _ByNumpy
    return torch.round(t, decimals=decimals)


def around(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Rounded to decimals; to even where two are as near."""
    return round_(a, decimals, out)


around, round_ = _function(around), _function(round_)


# --- products --------------------------------------------------------------------------------------


@_function
def dot(a: Any, b: Any, out: Any = None) -> Any:
    _only(out=out)
    x, y = _together([a, b])
    if x.dtype == torch.bool:
        raise _ByNumpy
    if not (x.dim() and y.dim()):
        return x * y
    return torch.tensordot(x, y, dims=([-1], [-2 if y.dim() > 1 else -1]))


@_function
def inner(a: Any, b: Any, /) -> Any:
    x, y = _together([a, b])
    return torch.inner(x, y) if x.dtype != torch.bool else by_numpy(np.inner, a, b)


@_function
def outer(a: Any, b: Any, out: Any = None) -> Any:
    _only(out=out)
    x, y = _together([a, b])
    return torch.outer(x.reshape(-1), y.reshape(-1))


@_function
def vdot(a: Any, b: Any, /) -> Any:
    x, y = _together([a, b])
    return torch.vdot(x.reshape(-1), y.reshape(-1))


@_function
def kron(a: Any, b: Any) -> Any:
    return torch.kron(*_together([a, b]))


@_function
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    x, y = _together([a, b])
    return torch.tensordot(x, y, dims=axes)


@_function
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **rest: Any) -> Any:
    _only(out=out, **rest)
    if not isinstance(operands[0], str) or optimize not in (False, True):
        raise _ByNumpy
    return torch.einsum(operands[0], *_together(operands[1:]))


# --- arrays that are made --------------------------------------------------------------------------


def array(obj: Any, dtype: Any = None, *, copy: bool = True, ndmin: int = 0, **rest: Any) -> ndarray:
    """An array of numbers, of nested lists of these, of a tensor or of an array."""
    nested = isinstance(obj, (list, tuple)) and any(isinstance(v, (ndarray, torch.Tensor)) for v in obj)
    found = torch.stack(_together(list(obj))) if nested else as_tensor(obj)
    found = _as(found, dtype)
    found = found.clone() if copy and isinstance(obj, (ndarray, torch.Tensor, np.ndarray)) else found
    return ndarray(found.reshape((1,) * (ndmin - found.dim()) + tuple(found.shape)))


def asarray(a: Any, dtype: Any = None, order: Any = None, **rest: Any) -> ndarray:
    """The same, without a copy where it is one already."""
    return a if type(a) is ndarray and dtype in (None, a.dtype) else array(a, dtype, copy=False)


def _made(name: str, op: Callable[..., Any]) -> Callable[..., Any]:
    def run(shape: Any, dtype: Any = None, order: str = "C", **rest: Any) -> Any:
        return op(shape, dtype=dtype_of(np.dtype(float if dtype is None else dtype)))

    def like(
        prototype: Any, dtype: Any = None, order: str = "K", subok: Any = False, shape: Any = None
    ) -> Any:
        t = as_tensor(prototype)
        kind = t.dtype if dtype is None else dtype_of(np.dtype(dtype))
        return op(t.shape if shape is None else shape, dtype=kind)

    run.__name__, like.__name__ = name, f"{name}_like"
    _function(like)
    return _function(run)


zeros, ones, empty = _made("zeros", torch.zeros), _made("ones", torch.ones), _made("empty", torch.empty)


@_function
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: Any = False, shape: Any = None
) -> Any:
    t = as_tensor(a)
    found = torch.empty(t.shape if shape is None else shape, dtype=_as(t, dtype).dtype)
    return found.copy_(as_tensor(fill_value))


FUNCTIONS.update(array=array, asarray=asarray)


def by_name(name: str) -> Any:
    """The function of NumPy's name: by tensors' ops, or by NumPy itself."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    own = getattr(np, name)

    @functools.wraps(own)
    def run(*args: Any, **kwargs: Any) -> Any:
        """What NumPy computes of the arrays."""
        return by_numpy(own, *args, **kwargs)

    return FUNCTIONS.setdefault(name, run)


__all__ = ["FUNCTIONS", "array", "asarray", "by_name", "from_numpy"]
