"""Pooling to a wanted size: windows that divide a space (adaptive), or are drawn (fractional,
arXiv:1412.6071).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rushlight._engine.core.errors import wrong_type
from rushlight._engine.core.layout import has_channels_last
from rushlight._engine.core.services import service
from rushlight._engine.ops.creation.copying import formatted, in_format
from rushlight._engine.ops.linalg.matmul import is_low_precision
from rushlight._engine.ops.nn.pooling import FEW_TAPS, PLANES, _avg_pool, _greatest, _max_pool, _to_places
from rushlight._engine.ops.nn.sliding_windows import Ints, for_dims, images, is_int, parts, tuple_of
from rushlight._engine.ops.nn.taps import _weighted_sums
from rushlight._engine.ops.resolved import ArrayFunction, resolved
from rushlight._engine.ops.table import ROWS, Array, composite, opaque

_F = ("nn.functional",)


def _adaptive_sizes(op: str, n: int, x: Any, output_size: Any) -> Ints:
    space = x.shape[x.ndim - n :]
    alone = output_size is None or is_int(output_size)
    wanted = (output_size,) * n if alone else output_size
    if not isinstance(wanted, (list, tuple)) or any(isinstance(o, (str, float)) for o in wanted):
        raise wrong_type(op, "output_size", "tuple of ints", wanted, 2)
    if n > 1 and not alone and x.ndim <= len(wanted):
        raise ValueError(f"Input dimension should be at least {len(wanted) + 1}; {op}() got {list(x.shape)}")
    if len(wanted) != n:
        raise RuntimeError(f"{op}: internal error: output_size.size() must be {n}, got {list(wanted)}")
    if any(o is not None and o < 0 for o in wanted):
        raise RuntimeError(
            f"{op}(): elements of output_size must be greater than or equal to 0, but received {list(wanted)}"
        )
    sizes = tuple(size if o is None else int(o) for o, size in zip(wanted, space, strict=False))
    if math.prod(x.shape[: x.ndim - n]) * math.prod(sizes) >= 2**62:
        raise RuntimeError(f"{op}(): Storage size calculation overflowed with sizes={list(sizes)}")
    mean = {*sizes} == {1} and "avg" in op  # which asks for less
    sized = x.shape[1:] if x.ndim > n + 1 and ("max" in op or n == 3) else space
    if n == 1 or not mean:
        _check_dims(op, n, x, mean or all(sized))
    return sizes


def _check_dims(op: str, n: int, x: Any, filled: bool, kind: type[Exception] = RuntimeError) -> None:
    if x.ndim not in (n + 1, n + 2):
        raise kind(f"{op}(): Expected {n + 1}D or {n + 2}D tensor, but got {list(x.shape)}")
    if not filled:
        raise RuntimeError(
            f"{op}(): Expected input to have non-zero size for non-batch dimensions, but "
            f"input has sizes {list(x.shape)}"
        )


def _without_empty_gradients(op: str, n: int, found: Any) -> Any:
    """`found`, whose gradient is refused where a dim behind the batch is empty."""
    if found._geometry.size or found._grad_node is None:
        return found
    # That of a line is that of an image of it.
    sizes = list(found.shape) if n > 1 else [*found.shape[:-1], 1, found.shape[-1]]
    empty = next((i for i, size in enumerate(sizes) if i and not size), None)
    if empty is None:
        return found
    return service("a tensor without gradients")(
        found,
        f"{op.replace('1d', '2d')}_backward(): Expected grad_output to have non-zero size for non-batch "
        f"dimensions, but grad_output has sizes {sizes} with dimension {empty} being empty",
    )


def _even(space: Ints, out: Ints) -> Ints:
    """The sizes of windows that divide a space into equal parts; () where there are none."""
    even = all(o and size % o == 0 for o, size in zip(out, space, strict=True))
    return tuple([size // o for o, size in zip(out, space, strict=True)]) if even else ()


def _split(shape: Ints, out: Ints, kernel: Ints) -> Ints:
    """The sizes that show each window's dims as axes of their own."""
    return *shape[: -len(out)], *[length for pair in zip(out, kernel, strict=True) for length in pair]


_MANY = 1 << 12  # elements of a window that is looked at as a whole


@for_dims
def _adaptive_mean(n: int) -> None:
    name = f"adaptive_avg_pool{n}d"

    def body(input, output_size: Any):
        out = _adaptive_sizes(name, n, input, output_size)
        if set(out) == {1}:
            if n == 1 or not has_channels_last(input.shape, input.stride(), (n + 2,)):
                return input.mean(tuple(range(-n, 0)), True)
            return input.movedim(1, -1).mean(tuple(range(1, n + 1)), True).movedim(-1, 1)
        return _without_empty_gradients(name, n, ROWS[f"_{name}"](input, out))

    def parts(input, out: Ints):
        kernel = _even(input.shape[input.ndim - n :], out)
        if kernel and math.prod(kernel) <= FEW_TAPS:
            return _avg_pool(input, kernel, kernel, (0,) * n, out, True, None)
        if kernel:
            found = input.reshape(_split(input.shape, out, kernel)).mean(tuple(range(1 - 2 * n, 0, 2)))
        else:
            found = input.float() if is_low_precision(input._geometry) else input  # sums are rounded once
            for dim in reversed(range(input.ndim - n, input.ndim)):
                found = _weighted_sums(found, dim, input.shape[dim], out[dim - input.ndim], ("mean",))
        return in_format(found.to(input.dtype), input, PLANES[n])

    doc = f"The mean of windows that divide the space of {images(n)} into output_size parts."
    doc += " None keeps a size." if n > 1 else ""
    composite(body, name=name, planned=True, where=("torch", *_F) if n == 1 else _F, doc=doc)
    composite(parts, name=f"_{name}", planned=True, where=("aten",), doc=doc)


@opaque(where=("aten",), node="adaptive_max_pool", vjp=_to_places)
@resolved
def _adaptive_max(input, out: Ints) -> ArrayFunction:
    """(maxima, their places) of windows that divide the last dims."""
    lead, space = input.shape[: input.ndim - len(out)], input.shape[input.ndim - len(out) :]
    bounds = [parts(size, o) for size, o in zip(space, out, strict=True)]
    numbers = np.arange(math.prod(space)).reshape(space)

    def run(a: Array) -> tuple[Array, Array]:
        best, place = np.empty((*lead, *out), a.dtype), np.empty((*lead, *out), np.int64)
        for where in np.ndindex(*out):
            cut: tuple[Any, ...] = (..., *[slice(*b[w]) for b, w in zip(bounds, where, strict=True)])
            flat = a[cut].reshape(*lead, (inside := numbers[cut].reshape(-1)).size)
            at, lost = flat.argmax(-1), flat != flat
            if lost.any():  # the last nan is a window's maximum
                at = np.where(lost.any(-1), lost.shape[-1] - 1 - lost[..., ::-1].argmax(-1), at)
            best[(..., *where)] = np.take_along_axis(flat, at[..., None], -1)[..., 0]
            place[(..., *where)] = inside[at]
        return best, place

    return formatted(input, run)


def _adaptive_max_row(n: int, ending: str) -> None:
    name = f"adaptive_max_pool{n}d"

    def body(input, output_size: Any, return_indices: bool = False):
        out = _adaptive_sizes(name, n, input, output_size)
        kernel = _even(input.shape[input.ndim - n :], out)
        input = input.contiguous() if n == 3 else input
        if kernel and 0 < math.prod(kernel) <= _MANY:
            how = kernel, kernel, (0,) * n, (1,) * n, out
            return _max_pool(input, *how) if return_indices or ending else _greatest(input, *how)
        found = _adaptive_max(input, out)
        found = (_without_empty_gradients(name, n, found[0]), found[1])
        return found if return_indices or ending else found[0]

    composite(
        body,
        name=f"{name}{ending}",
        planned=not ending,
        where=(*_F, f"torch.{name}") if n == 1 and ending else _F,
        doc=f"The maximum of windows that divide the space of {images(n)} into output_size parts"
        f"{', and its place' if ending else ''}.",
    )


# --- fractional -----------------------------------------------------------------------------------


def _first(samples: Array, size: int, out: int, kernel: int) -> Array:
    """Where the windows of one dim start: (N, C, out), in the arithmetic of the samples' dtype."""
    if out == 1:
        return np.full((*samples.shape, 1), size - kernel)
    step = np.asarray((size - kernel) / (out - 1), samples.dtype)
    drawn = samples[..., None]
    ends = (np.arange(out).astype(samples.dtype) + drawn) * step
    found: Array = ends.astype(np.int64) - (drawn * step).astype(np.int64)
    found[..., -1:] = size - kernel
    return found


@opaque(where=("aten",), vjp=_to_places)
def _fractional_max(input, samples, kernel: Any, out: Any) -> tuple[Array, Array]:
    """(maxima, their places) of windows of input (N, C, *) at places drawn by samples (N, C, dims)."""
    n, space = len(kernel), input.shape[2:]
    places: Any = 0
    for d, size in enumerate(space):
        # PyTorch's samples count from the last dim in two dims, from the first in three.
        first = _first(samples[..., n - 1 - d if n == 2 else d], size, out[d], kernel[d])
        within = first[..., None] + np.arange(kernel[d])
        shape = [1] * (2 * n)
        shape[d], shape[n + d] = out[d], kernel[d]
        places = places * size + within.reshape(*within.shape[:2], *shape)
    places = places.reshape(*input.shape[:2], math.prod(out), math.prod(kernel))
    lead = np.arange(math.prod(input.shape[:2])).reshape(*input.shape[:2], 1, 1)
    windows = input.reshape(lead.size, math.prod(space))[lead, places]
    best = windows.argmax(-1)[..., None]
    sizes = (*input.shape[:2], *out)
    values = np.take_along_axis(windows, best, -1).reshape(sizes)
    return values, np.take_along_axis(places, best, -1).reshape(sizes)


def _check(op: str, n: int, x: Any, kernel: Ints, out: Ints) -> None:
    for name, size, k, o in zip(("time", "height", "width")[-n:], x.shape[-n:], kernel, out, strict=True):
        if o + k - 1 > size:
            raise RuntimeError(
                f"{op}{'_out' * (n == 3)}(): pool {name} {k} too large relative to input {name} {size}"
            )


def _sizes(op: str, n: int, value: Any, name: str) -> Ints:
    if not is_int(value) and len(value) != n:
        raise RuntimeError(f"{op}: {name} must either be a single Int or tuple of Ints, {n} of them")
    return tuple_of(value, n, name, op)


def _fractional_row(n: int, ending: str) -> None:
    op = f"fractional_max_pool{n}d"

    def body(
        input,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ):
        if output_size is None and output_ratio is None:
            raise ValueError(f"{op} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            if len(output_ratio) != n:
                raise ValueError(f"{op} requires output_ratio to either be a single Int or tuple of Ints.")
            output_size = [int(s * r) for s, r in zip(input.shape[-n:], output_ratio, strict=True)]
        _check_dims(op, n, input, all(input.shape[-n - 1 :]), IndexError if input.ndim <= n else RuntimeError)
        x = input.unsqueeze(0) if input.ndim == n + 1 else input
        samples = _random_samples
        if samples is None:
            samples = ROWS["rand"](*x.shape[:2], n, dtype=x.dtype, device=x.device)
        if (
            samples.dtype is not x.dtype
            or samples.shape[0] < x.shape[0]
            or (tuple(samples.shape[1:]) != (x.shape[1], n))
        ):
            raise RuntimeError(
                f"Expect _random_samples of {[*x.shape[:2], n]} (or a larger batch), "
                f"{x.dtype}; got {list(samples.shape)}, {samples.dtype}"
            )
        kernel, out = (
            _sizes(op, n, v, name) for v, name in ((kernel_size, "kernel_size"), (output_size, "output_size"))
        )
        _check(op, n, x, kernel, out)
        found = _fractional_max(x, samples[: x.shape[0]], kernel, out)
        found = found if x is input else tuple(t.squeeze(0) for t in found)
        return found if return_indices or ending else found[0]

    composite(
        body,
        name=f"{op}{ending}",
        where=("nn.functional",),
        doc=f"The maximum of drawn windows of {images(n)} (with its place, int64, if return_indices).\n\n"
        "output_size, or output_ratio in (0, 1) of the input's, says how many (ValueError for neither).",
    )


for _ending in ("", "_with_indices"):
    for _n in (1, 2, 3):
        _adaptive_max_row(_n, _ending)
    for _n in (2, 3):
        _fractional_row(_n, _ending)
