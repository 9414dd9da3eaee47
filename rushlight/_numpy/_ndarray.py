"""NumPy's arrays over tensors: `ndarray`, and how values become arrays, tensors, and NumPy's own again."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.core.pytree import tree_map

NUMBERS = (bool, int, float, complex)  # Python's, which are weak in promotion


@lru_cache(None)
def dtype_of(kind: Any) -> Any:
    """The tensors' dtype for one of NumPy's. TypeError where there is none."""
    return torch.from_numpy(np.empty(0, kind)).dtype


def kind_of(t: Any) -> np.dtype[Any]:
    """NumPy's dtype of a tensor. TypeError for dtypes that NumPy has not."""
    found: np.dtype[Any] = np.dtype(t.dtype.np)
    if found.kind not in "biufc":
        raise TypeError(f"NumPy has no dtype for {t.dtype}")
    return found


def as_tensor(value: Any) -> Any:
    """The tensor of an array, a tensor, a number or nested lists of these."""
    if type(value) is ndarray:
        return value.tensor
    if isinstance(value, torch.Tensor):
        return value
    whole = np.asarray(to_numpy(value))
    dtype_of(whole.dtype)
    if any(s < 0 for s in whole.strides) or not whole.flags.writeable:
        whole = whole.copy()
    return torch.from_numpy(whole)


def to_numpy(value: Any) -> Any:
    """NumPy's own arrays in the place of ours, in containers too."""
    return tree_map(lambda v: v.__array__() if type(v) is ndarray else v, value)


def from_numpy(value: Any) -> Any:
    """Our arrays in the place of NumPy's, in containers too; of numbers of NumPy's, arrays without dims."""

    def made(v: Any) -> Any:
        own: Any = type(v)
        if own is ndarray or not isinstance(v, (np.ndarray, np.generic)) or v.dtype.kind not in "biufc":
            return v
        return ndarray(as_tensor(v))

    return tree_map(made, value)


def by_numpy(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What NumPy's own function computes of these."""
    return from_numpy(function(*to_numpy(args), **to_numpy(kwargs)))


class ndarray:
    """An array of NumPy's behaviour (promotion, methods, operators) whose data is `tensor`.

    NumPy's functions take it: those that have a form in tensors' ops are computed by these, with gradients
    and in graphs; all others by NumPy. To isinstance() it is one of NumPy's arrays.
    """

    __slots__ = ("__weakref__", "tensor")
    __hash__ = None  # type: ignore[assignment]
    tensor: Any

    def __init__(self, tensor: Any = None) -> None:
        self.tensor = torch.Tensor() if tensor is None else tensor

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return np.ndarray

    # --- what it is ------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype."""
        return kind_of(self.tensor)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its dims; assign to it to reshape."""
        return tuple(self.tensor.shape)

    @shape.setter
    def shape(self, sizes: Any) -> None:
        self.tensor = self.tensor.view(sizes)

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return int(self.tensor.dim())

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self.tensor.numel())

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """The bytes between neighbours, by dim."""
        return tuple(s * self.itemsize for s in self.tensor.stride())

    @property
    def flags(self) -> Any:
        """NumPy's flags: how its elements lie."""
        return self.__array__().flags

    @property
    def T(self) -> ndarray:
        """With its dims in the other order."""
        return ndarray(self.tensor.permute(tuple(range(self.ndim))[::-1]))

    @property
    def real(self) -> ndarray:
        """Real parts; assign to it to change them."""
        return ndarray(self.tensor.real)

    @real.setter
    def real(self, value: Any) -> None:
        self.tensor.real.copy_(as_tensor(value))

    @property
    def imag(self) -> ndarray:
        """Imaginary parts; assign to it to change them."""
        complex_ = self.tensor.is_complex()
        return ndarray(self.tensor.imag if complex_ else torch.zeros_like(self.tensor))

    @imag.setter
    def imag(self, value: Any) -> None:
        self.tensor.imag.copy_(as_tensor(value))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        found = self.tensor.detach().numpy(force=True)
        if dtype is not None and found.dtype != dtype:
            return found.astype(dtype)
        return found.copy() if copy else found

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        own = import_module("rushlight._numpy._functions").FUNCTIONS.get(func.__name__)
        home = func.__module__ in ("numpy", None)
        return own(*args, **kwargs) if own is not None and home else by_numpy(func, *args, **kwargs)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__":
            return by_numpy(getattr(ufunc, method), *inputs, **kwargs)
        out = kwargs.pop("out", (None,))
        return _ufunc(ufunc.__name__)(*inputs, out=out[0] if len(out) == 1 else out, **kwargs)

    def __getattr__(self, name: str) -> Any:
        own = import_module("rushlight._numpy._methods").METHODS.get(name)
        if own is None:
            raise AttributeError(f"'ndarray' object has no attribute {name!r}")
        return lambda *args, **kwargs: own(self, *args, **kwargs)

    # --- elements --------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> ndarray:
        items = index if isinstance(index, tuple) else (index,)
        if any(isinstance(i, slice) and i.step is not None and operator.index(i.step) < 0 for i in items):
            found: ndarray = by_numpy(operator.getitem, self, index)
            return found
        return ndarray(self.tensor[_index(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        given = as_tensor(value)
        if given.is_complex() and not self.tensor.is_complex():
            raise TypeError("can't convert complex to float")
        while given.dim() > self.tensor[_index(index)].dim():
            given = given.squeeze(0)
        self.tensor[_index(index)] = given.to(self.tensor.dtype)

    def __iter__(self) -> Iterator[ndarray]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (ndarray(t) for t in self.tensor)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __contains__(self, value: Any) -> bool:
        return bool((self.tensor == as_tensor(value)).any())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )
        return bool(self.tensor)

    def __int__(self) -> int:
        return int(self.tensor)

    def __float__(self) -> float:
        return float(self.tensor)

    def __complex__(self) -> complex:
        return complex(self.tensor.item())

    def __index__(self) -> int:
        if self.size != 1 or self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(self.tensor)

    def __repr__(self) -> str:
        return repr(self.__array__())

    def __str__(self) -> str:
        return str(self.__array__())


def _index(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(map(_index, index))
    if isinstance(index, list):
        return as_tensor(index)
    if isinstance(index, (np.ndarray, np.generic)):
        return as_tensor(index)
    return index


def _ufunc(name: str) -> Any:
    return import_module("rushlight._numpy._ufuncs").named(name)


_OPERATORS = {
    "add": "add",
    "matmul": "matmul",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
    "divmod": "divmod",
}
_COMPARED = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}


def _operator(name: str) -> tuple[Any, Any, Any]:
    def own(self: Any, other: Any) -> Any:
        return _ufunc(name)(self, other)

    def other(self: Any, value: Any) -> Any:
        return _ufunc(name)(value, self)

    def within(self: Any, value: Any) -> Any:
        return _ufunc(name)(self, value, out=self)

    return own, other, within


for _name, _function in _OPERATORS.items():
    for _prefix, _method in zip(("", "r", "i"), _operator(_function), strict=True):
        setattr(ndarray, f"__{_prefix}{_name}__", _method)
for _name, _function in _COMPARED.items():
    setattr(ndarray, f"__{_name}__", _operator(_function)[0])
for _name, _function in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
    setattr(ndarray, f"__{_name}__", lambda self, _function=_function: _ufunc(_function)(self))
