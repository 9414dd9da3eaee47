"""Pooling over one to three dims: windows reduced to their maximum, mean or norm."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core.determinism import alert
from rushlight._engine.core.layout import channels_last_strides, has_channels_last, laid_out
from rushlight._engine.core.services import service
from rushlight._engine.numerics.accumulate import add_at
from rushlight._engine.ops.creation.copying import assign, converted, duplicate, formatted, in_format
from rushlight._engine.ops.indexing.along_dim import FEW, take_along
from rushlight._engine.ops.linalg.matmul import is_low_precision
from rushlight._engine.ops.nn.sliding_windows import (
    Ints,
    add_windows,
    for_dims,
    images,
    is_int,
    lies_last,
    offsets,
    out_size,
    padder,
    reach,
    reads,
    terms,
    tuple_of,
)
from rushlight._engine.ops.resolved import ArrayFunction, resolved
from rushlight._engine.ops.table import ROWS, Array, composite, opaque

_F = ("nn.functional",)
PLANES = {1: (3,), 2: (4,), 3: ()}  # dims of an operand in channels last, by those of a mean's windows
# Elements of a window: larger ones are axes of their own. Of an input: larger ones are machine code's.
FEW_TAPS, _LARGE = 16, 1 << 16


def _check_input(op: str, n: int, x: Any, out: Ints | None = None, kernel: Ints | None = None) -> None:
    if x.ndim not in (n + 1, n + 2) or any(size == 0 for size in x.shape[x.ndim - n - 1 :]):
        raise RuntimeError(
            f"{op}: Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim "
            f"batch size for input, but got: {list(x.shape)}"
        )
    channels, *sizes = x.shape[x.ndim - n - 1 :]
    if op == "avg_pool3d" and kernel is not None and any(a < b for a, b in zip(sizes, kernel, strict=True)):
        space, taps = (
            " ".join(f"{k}{d}: {v}" for d, v in zip("THW", some, strict=True))
            for k, some in (("", sizes), ("k", kernel))
        )
        raise RuntimeError(f"input image ({space}) smaller than kernel size ({taps})")
    if out is not None and any(o < 1 for o in out):
        if op == "max_pool1d":
            raise RuntimeError(f"max_pool1d() Invalid computed output size: {out[0]}")
        middle = (1,) if n == 1 else ()  # PyTorch's kernel of one dim is that of two
        given, found = ("x".join(map(str, (channels, *middle, *some))) for some in (sizes, out))
        raise RuntimeError(
            f"Given input size: ({given}). Calculated output size: ({found}). Output size is too small"
        )


def _window(
    op: str, n: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any = 1
) -> tuple[Ints, Ints, Ints, Ints]:
    kernel = tuple_of(kernel_size, n, "kernel_size", op)
    empty = stride is None or (not is_int(stride) and not len(stride))
    step = kernel if empty else tuple_of(stride, n, "stride", op)
    pad, spread = (tuple_of(v, n, name, op) for v, name in ((padding, "padding"), (dilation, "dilation")))
    if 0 in step:
        raise RuntimeError(
            f"{op}() stride must be greater than zero, but got {step[0]}"
            if op == "max_pool1d"
            else "stride should not be zero"
        )
    for label, name, values in (
        ("kernel size", "kernel_size", kernel),
        ("stride", "stride", step),
        ("dilation", "dilation", spread),
    ):
        if any(v <= 0 for v in values):
            raise RuntimeError(f"{label} should be greater than zero, but got {name}={list(values)}")
    for k, p, d in zip(kernel, pad, spread, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got pad="
                f"{p}, kernel_size={k} and dilation={d}"
            )
    return kernel, step, pad, spread


def _planned(
    op: str, n: int, x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """(kernel, stride, padding, dilation, how many windows) over the last n dims."""
    how = _window(op, n, kernel_size, stride, padding, dilation)
    _check_input(op, n, x)
    out = tuple(out_size(*of, ceil_mode) for of in zip(x.shape[x.ndim - n :], *how, strict=True))
    _check_input(op, n, x, out, how[0])
    return *how, out


# --- maximum --------------------------------------------------------------------------------------


def _to_places(s: Any, grad: Any, unused: Any = None) -> Any:
    """The gradient of maxima goes to where they were found."""
    return _sent(grad, s.result[1], s.shape("input"), len(s.out))


def _to_maxima(s: Any, grad: Any, unused: Any = None) -> Any:
    """The same of windows of one size."""
    apart = all((k - 1) * d < step for k, d, step in zip(s.kernel, s.dilation, s.stride, strict=True))
    if apart and grad.dtype.itemsize == 2:  # nothing is added up: the digits are those of any dtype
        return _sent(grad.float(), s.result[1], s.shape("input"), len(s.out)).to(grad.dtype)
    return _sent(grad, s.result[1], s.shape("input"), len(s.out))


def _sent(grad: Any, places: Any, shape: tuple[int, ...], dims: int) -> Any:
    lead = shape[: len(shape) - dims]
    size = math.prod(shape[len(lead) :])
    if len(lead) == 2 and has_channels_last(places.shape, places.stride()):
        given = [t.movedim(1, -1).flatten(1, -2) for t in (grad, places)]
        return _spread_last(*given, size).reshape(lead[0], *shape[2:], lead[1]).movedim(-1, 1)
    return in_format(_spread(grad.flatten(len(lead)), places.flatten(len(lead)), size).reshape(shape), places)


@opaque(where=("aten",), vjp=lambda s, grad: (grad.gather(-1, s.places), None))
def _spread(input, places, size: int) -> Array:
    """Zeros (*lead, size) with input (*lead, n) added at places."""
    done: Array | None = service("max pool backward")(input, places, size)
    if done is None:
        done = np.zeros((*input.shape[:-1], size), input.dtype)
        rows = np.arange(math.prod(input.shape[:-1])).repeat(input.shape[-1])
        add_at(done.reshape(-1), rows * size + places.reshape(-1), input.reshape(-1))
    return done


@opaque(where=("aten",), vjp=lambda s, grad: (grad.gather(1, s.places), None))
def _spread_last(input, places, size: int) -> Array:
    """Zeros (N, size, C) with input (N, n, C) added at places, channel by channel."""
    done: Array | None = service("max pool backward")(input, places, size, True)
    if done is None:
        turned = [t.swapaxes(1, 2) for t in (input, places)]
        done = np.ascontiguousarray(_spread.body(*turned, size).swapaxes(1, 2))
    return done


@opaque(where=("aten",), node="max_pool", vjp=_to_maxima)
@resolved
def _max_pool(input, kernel: Ints, stride: Ints, pad: Ints, dilation: Ints, out: Ints) -> ArrayFunction:
    """(maxima, their places): a place counts the unpadded space, row by row."""
    lead, how = input.ndim - len(kernel), (kernel, stride, pad, dilation, out)
    space, wide, shape = input.shape[lead:], _widened(input, *how), (*input.shape[:lead], *out)
    cuts, low = [*offsets(kernel, stride, dilation, out)], is_low_precision(input)

    def run(a: Array) -> tuple[Array, Array]:
        done = service("max pool")(_densely(a, low), *how)
        if done is not None:
            found, places = done
            return (converted(found, np.empty_like(found, a.dtype)) if low else found), places
        a = wide(a)
        read = np.stack([a[cut].reshape(-1, math.prod(out)) for cut in cuts], 1)
        places, lost = reads(space, *how), read != read
        # Padding is no window's maximum.
        number = np.maximum(read.argmax(1), (places >= 0).argmax(0))
        if lost.any():  # the last nan of a window is its maximum
            number = np.where(lost.any(1), len(places) - 1 - lost[:, ::-1].argmax(1), number)
        return np.maximum.reduce(read, 1).reshape(shape), take_along(places, 0, number).reshape(shape)

    return _laid_out_as(input, len(kernel), run)


def _laid_out_as(x: Array, n: int, run: ArrayFunction) -> ArrayFunction:
    """`run`, whose results are in channels last where x is; three dims are images without a batch, too."""
    batch = (1, *x.shape), (x.size * x.itemsize, *x.strides)
    if n != 3 or x.ndim != 4 or not has_channels_last(*batch):
        return formatted(x, run)

    def turned(a: Array) -> Array:
        return assign(laid_out(a.shape, (channels_last_strides((1, *a.shape))[1:],), a.dtype), a)

    def run_turned(a: Array) -> Any:
        found = run(a)
        return turned(found) if isinstance(found, np.ndarray) else tuple(map(turned, found))

    return run_turned


def _densely(a: Array, low: bool) -> Array:
    """`a` row by row or in channels last, as machine code takes it; low: of two bytes, in float32 then."""
    last = has_channels_last(a.shape, a.strides) and np.moveaxis(a, 1, -1).flags.c_contiguous
    if low:
        return converted(a, np.empty_like(a, np.float32) if last else np.empty(a.shape, np.float32))
    return a if last or a.flags.c_contiguous else duplicate(a)


def _widened(x: Array, kernel: Ints, *how: Ints) -> ArrayFunction:
    """How arrays like x are padded for windows with maxima."""
    lowest = -np.inf if x.dtype.kind not in "iu" else np.iinfo(x.dtype).min
    return padder(x.shape, reach(x.shape[x.ndim - len(kernel) :], kernel, *how), lowest)


@composite(where=("aten",))
def _greatest(input, kernel: Ints, stride: Ints, pad: Ints, dilation: Ints, out: Ints):
    """The maxima alone."""
    return _max_pool(input, kernel, stride, pad, dilation, out)[0]


@_greatest.kernel
@resolved
def _greatest_kernel(x: Array, kernel: Ints, stride: Ints, pad: Ints, dilation: Ints, out: Ints) -> Any:
    lead = x.shape[: -len(out)]
    if x.shape == (*lead, *kernel) and not any(pad) and x.dtype in (np.float32, np.float64):
        places = tuple(range(len(lead), x.ndim))
        return formatted(x, lambda a: np.maximum.reduce(a, places, keepdims=True))
    if math.prod(kernel) > FEW_TAPS or x.size > _LARGE:
        return NotImplemented
    first, *others = offsets(kernel, stride, dilation, out)
    wide, shape = _widened(x, kernel, stride, pad, dilation, out), (*lead, *out)

    def run(a: Array) -> Array:
        a, found = wide(a), np.empty(shape, a.dtype)
        np.maximum(a[first], a[others[0] if others else first], out=found)
        for cut in others[1:]:
            np.maximum(found, a[cut], out=found)
        return found

    return _laid_out_as(x, len(out), run)


def _max(n: int, x: Any, *how: Any) -> Any:
    return _max_pool(x, *_planned(f"max_pool{n}d_with_indices", n, x, *how))


@for_dims
def _max_rows(n: int) -> None:
    def with_indices(
        input,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ):
        return _max(n, input, kernel_size, stride, padding, dilation, ceil_mode)

    def functional(
        input,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ):
        how = kernel_size, stride, padding, dilation, ceil_mode
        return _max(n, input, *how) if return_indices else ROWS[f"_{name}_plain"](input, *how)

    def plain(
        input,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ):
        return _greatest(
            input, *_planned(f"max_pool{n}d", n, input, kernel_size, stride, padding, dilation, ceil_mode)
        )

    name = f"max_pool{n}d"
    doc = (
        f"The maximum of each window of {images(n)}; and its place, int64, if return_indices.\n\n"
        "stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size\n"
        "becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a\n"
        "last window that reaches over the end counts. RuntimeError where nothing is left."
    )
    composite(functional, name=f"{name}_function", doc=doc, where=(f"nn.functional.{name}",), planned=True)
    composite(with_indices, name=f"{name}_with_indices", doc=doc, where=("torch", *_F) if n == 1 else _F)
    composite(plain, name=f"_{name}_plain", doc=doc, where=(f"torch.{name}",), planned=True)


# --- mean -----------------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def _shares(
    space: Ints,
    kernel: Ints,
    stride: Ints,
    pad: Ints,
    out: Ints,
    count_pad: bool,
    divisor: int | None,
    of: Any,
) -> Array:
    """What each window's sum is divided by."""
    if divisor is not None:
        return np.full(out, divisor, np.float64).astype(of)
    total = np.ones(out)
    for axis, (n, k, s, p, o) in enumerate(zip(space, kernel, stride, pad, out, strict=True)):
        start = np.arange(o) * s - p
        end = np.minimum(start + k, n + p)
        if not count_pad:
            start, end = np.maximum(start, 0), np.minimum(end, n)
        total = total * (end - start).reshape([-1 if i == axis else 1 for i in range(len(out))])
    return total.astype(of)


@opaque(where=("aten",), node="avg_pool")
@resolved
def _avg_pool(
    input, kernel: Ints, stride: Ints, pad: Ints, out: Ints, count_pad: bool, divisor: int | None
) -> ArrayFunction:
    """The sum of each window over its share."""
    lead, ones, of = input.ndim - len(kernel), (1,) * len(kernel), input.dtype
    space, wide_of = input.shape[lead:], of if of.itemsize > 2 else np.dtype(np.float32)
    wide = padder(input.shape, reach(space, kernel, stride, pad, ones, out))
    first, *others = cuts = offsets(kernel, stride, ones, out)
    share = _shares(space, kernel, stride, pad, out, count_pad, divisor, wide_of)
    few = math.prod(input.shape[:lead] + out) > 1 and input.size <= FEW
    if few and wide(input) is input and wide_of is of and of.kind == "f":
        places = np.arange(input.size).reshape(input.shape)
        table, even = np.array([places[cut] for cut in cuts]), (share == share.flat[0]).all()
        share = np.array(share.flat[0]) if even else share
        add = service("reduction of few elements")(np.add, table.astype(of), (0,), False) or np.add.reduce

        def looked_up(a: Array) -> Array:  # tap by tap, as below
            found: Array = np.divide(total := add(a.take(table)), share, total)
            return found

        return formatted(input, looked_up, PLANES[len(kernel)])

    last = lies_last(input, len(out))

    def run(a: Array) -> Array:
        a = a.astype(wide_of, copy=False)
        if last:
            total = sums_of_places(a, *terms(space, kernel, stride, pad, out, False))
            if total is not None:
                shared = share.reshape(-1, 1)
                found = np.divide(total, shared, total).astype(of, copy=False)
                return np.moveaxis(found.reshape(len(a), *out, a.shape[1]), -1, 1)
        done: Array | None = service("mean pool")(a, share, kernel, stride, pad, out)
        if done is not None:
            return done.astype(of, copy=False)
        a = wide(a)
        total = a[first] + 0
        for cut in others:
            np.add(total, a[cut], total)
        mean: Array = np.divide(total, share, total, casting="unsafe").astype(of, copy=False)
        return mean

    return formatted(input, run, PLANES[len(kernel)])


def sums_of_places(a: Array, starts: Array, places: Array) -> Array | None:
    """(N, n, C) sums of places of (N, C, *space) in channels last: of each n those that its list says."""
    rows = np.moveaxis(a, 1, -1).reshape(len(a), -1, a.shape[1])
    found: Array | None = service("sums of rows along a dim")(rows, 1, starts, places)
    return found


@_avg_pool.gradient
def _avg_pool_gradient(s: Any, grad: Any) -> Any:
    space = s.shape("input")[len(s.shape("input")) - len(s.kernel) :]
    return _avg_pool_back(grad, space, s.kernel, s.stride, s.pad, s.count_pad, s.divisor)


@opaque(where=("aten",), node="avg_pool_backward")
def _avg_pool_back(
    grad, space: Ints, kernel: Ints, stride: Ints, pad: Ints, count_pad: bool, divisor: int | None
) -> Array:
    """Each window's gradient over its share, added to all that it read."""
    n = len(kernel)
    out, lead = grad.shape[grad.ndim - n :], grad.shape[: grad.ndim - n]
    share = _shares(space, kernel, stride, pad, out, count_pad, divisor, grad.dtype)

    last = lies_last(grad, n)

    def run(grad: Array) -> Array:
        part = (grad / share).astype(grad.dtype, copy=False)
        if last:
            found = sums_of_places(part, *terms(space, kernel, stride, pad, out, True))
            if found is not None:
                return np.moveaxis(found.reshape(len(part), *space, part.shape[1]), -1, 1)
        each = np.broadcast_to(part.reshape(*lead, *[1] * n, *out), (*lead, *kernel, *out))
        return add_windows(each, space, kernel, stride, pad, (1,) * n)

    return formatted(grad, run)(grad) if n == 2 else run(grad)


@_avg_pool_back.gradient
def _avg_pool_back_gradient(s: Any, grad: Any) -> Any:
    n = len(s.kernel)
    out = s.shape("grad")[len(s.shape("grad")) - n :]
    return _avg_pool(grad, s.kernel, s.stride, s.pad, out, s.count_pad, s.divisor)


def _mean(
    n: int,
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_pad: bool,
    divisor: int | None,
) -> Any:
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    kernel, step, pad, _, out = _planned(f"avg_pool{n}d", n, x, kernel_size, stride, padding, 1, ceil_mode)
    return _avg_pool(x, kernel, step, pad, out, count_pad, divisor)


@for_dims
def _mean_row(n: int) -> None:
    def mean_1d(
        input,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ):
        return _mean(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)

    def mean(
        input,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ):
        return _mean(n, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    composite(
        mean_1d if n == 1 else mean,
        name=f"avg_pool{n}d",
        planned=True,
        out=n > 1,
        where=("torch", *_F) if n == 1 else _F,
        doc=f"The mean of each window of {images(n)}.\n\n"
        "stride: kernel_size unless given. count_include_pad: padding counts as zeros, else not at all.\n"
        "Sizes and ceil_mode as of max_pool.",
    )


# --- norm -----------------------------------------------------------------------------------------


@for_dims
def _norm_row(n: int) -> None:
    def body(input, norm_type: Number, kernel_size: Any, stride: Any = None, ceil_mode: bool = False):
        if abs(norm_type) == math.inf:
            sign_of = math.copysign(1, norm_type)
            return sign_of * _max(n, sign_of * input.abs(), kernel_size, stride, 0, 1, ceil_mode)[0]
        kernel = tuple_of(kernel_size, n, "kernel_size", f"lp_pool{n}d")
        mean = _mean(n, input**norm_type, kernel, stride, 0, ceil_mode, True, None)
        return ((mean.sign() * mean.abs().relu()) * math.prod(kernel)) ** (1.0 / norm_type)

    composite(
        body,
        planned=True,
        name=f"lp_pool{n}d",
        where=_F,
        doc=f"The p-norm of each window of {images(n)}, p = norm_type.",
    )


# --- the inverse of max pooling -------------------------------------------------------------------


def _planar(n: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape as PyTorch's kernel sees it: lines are planes of width 1."""
    return (*shape, 1) if n == 1 else shape


def _unpooled_size(n: int, input: Any, window: tuple[Any, Any, Any], output_size: Any) -> list[int]:
    """The size of images that max_unpool gives; ValueError for one that no pooling makes this one of."""
    if input.ndim < n:
        raise IndexError("tuple index out of range")
    default = [(size - 1) * s + k - 2 * p for size, k, s, p in zip(input.shape[-n:], *window, strict=True)]
    if output_size is None:
        return default
    asked = output_size[2:] if len(output_size) == n + 2 else output_size
    if len(asked) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of "
            f"'{len(asked)}'"
        )
    for i, (d, w, s) in enumerate(zip(default, asked, window[1], strict=True)):
        if not d - s < w < d + s:
            shown = list(asked) if isinstance(asked, list) else tuple(asked)
            raise ValueError(f'invalid output_size "{shown}" (dim {i} must be between {d - s} and {d + s})')
    return [int(v) for v in asked]


def _check_unpool(n: int, input: Any, indices: Any) -> None:
    """RuntimeError for what max_unpool does not take."""
    m, shape = max(n, 2), _planar(n, tuple(input.shape))
    if indices.dtype.name != "int64":
        told = "" if n == 3 else f" but got: {indices.dtype.legacy}"
        raise RuntimeError(f"elements in indices should be type int64{told}")
    if len(shape) not in (m + 1, m + 2):
        raise RuntimeError(
            f"Input to max_unpooling{m}d should be a {m + 1}d or {m + 2}d Tensor, but got a tensor with "
            f"{len(shape)} dimensions."
        )
    if tuple(indices.shape) != tuple(input.shape):
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(shape)}) but "
            f"got indices tensor with shape: {list(_planar(n, tuple(indices.shape)))}"
        )
    empty = next((i for i in range(1, len(shape)) if not shape[i]), None)
    if empty is not None:
        raise RuntimeError(
            f"max_unpooling{m}d_forward_out_cpu(): Expected input to have non-zero size for non-batch "
            f"dimensions, but got {list(shape)} with dimension {empty} being empty."
        )


@for_dims
def _unpool_row(n: int) -> None:
    op = f"max_unpool{n}d"

    def body(
        input,
        indices,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ):
        kernel, step, pad, _ = _window(op, n, kernel_size, stride, padding)
        wanted = _unpooled_size(n, input, (kernel, step, pad), output_size)
        _check_unpool(n, input, indices)
        alert(f"max_unpooling{max(n, 2)}d_forward_out")
        flat = input.detach().new_zeros((*input.shape[:-n], math.prod(wanted)))
        try:
            found = flat.scatter(-1, indices.flatten(-n), input.flatten(-n)).unflatten(-1, wanted)
        except RuntimeError:
            wrong = indices[(indices < 0) | (indices >= math.prod(wanted))]
            if not wrong.numel():
                raise
            volume = "x".join(map(str, _planar(n, tuple(wanted))))
            raise RuntimeError(
                f"Found an invalid max index: {wrong[0].item()} (output volumes are of size {volume})"
            ) from None
        return in_format(found, input) if n == 2 else found

    composite(
        body,
        name=op,
        where=_F,
        doc=f"The maxima {images(n)} of windows put back at their places (int64), 0 elsewhere.\n\n"
        "output_size chooses among the sizes that pooling makes this one of; ValueError for others.",
    )
