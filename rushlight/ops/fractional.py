"""Fractional max pooling (arXiv:1412.6071): windows whose places are drawn."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from rushlight.ops.pooling import _to_places
from rushlight.ops.table import ROWS, Array, composite, opaque
from rushlight.ops.windows import Ints, tuple_of


def _first(samples: Array, size: int, out: int, kernel: int) -> Array:
    """Where the windows of one dim start: (N, C, out), in the arithmetic of the samples' dtype."""
    if out == 1:
        return np.full((*samples.shape, 1), size - kernel)
    step = np.asarray((size - kernel) / (out - 1), samples.dtype)
    drawn = samples[..., None]
    found = ((np.arange(out).astype(samples.dtype) + drawn) * step).astype(np.int64) - (
        drawn * step).astype(np.int64)
    found[..., -1] = size - kernel
    return found


@opaque(where=("aten",), vjp=_to_places)
def _fractional_max(input, samples, kernel: "Any", out: "Any") -> tuple[Array, Array]:
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
    windows = input.reshape(-1, math.prod(space))[lead, places]
    best = windows.argmax(-1)[..., None]
    return tuple(np.take_along_axis(a, best, -1).reshape(*input.shape[:2], *out)  # type: ignore[return-value]
                 for a in (windows, places))


def _check(n: int, x: Any, kernel: Ints, out: Ints) -> None:
    op = f"fractional_max_pool{n}d"
    if any(not size for size in x.shape[-n - 1:]):
        raise RuntimeError(f"{op}(): Expected input to have non-zero size for non-batch dimensions, but got "
                           f"{list(x.shape)}")
    for name, size, k, o in zip(("time", "height", "width")[-n:], x.shape[-n:], kernel, out, strict=True):
        if o + k - 1 > size:
            raise RuntimeError(f"{op}{'_out' * (n == 3)}(): pool {name} {k} too large relative to input "
                               f"{name} {size}")


def _row(n: int, ending: str) -> None:
    op = f"fractional_max_pool{n}d"

    def body(input, kernel_size: "Any", output_size: "Any" = None, output_ratio: "Any" = None,
             return_indices: "bool" = False, _random_samples: "Tensor | None" = None):
        samples = _random_samples
        if output_size is None and output_ratio is None:
            raise ValueError(f"{op} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            if len(output_ratio) != n:
                raise ValueError(f"{op} requires output_ratio to either be a single Int or tuple of Ints.")
            output_size = [int(s * r) for s, r in zip(input.shape[-n:], output_ratio, strict=True)]
        x = input.unsqueeze(0) if input.ndim == n + 1 else input
        samples = ROWS["rand"](*x.shape[:2], n, dtype=x.dtype) if samples is None else samples
        if samples.shape[-1] != n:
            raise RuntimeError(f"Expect _random_samples.size(2) equals to {n}; got {samples.shape[-1]}.")
        kernel, out = (tuple_of(v, n, name, op) for v, name in ((kernel_size, "kernel_size"),
                                                               (output_size, "output_size")))
        _check(n, x, kernel, out)
        found = _fractional_max(x, samples, kernel, out)
        found = found if x is input else tuple(t.squeeze(0) for t in found)
        return found if return_indices or ending else found[0]
    composite(body, name=f"{op}{ending}", where=("nn.functional",),
              doc=f"The maximum of drawn windows of the last {n} dims (with its place, if return_indices).")


for _n in (2, 3):
    _row(_n, "")
    _row(_n, "_with_indices")
