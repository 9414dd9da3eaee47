"""What arrays' methods are, beside those that are in the class."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._numpy._functions import by_name
from rushlight._numpy._ndarray import as_tensor, dtype_of, ndarray
from rushlight._numpy._ufuncs import named


def _astype(self: Any, dtype: Any, order: str = "K", casting: str = "unsafe", **rest: Any) -> Any:
    kind = np.dtype(dtype)
    if not np.can_cast(self.dtype, kind, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast array data from {self.dtype!r} to {kind!r} according to the rule '{casting}'"
        )
    found = self.tensor.real if self.tensor.is_complex() and kind.kind != "c" else self.tensor
    if kind.kind == "b":
        return ndarray(self.tensor != 0)
    return ndarray(found.to(dtype_of(kind), copy=True))


def _reshape(self: Any, *shape: Any, order: str = "C") -> Any:
    return by_name("reshape")(self, shape[0] if len(shape) == 1 else shape, order=order)


def _transpose(self: Any, *axes: Any) -> Any:
    whole = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return by_name("transpose")(self, whole or None)


def _item(self: Any, *args: Any) -> Any:
    if not args:
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.tensor.item()
    return self.__array__().item(*args)


def _fill(self: Any, value: Any) -> None:
    self.tensor.copy_(as_tensor(value))


def _sort(self: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> None:
    self.tensor.copy_(by_name("sort")(self, axis).tensor)


def _resize(self: Any, *new_shape: Any, refcheck: Any = False) -> None:
    sizes = new_shape[0] if len(new_shape) == 1 and not isinstance(new_shape[0], int) else new_shape
    held = self.tensor.reshape(-1)
    count = int(np.prod(sizes))
    if any(n < 0 for n in sizes):
        raise ValueError("all elements of `new_shape` must be non-negative")
    more = torch.zeros(max(0, count - held.numel()), dtype=held.dtype)
    self.tensor = torch.cat([held[:count], more]).reshape(sizes)


def _copy(self: Any, order: str = "C") -> Any:
    return ndarray(self.tensor.clone())


def _flatten(self: Any, order: str = "C") -> Any:
    if order != "C":
        return by_name("ravel")(self, order)
    return ndarray(self.tensor.reshape(-1).clone())


def _by_function(name: str) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: by_name(name)(self, *args, **kwargs)


METHODS: dict[str, Callable[..., Any]] = {
    **{
        name: _by_function(name)
        for name in "sum prod mean std var max min argmax argmin any all cumsum cumprod ravel swapaxes "
        "squeeze repeat take diagonal clip argsort nonzero round dot trace searchsorted ptp choose "
        "compress".split()
    },
    "astype": _astype,
    "reshape": _reshape,
    "transpose": _transpose,
    "item": _item,
    "tolist": lambda self: self.tensor.tolist(),
    "copy": _copy,
    "flatten": _flatten,
    "fill": _fill,
    "sort": _sort,
    "resize": _resize,
    "conj": partial(lambda op, self: op(self), named("conjugate")),
    "conjugate": partial(lambda op, self: op(self), named("conjugate")),
    "view": lambda self, dtype: ndarray(self.tensor.view(dtype_of(np.dtype(dtype)))),
    "tobytes": lambda self: self.__array__().tobytes(),
    "is_integer": lambda self: bool(self.size == 1 and float(self.tensor) == int(self.tensor)),
}
