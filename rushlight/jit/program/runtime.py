"""What compiled programs call beside ops: the names of dtypes as numbers, text, errors, and ops in other
clothes.

A dtype, layout or memory format is a number in TorchScript, PyTorch's own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cmp_to_key
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

import rushlight as torch
from rushlight._engine.core import callers
from rushlight.jit.awaiting import (
    _Await as _Await,
    _awaitable as _awaitable,
    _awaitable_nowait as _awaitable_nowait,
)
from rushlight.jit.frontend import Error
from rushlight.jit.printing import told
from rushlight.jit.program.containers import ScriptDict, ScriptList
from rushlight.jit.program.graphtext import shown
from rushlight.jit.program.types import Type, of_value
from rushlight.nn import functional as F

_DTYPES = (
    "uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool qint8 quint8 "
    "qint32 bfloat16 . . . . . . . float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz uint16 uint32 "
    "uint64 . . . . . . . . . . . . . . float8_e8m0fnu"
).split()
_LISTS = {
    "ScalarType": _DTYPES,
    "Layout": "strided sparse_coo sparse_csr _mkldnn sparse_csc sparse_bsr sparse_bsc jagged".split(),
    "QScheme": "per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric "
    "per_channel_affine_float_qparams".split(),
    "MemoryFormat": ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"],
}
REDUCTIONS = ("none", "mean", "sum")
MISSING: Any = object()
LAST: list[Any] = [None]  # the compiled function that Python called last


def code(found: Any) -> int:
    """The number of a dtype, layout, scheme of quantization or memory format."""
    name = str(found).removeprefix("torch.")
    return next(names.index(name) for names in _LISTS.values() if name in names)


def decode(kind: str, number: Any) -> Any:
    """The dtype ("ScalarType"), layout or memory format of a number, or None."""
    return number if not isinstance(number, int) else getattr(torch, _LISTS[kind][number])


def elements(data: Any, kind: str) -> Any:
    """What torch.tensor makes a tensor of. A list without elements says by its type what it would hold, and
    by its first parts of what sizes.
    """
    if kind in ("Tensor", "str"):
        told = (
            "\nEmpty lists default to List[Tensor]. Add a "
            "variable annotation to the assignment to create an empty list of another type "
            "(torch.jit.annotate(List[T, []]) where T is the type of elements in the list for Python 2)"
        )
        said = told if kind == "Tensor" and not data else ""
        raise RuntimeError(f"Input must be of ints, floats, or bools, got {kind}{said}")
    sizes, first = [], data
    while isinstance(first, list):
        sizes.append(len(first))
        first = first[0] if first else None
    empty = first is None and kind in ("int", "bool")
    return np.empty(sizes, np.int64 if kind == "int" else np.bool_) if empty else data


def fail(shown: str, message: str, kind: str | None = None) -> Any:
    """What raise does."""
    raise Error(
        "The following operation failed in the TorchScript interpreter.\n"
        f"{shown}{kind or 'RuntimeError'}: {message}\n"
    )


def absent(kind: str) -> Any:
    """An op that a file's code has, perhaps where it never comes to, and Rushlight has not."""
    raise RuntimeError(f"{kind}: Rushlight has no such op")


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "bool": bool,
    "Device": torch.device,
    "str": str.__str__,  # of an Enum's member that is a text, the text
}


SCRIPTED: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""Objects of compiled classes that script() was given: programs get these as they are."""


def handed(value: Any, t: Type) -> Any:
    """An argument as a scripted function gets it: what it does to lists and dicts stays its own matter."""
    kind = t.kind
    if isinstance(value, (ScriptList, ScriptDict)) or value is None:
        return value
    if kind in _PLAIN:
        return _PLAIN[kind](value)
    if kind == "int":
        return int(value) if isinstance(value, (int, torch.Tensor)) else code(value)
    if kind == "Optional":
        return handed(value, t.args[0])
    if kind == "List" and t.args:
        return [handed(v, t.args[0]) for v in value]
    if kind == "Dict" and t.args:
        return {k: handed(v, t.args[1]) for k, v in value.items()}
    if kind == "Tuple" and len(t.args) == len(value):
        parts = map(handed, value, t.args)
        return tuple(parts) if t.cls is None else t.cls._make(parts)
    if kind == "Enum":
        return t.cls[value.name]
    if kind == "Class" and _is_copied(t) and id(value) not in SCRIPTED:
        made = value.__class__.__new__(value.__class__)
        for name, part in t.cls.fields.items():
            setattr(made, name, handed(getattr(value, name), part))
        return made
    return value


def mutable(t: Type) -> bool:
    """Whether values of a type are, or hold, lists or dicts, or objects of a program's own class."""
    return t.kind in ("List", "Dict") or any(map(mutable, t.args)) or (t.kind == "Class" and _is_copied(t))


def _is_copied(t: Type) -> bool:
    """Whether a program has objects of its own of a class that Python has, too."""
    own = t.cls
    return not (own.is_module or own.is_interface or own.trees) and isinstance(own.python, type)


def given_back(value: Any, t: Type) -> Any:
    """A result as Python gets it: what is done to its lists, dicts and objects stays Python's own matter."""
    kind = t.kind
    if kind == "Optional":
        return value if value is None else given_back(value, t.args[0])
    if kind == "List":
        inner = t.args[0]
        return [given_back(v, inner) for v in value] if mutable(inner) else list(value)
    if kind == "Dict":
        return {k: given_back(v, t.args[1]) for k, v in value.items()}
    if kind == "Tuple" and mutable(t) and len(t.args) == len(value):
        parts = [given_back(v, part) for v, part in zip(value, t.args, strict=True)]
        return tuple(parts) if type(value) is tuple else type(value)(*parts)
    if kind == "Class" and _is_copied(t):
        made = value.__class__.__new__(value.__class__)
        for name, part in t.cls.fields.items():
            setattr(made, name, given_back(getattr(value, name), part))
        return made
    return value


@contextmanager
def within(enter: Callable[..., Any], leave: Callable[..., Any], found: Any) -> Iterator[Any]:
    """What enter(found) gives, for a block; at its end, leave(found, None, None, None)."""
    given = enter(found)
    try:
        yield given
    finally:
        leave(found, None, None, None)


def show(*values: Any) -> None:
    """print(...)."""
    print(*map(told, values))


def formatted(form: str, *values: Any) -> str:
    """ "...{}...".format(...)."""
    return form.format(*map(told, values))


_PERCENT = (
    ("not enough arguments", "Too few arguments for format string: {form}"),
    ("not all arguments", "Too many arguments for format string: {form}"),
    ("incomplete format", "Incomplete format specifier at end of format string: {form}"),
)


def percent(form: str, *values: Any) -> str:
    """form % values."""
    letters = re.findall(r"%(.)", form)
    for letter in letters:
        if letter not in "%sdicfFeE":
            raise RuntimeError(f"The specifier %{letter} is not supported in TorchScript format strings")
    kinds = [letter for letter in letters if letter != "%"]
    given = tuple(told(v) if kind == "s" else v for v, kind in zip(values, kinds, strict=False))
    try:
        return form % (*given, *values[len(given) :])
    except (TypeError, ValueError) as error:
        message = str(error)
        for said, template in _PERCENT:
            if said in message:
                raise RuntimeError(template.format(form=form)) from None
        found = re.match(r"%(\w)", message)
        letter = found[1] if found else next(iter(re.findall(r"%(\w)", form)), "")
        if not letter or not any(isinstance(value, str) for value in values):
            raise
        wanted = "an int or char for formatting" if letter == "c" else "a number for formatting"
        raise RuntimeError(f"%{letter} requires {wanted}, but got String") from None


def set_item(where: Any, index: Any, value: Any) -> None:
    """where[index] = value."""
    where[index] = value


_ORDERED = ("int", "bool", "float", "str", "Tensor", "Class", "Tuple")


def _without_order(of: Any) -> Any:
    """The tuple, of this one and those within, that holds what cannot be sorted; None if none does."""
    for held in of.args:
        if held.kind not in _ORDERED:
            return of
        if held.kind == "Tuple" and (found := _without_order(held)) is not None:
            return found
    return None


def comparable(found: list[Any]) -> list[Any]:
    """A list that is to be sorted; RuntimeError where its elements are of several types, or have no order."""
    kinds = list(dict.fromkeys(str(of_value(item)) for item in found if not hasattr(item, "_type")))
    if len(kinds) > 1:
        raise RuntimeError(f"Only values of same type can be compared. Found {kinds[0]} and {kinds[1]}")
    if not kinds:
        return found
    kind: Any = of_value(found[0])
    if kind.kind == "Tuple" and (lacks := _without_order(kind)) is not None:
        raise RuntimeError(
            f"Contained elements in {shown(lacks)} are not sortable. Only Int, Bool, Float, String, Tensor, "
            "a User Defined Class with __lt__ method defined or Tuples of aforementioned types can be sorted."
        )
    if kind.kind not in _ORDERED:
        raise RuntimeError(
            "Only list of Tensors, ints, floats, bools, strs, a User Defined Class that defines the __lt__ "
            "compare method or Tuples of aforementioned types can be sorted, "
            f"got list of {kinds[0]}"
        )
    return found


def sorting_key(found: list[Any]) -> Callable[[Any], Any] | None:
    """By what a list is sorted: objects of a file's class by its __lt__, which Python does not see."""
    own = getattr(found[0], "_type", None) if found else None
    if own is None or not own.trees:
        return None
    # What it needs, jit.program.execute, imports this file.
    from rushlight.jit.program.execute import runner

    less = runner(own.method("__lt__"))
    return cmp_to_key(lambda one, other: -int(less(one, other)))  # only less than 0 is asked for


def index(found: list[Any], item: Any) -> int:
    """Where the first element is that equals the item."""
    try:
        return found.index(item)
    except ValueError:
        raise ValueError(f"'{item}' is not in list") from None


def extended(where: list[Any], more: list[Any]) -> list[Any]:
    """where += more."""
    where += more
    return where


def part(value: Any, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """value[start:end:step] of a list or text; RuntimeError for steps that PyTorch does not have."""
    if step == 0:
        raise RuntimeError("List slice should have non-zero step")
    if step == -1 << 63:
        raise RuntimeError("List slice step is out of bounds")
    return value[start:end:step]


def most(one: Any, other: Any) -> Any:
    """max(one, other) of numbers: of a float and an integer it is a float, and NaN first is passed over."""
    return type(one + other)(one if one > other else other)


def least(one: Any, other: Any) -> Any:
    """min(one, other) of numbers, as `most` does it."""
    return type(one + other)(one if one < other else other)


def number(value: Any, whole: bool = False) -> Any:
    """A tensor's number, where a tensor was given for a number; RuntimeError where PyTorch has it written."""
    if value.requires_grad:
        raise RuntimeError("Cannot input a tensor that requires grad as a scalar argument")
    if value.dim():
        raise RuntimeError("Cannot input a tensor of dimension other than 0 as a scalar argument")
    if whole and (value.dtype is torch.bool or value.is_floating_point() or value.is_complex()):
        shown = value.dtype.legacy
        raise RuntimeError(f"Cannot input a tensor of type {shown} as an integral argument")
    return value.item()


def unwrapped(value: Any) -> Any:
    """A value that must not be None."""
    if value is None:
        raise RuntimeError("AssertionError: Unwrapping null optional")
    return value


def child(container: Any, index: Any) -> Any:
    """A module in a container, by its place or its name."""
    return container._modules[index] if isinstance(index, str) else list(container._modules.values())[index]


def wait(value: Any) -> Any:
    """The result of fork(), which has run."""
    return value.wait() if hasattr(value, "wait") else value


def warn(message: str) -> None:
    """warnings.warn."""
    callers.warn(message)


def indices(found: list[Any]) -> tuple[Any, ...]:
    """Tensors for x[...], where None is a whole dim."""
    return tuple(slice(None) if i is None else i for i in found)


def put(x: Any, found: list[Any], values: Any, accumulate: bool) -> Any:
    """Write into places of a tensor; None is a whole dim."""
    if any(i is None for i in found):
        aten: Any = torch.ops.aten
        return aten.index_put_(x, found, values, accumulate)
    return x.index_put_(tuple(found), values, accumulate)


def narrowed(x: Any, parts: Any, dim: int) -> list[Any]:
    """Parts of a tensor that may be written to one by one, unlike the views of split."""
    starts = [sum(p.size(dim) for p in parts[:i]) for i in range(len(parts))]
    return [x.narrow(dim, start, p.size(dim)) for start, p in zip(starts, parts, strict=True)]


def given(sizes: Any) -> Any:
    """A stride that may be empty."""
    return None if sizes == [] else sizes


def convolution(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    *flags: bool,
) -> torch.Tensor:
    """A convolution of as many dims as the weight has, or its transpose."""
    dims = weight.dim() - 2
    if transposed:
        transpose = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[dims - 1]
        return transpose(x, weight, bias, stride, padding, output_padding, groups, dilation)
    convolve = (F.conv1d, F.conv2d, F.conv3d)[dims - 1]
    return convolve(x, weight, bias, stride, padding, dilation, groups)


def embedding_bag(
    weight: Any,
    indices: Any,
    offsets: Any,
    scale: bool = False,
    mode: int = 0,
    sparse: bool = False,
    weights: Any = None,
    last: bool = False,
    padding: int | None = None,
) -> Any:
    """F.embedding_bag in the internal op's order; three empty tensors behind the result."""
    found = F.embedding_bag(
        indices,
        weight,
        offsets,
        scale_grad_by_freq=scale,
        mode=("sum", "mean", "max")[mode],
        sparse=sparse,
        per_sample_weights=weights,
        include_last_offset=last,
        padding_idx=None if padding == -1 else padding,
    )
    return found, *(torch.empty(0, dtype=torch.int64) for _ in range(3))


def embedding_renorm_(weight: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """Scale the rows that indices name so that no norm exceeds max_norm, in place."""
    with torch.no_grad():
        F.embedding(indices, weight, max_norm=max_norm, norm_type=norm_type)
    return weight


def max_unpool(x: torch.Tensor, indices: torch.Tensor, size: list[int]) -> torch.Tensor:
    """Values at their places in zeros of these sizes, by indices into the last dims, flattened."""
    dims = len(size)
    flat = x.new_zeros((*x.shape[:-dims], math.prod(size)))
    return flat.scatter(-1, indices.flatten(-dims), x.flatten(-dims)).unflatten(-1, size)


def upsample(mode: str, x: Any, size: Any, corners: Any, *scales: Any) -> torch.Tensor:
    """An upsample op with scales for each dim."""
    given_scales = scales if scales and size is None else None
    return F.interpolate(x, size, given_scales, mode, corners)


def upsample_vec(
    mode: str, x: Any, size: Any, corners: Any, scales: Any, antialias: bool = False
) -> torch.Tensor:
    """An upsample op with a list of scales."""
    return F.interpolate(
        x, size, None if scales is None else tuple(scales), mode, corners, antialias=antialias
    )


def interpolate(
    x: Any,
    size: Any = None,
    scale: Any = None,
    mode: str = "nearest",
    corners: Any = None,
    recompute: Any = None,
    antialias: bool = False,
) -> torch.Tensor:
    """F.interpolate."""
    return F.interpolate(x, size, scale, mode, corners, recompute, antialias)


_ELEMENTS = {
    "int": (torch.int64, torch.int32),
    "float": (torch.float32, torch.float64),
    "bool": (torch.bool,),
    "complex": (torch.complex64, torch.complex128),
}


def listed(x: Any, wanted: str) -> Any:
    """x.tolist() as the annotation says; RuntimeError where the tensor has other dims or another dtype."""
    depth, element = wanted.count("List["), wanted.replace("List[", "").rstrip("]")
    if x.dim() != depth:
        raise RuntimeError(
            "Output annotation list dimension and runtime tensor dimension must match for "
            f"tolist(): got {depth} and {x.dim()}"
        )
    if x.dtype not in _ELEMENTS[element]:
        raise RuntimeError(
            "Output annotation element type and runtime tensor element type must match for "
            f"tolist(): got {element} and {x.dtype}"
        )
    return x.tolist()


def unique_dim(x: Any, dim: int, in_order: bool = True, inverse: bool = False, counts: bool = False) -> Any:
    """torch.unique over one dim, with all three results."""
    return torch.unique(x, in_order, True, True, dim)  # by position


def unique_consecutive(x: Any, inverse: bool = False, counts: bool = False, dim: int | None = None) -> Any:
    """torch.unique_consecutive; two more tensors behind the result, empty where they were not asked for."""
    found: Any = torch.unique_consecutive(x, inverse, counts, dim)
    parts = list(found) if isinstance(found, tuple) else [found]
    result, nothing = parts.pop(0), torch.empty(0, dtype=torch.int64)
    return result, parts.pop(0) if inverse else nothing, parts.pop(0) if counts else nothing


def spectrum(
    x: Any,
    n_fft: int,
    hop: Any = None,
    width: Any = None,
    window: Any = None,
    normalized: bool = False,
    onesided: Any = None,
    return_complex: Any = None,
    aligned: Any = None,
) -> torch.Tensor:
    """torch.stft of the internal op's arguments: nothing is added at the ends."""
    return torch.stft(x, n_fft, hop, width, window, False, "reflect", normalized, onesided, return_complex)


def products(side: int, common: torch.Tensor, *others: torch.Tensor) -> list[torch.Tensor]:
    """The products of one matrix, on the left (0) or the right (1), with several."""
    if len({t.shape for t in others}) != 1:
        return [torch.mm(*((common, t) if side == 0 else (t, common))) for t in others]
    if side == 0:
        return list(torch.mm(common, torch.cat(others, 1)).chunk(len(others), 1))
    return list(torch.mm(torch.cat(others, 0), common).chunk(len(others), 0))
