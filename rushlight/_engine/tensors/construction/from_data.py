"""Arrays from Python data: what torch.tensor, as_tensor, asarray, from_numpy and frombuffer read.

`infer` turns nested sequences, numbers and arrays into a fresh NumPy array by PyTorch's rules:

1. sizes come from the first element at each depth (`_sizes`),
2. each depth is checked and joined as a whole (`_flatten`), never element by element,
3. the dtype comes from the *set* of element types (`_common_dtype`), so that a long list of floats
   costs one pass at C speed, and one `np.array` call fills the result.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import chain
from typing import Any, NoReturn

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.conversion import Array, check_integer_range, convert, overflow
from rushlight._engine.core.dtype import dtype
from rushlight._engine.core.errors import warn_once
from rushlight._engine.core.promotion import of_number, promote_types
from rushlight._engine.tensors.conversion import Conversion, warn_of_graph

_MAX_DIMS = 128
_NUMBERS = frozenset({bool, int, float, complex})
_BY_RANK = (complex, float, int, bool)
_INTEGERS = frozenset({bool, int})
_REALS = frozenset({bool, int, float})
# Tensors of one type have many dtypes; a sequence beside numbers is refused when it is converted.
_NO_TYPE_DTYPE = (Conversion, list, tuple, range, np.ndarray)


def infer(data: Any, of: dtype | None = None) -> Array:
    """A fresh array of `data`, with dtype `of` or, if that is None, the one that PyTorch infers.

    data: a number, a NumPy array or scalar, a (0-d) tensor, or nested sequences of these.
    Inference: bool < int64 < the default dtype < its complex twin; NumPy values and tensors keep
    their dtypes.  Raises ValueError for ragged sequences, RuntimeError or TypeError for what is
    not a number, and RuntimeError where an integer does not fit the dtype asked for.
    """
    if isinstance(data, np.ndarray):
        data = checked(data)
        dense = data if all(data.strides) else np.ascontiguousarray(data)
        return convert(dense, of.np if of else data.dtype, copy=dense is data)
    if type(data) in _NUMBERS:
        return _fill([data], {type(data)}, of).reshape(())
    if type(data) is list:
        plain = _infer_lists(data, of)
        if plain is not None:
            return plain
    if isinstance(data, (str, bytes)):
        _refuse_text(type(data))
    return _infer_nested(data, of)


def _infer_lists(data: list[Any], of: dtype | None) -> Array | None:
    """Lists of lists of Python numbers, by the shortest way; None for anything else."""
    sizes, level, kinds = [len(data)], data, set(map(type, data))
    while len(kinds) == 1 and list in kinds:
        lengths = set(map(len, level))
        if len(lengths) != 1 or len(sizes) == _MAX_DIMS:
            return None
        sizes += lengths
        level = list(chain.from_iterable(level))
        kinds = set(map(type, level))
    if not kinds or not kinds <= _NUMBERS:
        return None
    flat = _fill(level, kinds, of)
    return flat if len(sizes) == 1 else flat.reshape(sizes)


def _infer_nested(data: Any, of: dtype | None) -> Array:
    sizes = _sizes(data)
    stacked = _stack(data, of)
    if stacked is not None:
        return stacked
    if 0 in sizes:  # nothing is read, so nothing is checked
        return np.empty(sizes, (of or _leaves_dtype(data)).np)
    try:
        flat = _flatten(data, sizes, of is None)
    except (TypeError, ValueError):
        if of is None:
            _leaves_dtype(data)  # PyTorch looks at every element before it looks at sizes
        raise
    kinds = set(map(type, flat))
    if of is None and not kinds <= _NUMBERS and any(map(is_sequence, flat)):
        of = _leaves_dtype(data)
    return _fill(flat, kinds, of).reshape(sizes)


# --- sizes --------------------------------------------------------------------


def is_sequence(value: Any) -> bool:
    """Whether torch.tensor would look inside: lists, arrays and the like, but no dict or tensor."""
    kind = type(value)
    if kind in (list, tuple, range, np.ndarray):
        return True
    if isinstance(value, (Conversion, dict, np.generic)):
        return False
    # Asked of the value: a member of an enumeration has not what its class has as a container of members.
    return hasattr(value, "__getitem__") and hasattr(value, "__len__") and not isinstance(value, type)


def _sizes(data: Any) -> tuple[int, ...]:
    """The lengths along the first element of each depth."""
    sizes: list[int] = []
    while is_sequence(data):
        sizes.append(len(data))
        if len(sizes) > _MAX_DIMS:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not sizes[-1]:
            break
        try:
            data = data[0]
        except Exception:
            raise ValueError(
                f"could not determine the shape of object type '{type(data).__name__}'"
            ) from None
    return tuple(sizes)


def _flatten(data: Any, sizes: tuple[int, ...], inferring: bool) -> list[Any]:
    """All elements in order; checks that each sequence at depth d has length sizes[d]."""
    level: list[Any] = [data]
    for dim, size in enumerate(sizes):
        level = _opened(level, inferring)
        if set(map(len, level)) != {size}:
            wrong = next(len(x) for x in level if len(x) != size)
            raise ValueError(f"expected sequence of length {size} at dim {dim} (got {wrong})")
        level = list(chain.from_iterable(level))
    return level


def _opened(level: list[Any], inferring: bool) -> list[Any]:
    """The sequences of one depth; a tensor beside them as a list, a set too where no dtype is inferred."""
    kinds = set(map(type, level))
    for kind in kinds & {str, bytes}:
        _refuse_text(kind)
    if np.ndarray in kinds:
        _warn_of_arrays()
    return [x if is_sequence(x) else _listed(x, inferring) for x in level]


def _listed(value: Any, inferring: bool) -> list[Any]:
    try:
        listed = list(value)
    except TypeError:
        raise TypeError(
            "not a sequence: expected nested sequences of equal depth, got a "
            f"{type(value).__name__} beside a sequence"
        ) from None
    if inferring and not isinstance(value, Conversion):
        _dtype_of_type(type(value))  # says that it has none
    return listed


def _leaves(data: Any) -> Iterable[Any]:
    """The elements of sequences of any depth, ragged ones too."""
    pending = [data]
    while pending:
        value = pending.pop()
        if isinstance(value, (str, bytes)) or not is_sequence(value):
            yield value
        else:
            pending.extend(reversed(list(value)) if len(value) else [0.0])


def _warn_of_arrays() -> None:
    warn_once(
        "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the "
        "list to a single numpy.ndarray with numpy.array() before converting to a tensor."
    )


def _stack(data: Any, of: dtype | None) -> Array | None:
    """A list of equal NumPy arrays as one; None where the general way is needed."""
    if type(data) is not list or set(map(type, data)) != {np.ndarray}:
        return None
    _warn_of_arrays()
    if len({(a.shape, a.dtype) for a in data}) != 1 or not data[0].ndim:
        return None
    found = dt.from_numpy_dtype(data[0].dtype)
    return convert(np.stack(data), of.np if of else found.np)


# --- dtype --------------------------------------------------------------------


def _common_dtype(flat: list[Any], kinds: set[type]) -> dtype:
    """The promotion of the dtypes of elements, which are of the types `kinds`."""
    if kinds <= _NUMBERS:
        return of_number(next(kind() for kind in _BY_RANK if kind in kinds))
    found = {_dtype_of_type(kind) for kind in kinds if not issubclass(kind, _NO_TYPE_DTYPE)}
    if any(issubclass(kind, Conversion) for kind in kinds):
        found |= {x._kind.dtype for x in flat if isinstance(x, Conversion)}
    return reduce(promote_types, found) if found else dt.get_default_dtype()


def _leaves_dtype(data: Any) -> dtype:
    """The common dtype of sequences of any depth; an empty one counts as the default dtype."""
    leaves = list(_leaves(data))
    return _common_dtype(leaves, set(map(type, leaves)))


def _dtype_of_type(kind: type) -> dtype:
    if issubclass(kind, (str, bytes)):
        _refuse_text(kind)
    if issubclass(kind, np.generic):
        return dt.from_numpy_dtype(np.dtype(kind))
    number = next((base for base in (int, float, complex) if issubclass(kind, base)), None)
    if number is not None:
        return of_number(number())
    raise RuntimeError(f"Could not infer dtype of {kind.__name__}")


def _refuse_text(kind: type) -> NoReturn:
    raise TypeError(f"new(): invalid data type '{kind.__name__}'")


# --- values -------------------------------------------------------------------


def _fill(flat: list[Any], kinds: set[type], of: dtype | None) -> Array:
    """A one-dimensional array of elements of the types `kinds`, each converted to `of`."""
    if of is None:
        of = _common_dtype(flat, kinds)
    if not kinds <= _NUMBERS:
        flat = [
            x.item() if isinstance(x, np.generic) else _single(x, of) if isinstance(x, Conversion) else x
            for x in flat
        ]
        kinds = set(map(type, flat))
    if of.category == dt.INTEGRAL:
        return _fill_integers(flat, kinds, of)
    if of.category == dt.BOOL:
        if not kinds <= _NUMBERS:
            flat = list(map(_as_index, flat))
        return np.fromiter(map(bool, flat), np.bool_, len(flat))
    if of.category == dt.FLOATING:
        if not kinds <= _REALS:
            flat = [_as_float(x) for x in flat]
        return convert(np.array(flat, np.float64), of.np)
    if not kinds <= _NUMBERS:
        flat = list(map(complex, flat))
    return convert(np.array(flat, np.complex128), of.np)


def _single(t: Any, of: dtype) -> Any:
    """The number in a tensor of one element."""
    whole = of.category in (dt.INTEGRAL, dt.BOOL)
    if whole and (t._geometry.size != 1 or t._kind.dtype.category in (dt.FLOATING, dt.COMPLEX)):
        raise TypeError(
            "only integer tensors of a single element can be converted to an "
            f"index, got shape {list(t.shape)} and {t.dtype}; torch.stack puts tensors together"
        )
    if t._geometry.size != 1:
        raise ValueError(
            "only one element tensors can be converted to Python scalars, got shape "
            f"{list(t.shape)}; torch.stack puts tensors together"
        )
    number = t.item()
    if t._grad_node is not None:
        warn_of_graph()
    if of.category != dt.FLOATING or not isinstance(number, complex):
        return number
    if number.imag:
        raise RuntimeError("value cannot be converted to type double without overflow")
    return number.real


def _as_float(value: Any) -> float:
    if isinstance(value, (str, bytes)) or not hasattr(type(value), "__float__"):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return float(value)


def _fill_integers(flat: list[Any], kinds: set[type], of: dtype) -> Array:
    if not kinds <= _REALS:
        flat = [x if isinstance(x, float) else _as_index(x) for x in flat]
    if of is dt.uint64:
        return _fill_uint64(list(map(int, flat)))
    if not kinds <= _INTEGERS:
        flat = _truncate(flat, of)
    try:
        wide = np.array(flat, np.int64)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long: an integer does not fit in int64") from None
    if of is dt.int64 or not wide.size:
        return wide
    check_integer_range(int(wide.min()), int(wide.max()), of)
    return wide.astype(of.np)


def _fill_uint64(whole: list[int]) -> Array:
    try:
        return np.array(whole, np.uint64)
    except OverflowError:
        negative = any(x < 0 for x in whole)
        raise OverflowError(
            "can't convert negative int to unsigned" if negative else "int too big to convert"
        ) from None


def _as_index(value: Any) -> int:
    if not hasattr(type(value), "__index__"):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    return int(value)


def _truncate(flat: list[Any], of: dtype) -> list[int]:
    """Whole numbers; a float must lie within the dtype's bounds (it never wraps, as an int may)."""
    floats, info = np.array([x for x in flat if isinstance(x, float)]), np.iinfo(of.np)
    if not ((floats >= info.min) & (floats <= info.max)).all():
        overflow(of.name)
    return list(map(int, flat))


# --- memory that is shared ----------------------------------------------------


def checked(array: Array) -> Array:
    """The array, if a tensor can see it as it is; raises PyTorch's exceptions in its words.

    NumPy's second type of 64-bit integers (longlong) has no kernels: it is seen as the first.
    """
    known = dt.from_numpy_dtype(array.dtype).np
    array = np.asarray(array)
    step = array.itemsize
    for stride in array.strides if array.size else ():
        if stride < 0:
            raise ValueError(
                "At least one stride in the given numpy array is negative, and tensors with "
                "negative strides are not currently supported. (You can probably work around this "
                "by making a copy of your array  with array.copy().) "
            )
        if stride % step:
            raise ValueError(
                "given numpy array strides not a multiple of the element byte size. "
                "Copy the numpy array to reallocate the memory."
            )
    return array if array.dtype.char == known.char else array.view(known)


def share(array: Array) -> Array:
    """The array itself, checked; warns (once) when it is read-only."""
    if not isinstance(array, np.ndarray):
        kind = type(array)
        module = "" if kind.__module__ == "builtins" else kind.__module__ + "."
        raise TypeError(f"expected np.ndarray (got {module}{kind.__name__})")
    seen = checked(array)
    if not array.flags.writeable:
        _warn_read_only("NumPy array", "array")
    return seen


def _warn_read_only(what: str, noun: str) -> None:
    means = (
        "you can write to the underlying (supposedly non-writable) buffer using the tensor."
        if noun == "buffer"
        else "writing to this tensor will result in undefined behavior."
    )
    warn_once(
        f"The given {what} is not writable, and PyTorch does not support non-writable tensors. This means "
        f"{means} You may want to copy the {noun} to protect its data or make it writable before converting "
        "it to a tensor. This type of warning will be suppressed for the rest of this program."
    )


def from_buffer(buffer: Any, of: dtype, count: int = -1, offset: int = 0) -> Array:
    """A 1-d array over `count` elements (all if negative) of a buffer, from byte `offset` on."""
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if not view.c_contiguous:
        raise RuntimeError(
            "could not retrieve buffer from object: its elements do not lie in "
            "order without gaps; make a contiguous copy first"
        )
    length, size = view.nbytes, of.itemsize
    if not length or not count:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer "
            f"length ({length} bytes) minus 1"
        )
    if count < 0:
        if (length - offset) % size:
            raise ValueError(
                f"buffer length ({length - offset} bytes) after offset ({offset} "
                f"bytes) must be a multiple of element size ({size})"
            )
        count = (length - offset) // size
    if offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} "
            f"bytes) must not be greater than actual buffer length ({length} bytes)"
        )
    if view.readonly:
        _warn_read_only("buffer", "buffer")
    return np.frombuffer(view, np.uint8, count * size, offset).view(of.np)
