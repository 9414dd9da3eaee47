"""NumPy's arrays over tensors: `ndarray`, and how values become arrays, tensors, and NumPy's own again."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.core.pytree import flatten, tree_map

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


def fits(number: int, kind: np.dtype[Any]) -> bool:
    """Whether whole numbers of a dtype may be this one; those of other dtypes are not asked."""
    return kind.kind not in "iu" or np.iinfo(kind).min <= number <= np.iinfo(kind).max


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
    """Our arrays in the place of NumPy's, in containers too; of numbers of NumPy's, arrays without dims. What
    no tensor can be, or is of a class of its own, stays.
    """
    return tree_map(lambda v: ndarray(as_tensor(v)) if _is_plain(v) else v, value)


def _is_plain(value: Any) -> bool:
    return (type(value) is np.ndarray or isinstance(value, np.generic)) and _is_known(value.dtype)


@lru_cache(None)
def _is_known(kind: np.dtype[Any]) -> bool:
    """Whether tensors have a dtype of NumPy's."""
    try:
        return kind.kind in "biufc" and dtype_of(kind) is not None
    except (TypeError, ValueError):
        return False


class Given:
    """The arguments of a call, with our arrays over the memory of NumPy's. Lists and dicts are left as they
    are, since a function may change them, and so are arrays that tensors cannot lie over.
    """

    def __init__(self, args: Any, kwargs: Any) -> None:
        self.arrays: list[tuple[ndarray, Any, Any]] = []
        self.args = self._ours(args)
        self.kwargs = {name: self._ours(v) for name, v in kwargs.items()}

    def _ours(self, value: Any) -> Any:
        if type(value) is tuple:
            return tuple(map(self._ours, value))
        whole = type(value) is not np.ndarray or (
            value.flags.writeable and min(value.strides, default=0) >= 0
        )
        if not whole or not _is_plain(value):
            return value
        made = ndarray(as_tensor(value))
        if type(value) is np.ndarray:
            self.arrays.append((made, made.tensor, value))
        return made

    def result(self, found: Any) -> Any:
        """What the call gives, with NumPy's arrays: the given ones where they are these."""
        leaves, spec = flatten(found)
        if not any(type(v) is ndarray for v in leaves):
            return found
        own = {id(made): value for made, tensor, value in self.arrays if made.tensor is tensor}
        return spec.unflatten([own[id(v)] if id(v) in own else to_numpy(v) for v in leaves])


def by_numpy(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What NumPy's own function computes of these."""
    return from_numpy(function(*to_numpy(args), **to_numpy(kwargs)))


def functions_of(module: ModuleType) -> Callable[[str], Any]:
    """`__getattr__` of a module whose functions are NumPy's over our arrays; its classes are NumPy's own."""

    def find(name: str) -> Any:
        found = getattr(module, name)
        return partial(by_numpy, found) if callable(found) and not isinstance(found, type) else found

    return find


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
        is_numpys = getattr(np, ufunc.__name__, None) is ufunc
        if method != "__call__" or not is_numpys:
            return by_numpy(getattr(ufunc, method), *inputs, **kwargs)
        out = kwargs.pop("out", (None,))
        return _ufunc(ufunc.__name__)(*inputs, out=out[0] if len(out) == 1 else out, **kwargs)

    def __getattr__(self, name: str) -> Any:
        own = import_module("rushlight._numpy._methods").METHODS.get(name)
        if own is not None:
            return partial(own, self)
        if name.startswith("__") or name == "base" or not hasattr(np.ndarray, name):
            raise AttributeError(f"'ndarray' object has no attribute {name!r}")
        found = getattr(self.__array__(), name)  # of the same memory
        return partial(by_numpy, found) if callable(found) else found

    def __bytes__(self) -> bytes:
        return bytes(self.__array__().tobytes())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__array__().__reduce_ex__(protocol)

    def __deepcopy__(self, memo: Any) -> ndarray:
        return ndarray(self.tensor.clone())

    # --- elements --------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> ndarray:
        if _backwards(index):
            found: ndarray = by_numpy(operator.getitem, self, index)
            return found
        return ndarray(self.tensor[_index(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        if _backwards(index):
            by_numpy(operator.setitem, self, index, value)
            return
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


def _backwards(index: Any) -> bool:
    """Whether an index goes backwards in a dim, as tensors' do not."""
    items = index if isinstance(index, tuple) else (index,)
    return any(isinstance(i, slice) and i.step is not None and operator.index(i.step) < 0 for i in items)


def _index(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(map(_index, index))
    return as_tensor(index) if isinstance(index, (list, np.ndarray, np.generic)) else index


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
