"""x[...]: from what stands in the brackets to a ParsedIndex, by PyTorch's rules.

A ParsedIndex says it in two steps. The basic step (ints, slices, None, `...`) makes a true view; the
advanced step reads or writes that view at index tensors and masks (numerics/advanced_indexing.py). Tensors
stay tensors in a ParsedIndex, so that whoever stands in the dispatcher sees them; lists become arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.accelerator import is_away
from rushlight._engine.core.callers import warn
from rushlight._engine.core.recording import escape
from rushlight._engine.numerics.advanced_indexing import out_of_bounds
from rushlight._engine.tensors.construction.from_data import checked, infer
from rushlight._engine.tensors.conversion import Conversion


class ParsedIndex(NamedTuple):
    """An index, understood.

    basic     a NumPy basic index: an int or a slice for each leading dim, then `...`
    ones      dims of size 1 that are put in, numbered as in the view
    advanced  () or, for each dim of the view, None, an index tensor or a mask; a mask of k dims
              stands for k dims of the view
    last      what PyTorch calls the last step of making the view: "select", "slice", ...
    """

    basic: tuple[Any, ...]
    ones: tuple[int, ...]
    advanced: tuple[Any, ...]
    last: str


def parse(index: Any, shape: Sequence[int]) -> ParsedIndex:
    """The ParsedIndex of `index` on a tensor of `shape`.

    Raises IndexError (out of bounds, too many indices, unusable types), ValueError (steps that
    are not positive) and TypeError (slices of non-integers), in PyTorch's words.
    """
    items = index if isinstance(index, tuple) else _as_tuple(index)
    if not shape and items is not index:
        _check_scalar(items[0])
    parser = _IndexParser(shape, items)
    for item in items:
        _HANDLERS.get(item.__class__, _other)(parser, item)
    return parser.plan()


class _IndexParser:
    """The state of a parse: where it is in the tensor's dims and in the view's."""

    __slots__ = ("shape", "basic", "ones", "advanced", "last", "dim", "spare")

    def __init__(self, shape: Sequence[int], items: Sequence[Any]) -> None:
        self.shape = shape
        self.basic: list[Any] = []
        self.ones: list[int] = []
        self.advanced: list[Any] = []
        self.last = "alias"
        self.dim = 0
        specified = sum(map(_dims_of, items))
        if specified > len(shape):
            raise _too_many(len(shape))
        # The dims that `...` stands for.
        self.spare = len(shape) - specified

    def plan(self) -> ParsedIndex:
        basic = self.basic
        while basic and basic[-1] is FULL:
            basic.pop()
        advanced = self.advanced
        while advanced and advanced[-1] is None:
            advanced.pop()
        return ParsedIndex((*basic, ...), tuple(self.ones), tuple(advanced), self.last)

    def next_size(self) -> int:
        """The size of the tensor's next dim."""
        place = len(self.basic)
        if place >= len(self.shape):
            raise _too_many(len(self.shape))
        return self.shape[place]

    def keep(self, item: Any, advanced: Any = None) -> None:
        """The tensor's next dim, cut by `item`, is the view's next dim."""
        self.basic.append(item)
        self.advanced.append(advanced)
        self.dim += 1

    def insert(self, advanced: Any = None) -> None:
        """The view's next dim is a new one of size 1."""
        self.ones.append(self.dim)
        self.advanced.append(advanced)
        self.dim += 1
        self.last = "unsqueeze"


FULL = slice(None)
WHOLE = (...,)


# --- one handler per type of item -----------------------------------------------------------------


def _integer(parser: _IndexParser, item: Any) -> None:
    size = parser.next_size()
    place = int(item)
    if not -size <= place < size:
        if not -(1 << 63) <= place < 1 << 63:
            raise ValueError(f"Overflow when unpacking long long: an index must fit in int64, got {place}")
        raise out_of_bounds(place, len(parser.basic), size)
    parser.basic.append(place)
    parser.last = "select"


def _slice(parser: _IndexParser, item: slice) -> None:
    size = parser.next_size()
    start, stop, step = item.indices(size)
    if step < 0:
        raise ValueError("step must be greater than zero; x.flip(dim) reads a dim backwards")
    if start == 0 and step == 1 and stop == size:
        parser.keep(FULL)
        return
    parser.keep(slice(start, max(start, stop), step))
    parser.last = "slice"


def _ellipsis(parser: _IndexParser, item: Any) -> None:
    for _ in range(min(parser.spare, len(parser.shape) - len(parser.basic))):
        parser.keep(FULL)


def _flag(parser: _IndexParser, item: Any) -> None:
    # True is an index that finds the new dim's one element, False one that finds none.
    parser.insert(np.zeros(1 if item else 0, np.int64))


def _sequence(parser: _IndexParser, item: Any) -> None:
    _indices(parser, from_sequence(item))


def _indices(parser: _IndexParser, item: Any) -> None:
    """An index tensor or mask; a 0-d one acts as the int or bool that it is (inside vmap, it is many)."""
    a: np.ndarray[Any, Any] = item if isinstance(item, np.ndarray) else item._geometry
    if not a.ndim and a is not item:
        a = item._array
    if is_away(a) and not a.ndim:  # which the host must know
        a = a.device.read(a)
    kind = a.dtype.kind
    if a.ndim == 0 and a is not item:
        escape("an index made of a tensor", breaks=False)
    if a.ndim == 0 and kind in "iub" and not getattr(item, "_many", False):
        if a.dtype in _MASKS:
            _flag(parser, bool(a))
        else:
            _integer(parser, a.item())
        return
    parser.next_size()
    covered = a.ndim if a.dtype in _MASKS else 1
    if len(parser.basic) + covered > len(parser.shape):
        raise _too_many(len(parser.shape))
    parser.basic.extend([FULL] * covered)
    parser.advanced.append(item)
    parser.dim += covered


def _other(parser: _IndexParser, item: Any) -> None:
    """Whatever is of none of the usual classes."""
    if isinstance(item, Conversion):
        _indices(parser, item)
    elif isinstance(item, np.ndarray):
        _sequence(parser, item)
    elif isinstance(item, (bool, np.bool_)) or not hasattr(type(item), "__index__"):
        if isinstance(item, (dict, np.generic)) or not hasattr(item, "__getitem__"):
            raise _invalid(item)
        _sequence(parser, item)
    else:
        _integer(parser, item.__index__())


_HANDLERS: dict[type, Callable[[_IndexParser, Any], None]] = {
    int: _integer,
    slice: _slice,
    type(...): _ellipsis,
    type(None): lambda parser, item: parser.insert(),
    bool: _flag,
    list: _sequence,
    tuple: _sequence,
    range: _sequence,
}
_MASKS = frozenset({np.dtype(np.bool_), np.dtype(np.uint8)})


def _dims_of(item: Any) -> int:
    """How many dims of the tensor an item stands for."""
    if item is None or item is ... or item.__class__ is bool:
        return 0
    a = item._geometry if isinstance(item, Conversion) else item
    if (isinstance(a, np.ndarray) or is_away(a)) and a.dtype in _MASKS:
        return a.ndim
    return 1


# --- sequences ------------------------------------------------------------------------------------


def _as_tuple(index: Any) -> tuple[Any, ...]:
    """A bare index as a tuple of one, except a sequence that PyTorch still reads as a tuple."""
    if isinstance(index, (int, slice, Conversion, np.ndarray)) or index is None or index is ...:
        return (index,)
    if not hasattr(index, "__getitem__") or isinstance(index, (dict, np.generic)):
        return (index,)
    if len(index) >= 32 or not any(map(_makes_tuple, index)):
        return (index,)
    warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in "
        "pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor "
        "index, x[torch.tensor(seq)], which will result either in an error or a different result",
        UserWarning,
    )
    return tuple(index)


def _makes_tuple(item: Any) -> bool:
    if item is None or item is ... or isinstance(item, (slice, Conversion)):
        return True
    return hasattr(item, "__getitem__") and not isinstance(item, (dict, np.generic))


def from_sequence(item: Any) -> np.ndarray[Any, Any]:
    """A list (or the like) as a mask if it holds bools, else as int64 indices.

    Floats are cut off, as PyTorch does. TypeError or ValueError for what holds no numbers.
    """
    if isinstance(item, np.ndarray):
        found = checked(item)
    elif item.__class__ is range:
        return np.arange(item.start, item.stop, item.step, dtype=np.int64)
    else:
        found = _infer(item)
    if found.dtype in _MASKS:
        return found
    if found.dtype.kind == "c":
        raise TypeError("'complex' object cannot be interpreted as an integer")
    return found.astype(np.int64)


def _infer(item: Any) -> np.ndarray[Any, Any]:
    found = infer(item)
    if found.dtype.kind == "f":
        # A float list is read as int64 in the first place: what does not fit is refused there.
        return infer(item, dt.int64)
    return found


# --- errors ---------------------------------------------------------------------------------------


def _too_many(ndim: int) -> IndexError:
    return IndexError(f"too many indices for tensor of dimension {ndim}")


def _invalid(item: Any) -> IndexError:
    kind = type(item)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte "
        f"Variables are valid indices (got {name})"
    )


def _check_scalar(item: Any) -> None:
    """A 0-d tensor has no first dim to index."""
    if item.__class__ is slice:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if item.__class__ is int:
        refuse_scalar()


def refuse_scalar() -> NoReturn:
    """The error for t[0] where t is 0-d."""
    raise IndexError(
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
        "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
    )
