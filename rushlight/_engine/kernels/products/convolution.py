"""Convolutions as products addressed by tables (`tiles.py`): neither windows nor filters become matrices.

Each of the three products of a convolution is a list of jobs for the team: parts of the places, by blocks of
channels. What a job is depends on shapes and strides alone, so results have the same bits for any number of
threads. Operands may have any strides; only what is padded is copied. Results have channels last where an
operand has.

Where the processor multiplies pairs of bfloat16, operands of that dtype are multiplied so, and summed in
float32 (`pairs`). The first operand is laid out for it: the two of a pair lie side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.core.dtype import bfloat16
from rushlight._engine.core.layout import (
    channels_last_strides,
    contiguous_strides,
    convolves_last,
    has_channels_last,
)
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.moves.copies import copy
from rushlight._engine.kernels.products.tile_code import PAIRS, STRIP
from rushlight._engine.kernels.products.tiles import Array, Ints, Product, effort, offsets, suits
from rushlight._engine.kernels.runtime import team
from rushlight._engine.ops.nn.sliding_windows import padder

_BFLOAT16 = bfloat16.np
Pads = Sequence[tuple[int, int]]
# Rows of a job: enough for a block of B to be worth reading, few enough to share out one image.
_FEWEST, _MOST = 2 * STRIP, 10 * STRIP
# Places up to which a plan is kept: its tables have 16 bytes for each.
_KEPT = 1 << 17
# Words of a plan that the way holds, which knows it for longer.
_SMALL = 1 << 10
# Places of all samples that are one inner dim of a gradient's product.
_TOGETHER = 1 << 10
# Channels of a group from which on a transposed convolution is laid out twice.
_SIDE_BY_SIDE = 8
# Bytes of a packed gradient.
_WORKSPACE = 1 << 27


def convolution(which: str, a: Array, b: Array, *how: Any) -> Callable[[Array, Array], Any] | None:
    """forward, to_input or to_weight of operands like these, as a function of them; None where there is no
    machine code for them.
    """
    if divided(which, a, b):
        # The gradient is packed in blocks of so many channels: sample by sample where that is too much.
        half = len(a) // 2
        one, two = (convolution(which, a[s], b[s], *how) for s in (slice(half), slice(half, None)))
        return one and two and (lambda a, b: np.add(one(a[:half], b[:half]), two(a[half:], b[half:])))
    plan = planned(which, a, b, *how) if team.possible() else None
    if plan is None or plan.call.words.size <= _SMALL:
        return None if plan is None else plan.run
    return lambda a, b: planned(which, a, b, *how).run(a, b)  # type: ignore[union-attr]


def pairs(which: str, a: Array, b: Array, *how: Any) -> Callable[[Array, Array], Any] | None:
    """`convolution` of bfloat16, in bfloat16, by an instruction for pairs; None where it does not fit."""
    if not (a.dtype == b.dtype == _BFLOAT16 and a.size and b.size and target.available() and target.pairs()):
        return None
    if settings.kernels == "numpy" or divided(which, a, b) or not team.possible():
        return None
    groups, even = how[4 if which == "to_input" else 3], _evened(which)
    if which == "to_weight":
        if b.shape[-1] % 2:  # places are the pairs
            return None
    elif groups > 1 and (b.shape[1] if which == "forward" else b.shape[0] // groups) % 2:
        return None
    return lambda a, b: _planned(which, a, even(b), *how).run(a, even(b))


def _evened(which: str) -> Callable[[Array], Array]:
    """Filters with an even number of channels on the side that is summed over, the last of which may be 0."""
    axis = {"forward": 1, "to_input": 0}.get(which)

    def even(b: Array) -> Array:
        if axis is None or b.shape[axis] % 2 == 0:
            return b
        shape = [n + (k == axis) for k, n in enumerate(b.shape)]
        out = np.zeros(shape, np.uint16)
        out[tuple(map(slice, b.shape))] = b.view(np.uint16)
        return out.view(b.dtype)

    return even


def divided(which: str, a: Array, b: Array) -> bool:
    """Whether too much would be packed at once."""
    return which == "to_weight" and len(a) > 1 and b.nbytes * (16 / min(b.shape[1], 16)) > _WORKSPACE


def planned(which: str, a: Array, b: Array, *how: Any) -> _Plan | None:
    """The product that `convolution` runs."""
    return _planned(which, a, b, *how) if suits(a, b) and a.size and b.size else None


def _planned(which: str, a: Array, b: Array, *how: Any) -> Any:
    found = _plan if prod(a.shape[2:]) <= _KEPT else _plan.__wrapped__
    return found(
        which,
        a.dtype,
        a.shape,
        a.strides,
        b.shape,
        b.strides,
        *[h if h.__class__ is int else tuple(h) for h in how],
    )


@lru_cache(maxsize=128)
def _plan(
    which: str, dtype: Any, a: Ints, a_strides: Ints, b: Ints, b_strides: Ints, *how: Any
) -> _Plan | None:
    kernel, (stride, padding) = (
        (b[2:], how[:2]) if which == "forward" else (how[0] if which == "to_weight" else b[2:], how[1:3])
    )
    operands = _Layout(a, a_strides), _Layout(b, b_strides)
    # One tap: the channels' products are BLAS's, unless it would have to copy.
    form = _Form(np.dtype(np.float32), True) if dtype == _BFLOAT16 else _Form(dtype, False)
    plain = not any(padding) and {*kernel, *stride} == {1}
    if plain and not convolves_last(*operands) and not form.pairs:
        return None
    return _BUILD[which](form, *operands, *how)


class _Layout(NamedTuple):
    """An operand's shape (N, C, *space) and strides in bytes."""

    shape: Ints
    strides: Ints


class _Form(NamedTuple):
    """sums: the dtype that products are added up in; pairs: whether operands are pairs of bfloat16."""

    sums: Any
    pairs: bool

    @property
    def deep(self) -> int:
        """Elements that are multiplied at once."""
        return 2 if self.pairs else 1

    @property
    def made(self) -> Any:
        """The dtype of results."""
        return _BFLOAT16 if self.pairs else self.sums

    def wide(self, a: _Layout, pads: Pads, channels: int, last: bool) -> _Layout:
        """How the first operand lies as it is read: with so many channels, that lie last, if pairs are of
        channels.
        """
        if not self.pairs:
            return _padded(self.sums, a, pads)
        space = [n + low + high for n, (low, high) in zip(a.shape[2:], pads, strict=True)]
        return _laid(_BFLOAT16, (a.shape[0], channels, *space), last)

    def apart(self, step: int) -> dict[str, Any]:
        """What a Product is told of the halves of a pair of the second operand."""
        return {"stored": PAIRS, "apart": step, "made": _BFLOAT16.name} if self.pairs else {}


def _laid(dtype: Any, shape: Ints, last: bool = False) -> _Layout:
    strides = channels_last_strides(shape) if last else contiguous_strides(shape)
    return _Layout(shape, tuple([s * dtype.itemsize for s in strides]))


def _padded(dtype: Any, a: _Layout, pads: Pads) -> _Layout:
    """How an operand lies with its pads: in its own memory format."""
    if not any(p != (0, 0) for p in pads):
        return a
    space = [n + low + high for n, (low, high) in zip(a.shape[2:], pads, strict=True)]
    return _laid(dtype, (*a.shape[:2], *space), has_channels_last(*a))


def _times(strides: Sequence[int], factors: Sequence[int]) -> Ints:
    return tuple([s * f for s, f in zip(strides, factors, strict=True)])


class _Plan(Product):
    """A convolution's product. pads: A's, by (before, behind) for each dim; read: how A lies with them.

    steps, halves: as Product's.
    """

    # Once it is finished: the call of its parts, and what lays A out with its pads.
    call: Any
    wide: Any

    def __init__(
        self, form: _Form, a: _Layout, pads: Pads, read: _Layout, c: _Layout, *steps: Any, **halves: Any
    ) -> None:
        super().__init__(form.sums, *steps, **halves)
        self.given, self.pads, self.shape, self.strides = a, pads, c.shape, c.strides
        self.form, self.read = form, read
        self.last = c.strides != _laid(form.made, c.shape).strides
        # Whether windows are packed instead of filters; C's channels come first then.
        self.turned = False
        # Whether C, whose channels lie last, is to be laid out row by row when it is there.
        self.relaid = False

    def finish(self) -> None:
        """No more parts."""
        super().finish()
        packed, left = (2, 0) if self.turned else (0, 2)
        self.call = team.Call(
            team.CallStage(self.pack_code, self.packs, (packed, 1), 4, self.pack_steps),
            team.CallStage(self.tile_code, self.tiles, (left, 1, 3), 6, self.steps),
        )
        self.wide = (
            _laying(self.given, self.pads, self.read)
            if self.form.pairs
            else _padding(self.given.shape, self.pads, self.reads_last)
        )

    @property
    def reads_last(self) -> bool:
        """Whether A is laid out anew with its channels last."""
        return any(map(any, self.pads)) and self.read.strides != _laid(self.dtype, self.read.shape).strides

    def run(self, a: Array, source: Array) -> Array:
        """C."""
        n, channels, *space = self.shape
        # As what they are in memory: NumPy copies elements of its own types in half the time.
        of = np.dtype(np.uint16) if self.form.pairs else self.dtype
        c = np.empty((n, *space, channels) if self.last else self.shape, of)
        c = _channels_second(c) if self.last else c
        to = np.empty((channels, n, *space), of) if self.turned else c
        self.call(self.threads(), source, np.empty(self.size, np.uint8), self.wide(a), to)
        if self.turned:
            c[...] = to.swapaxes(0, 1)
        return (_rows(c) if self.relaid else c).view(self.form.made)

    def few(self, windows: Array, at: Array, filters: Array, bt: Array, apart: tuple[int, int]) -> bool:
        """Where filters are many and windows few, the product with these packed: whether that is so.

        Their offsets are those of windows and filters, and of an element in each; apart: bytes between the
        halves of a pair of each, where there are pairs.
        """
        j, i, item = len(windows), len(filters), self.form.made.itemsize
        self.turned = effort(i, j, j, self.dtype) < effort(j, i, i, self.dtype)
        if self.turned:
            if self.form.pairs:
                self.apart = apart[0]
                if apart[1] != item:
                    self.divide(apart[1])
            self.steps_j = 0, item
            first = self.panels(0, j, at, windows)
            rows = STRIP if i >= 2 * STRIP else self.high
            starts = [(0, 0, low, min(rows, i - low)) for low in range(0, i, rows)]
            self.multiply(starts, first, j, filters, np.arange(i) * (j * item), bt)
            self.finish()
        return self.turned


def _channels_second(a: Array) -> Array:
    """(N, *space, C) as (N, C, *space)."""
    return a.transpose(0, a.ndim - 1, *range(1, a.ndim - 1))


def _rows(a: Array) -> Array:
    """The same row by row."""
    out = np.empty(a.shape, a.dtype)
    if not copy(out, a):
        out[...] = a
    return out


def _padding(shape: Ints, pads: Pads, last: bool) -> Callable[[Array], Array]:
    """What pads an operand; last: whether its channels lie last."""
    if not last:
        return padder(shape, pads)
    pad = padder((shape[0], *shape[2:], shape[1]), [*pads, (0, 0)])
    return lambda a: _channels_second(pad(np.moveaxis(a, 1, -1)))


def _laying(given: _Layout, pads: Pads, read: _Layout) -> Callable[[Array], Array]:
    """What lays bfloat16 out: padded, with channels of zeros where there are more of them to be read."""
    if given == read:
        return lambda a: a
    n, channels, *space = read.shape
    last = read.strides[1] == _BFLOAT16.itemsize and read.strides != _laid(_BFLOAT16, read.shape).strides
    inside = tuple(
        [slice(None), slice(given.shape[1])]
        + [slice(low, low + size) for size, (low, _) in zip(given.shape[2:], pads, strict=True)]
    )

    def lay(a: Array) -> Array:
        # As what they are in memory: NumPy copies elements of its own types in half the time.
        out = np.zeros((n, *space, channels) if last else read.shape, np.uint16)
        to, source = (_channels_second(out) if last else out)[inside], a.view(np.uint16)
        if not copy(to, source):
            to[...] = source
        return out

    return lay


def _parts(samples: int, places: int) -> tuple[int, list[tuple[int, int, int]]]:
    """Most samples of a job, and the jobs: (first sample, first place in it, how many places from there)."""
    step = max(1, min(samples, _FEWEST // max(places, 1)))
    return step, [
        (n, low, min(_MOST, min(step, samples - n) * places - low))
        for n in range(0, samples, step)
        for low in range(0, min(step, samples - n) * places, _MOST)
    ]


def forward(
    form: _Form, x: _Layout, w: _Layout, stride: Ints, padding: Ints, dilation: Ints, groups: int, out: Ints
) -> _Plan:
    """(N, C, *in) by (O, C / groups, *k) -> (N, O, *out)."""
    pads, deep = [(p, p) for p in padding], form.deep
    (samples, _, *_), (outs, channels, *kernel) = x.shape, w.shape
    wide = form.wide(x, pads, channels * groups, True)
    c = _laid(form.made, (samples, outs, *out), convolves_last(x, w))
    xs, ws, cs = wide.strides, w.strides, c.strides
    plan = _Plan(form, x, pads, wide, c, (ws[0], cs[1]), **form.apart(ws[1]))
    most, parts = _parts(samples, prod(out))
    ai = offsets((most, *out), (xs[0], *_times(xs[2:], stride)))
    ci = offsets((most, *out), (cs[0], *cs[2:]))
    inner = [(channels // deep, deep * xs[1], deep * ws[1])]
    taps = [*zip(kernel, _times(xs[2:], dilation), ws[2:], strict=True)]
    # In the order of the filters' memory, which are read from one end to the other.
    inner = [*taps, *inner] if has_channels_last(*w, (3, 4, 5)) else [*inner, *taps]
    sizes, of_x, of_w = zip(*inner, strict=True)
    at, bt = offsets(sizes, of_x), offsets(sizes, of_w)
    each = outs // groups
    apart = xs[1], ws[1]
    if groups == 1 and most == samples and plan.few(ai, at, np.arange(outs) * ws[0], bt, apart):
        return plan
    for k in range(groups):
        starts = [
            (n * xs[0] + k * channels * xs[1], n * cs[0] + k * each * cs[1], *span) for n, *span in parts
        ]
        plan.add(starts, k * each * ws[0], each, ai, ci, at, bt)
    plan.finish()
    return plan


def to_input(
    form: _Form, g: _Layout, w: _Layout, space: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> _Plan:
    """(N, O, *out) by (O, C / groups, *k) back to (N, C, *space)."""
    (samples, _, *out), (outs, channels, *kernel) = g.shape, w.shape
    dims = [_classes(*of) for of in zip(space, kernel, stride, padding, dilation, strict=True)]
    pads = [_reach(classes, n) for classes, n in zip(dims, out, strict=True)]
    low = tuple([before for before, _ in pads])
    wide, deep = form.wide(g, pads, outs, True), form.deep
    last = convolves_last(g, w)
    # Places that lie apart are stored one by one, unless their channels lie side by side.
    relaid = not last and stride[-1] > 1 and channels >= _SIDE_BY_SIDE
    c = _laid(form.made, (samples, channels * groups, *space), last or relaid)
    gs, ws, cs = wide.strides, w.strides, c.strides
    plan = _Plan(form, g, pads, wide, c, (ws[1], cs[1]), **form.apart(ws[0]))
    plan.relaid = relaid
    each = outs // groups
    for classes in product(*dims):
        counts = tuple([count for _, count, _ in classes])
        most, parts = _parts(samples, prod(counts))
        ai = offsets((most, *counts), (gs[0], *gs[2:]))
        ci = offsets((most, *counts), (cs[0], *_times(cs[2:], stride)))
        at, bt = (offsets((each // deep,), (deep * step,)) for step in (gs[1], ws[0]))
        for (_, _, taps), before, step_g, step_w in zip(classes, low, gs[2:], ws[2:], strict=True):
            at = (at[:, None] + np.array([(place + before) * step_g for _, place in taps], np.int64)).ravel()
            bt = (bt[:, None] + np.array([tap * step_w for tap, _ in taps], np.int64)).ravel()
        corner = sum(_times(cs[2:], [r for r, _, _ in classes]))
        if (
            groups == 1
            and most == samples
            and {*stride} == {1}
            and plan.few(ai, at, np.arange(channels) * ws[1], bt, (gs[1], ws[0]))
        ):
            return plan
        for k in range(groups):
            starts = [
                (n * gs[0] + k * each * gs[1], n * cs[0] + k * channels * cs[1] + corner, *span)
                for n, *span in parts
            ]
            plan.add(starts, k * each * ws[0], channels, ai, ci, at, bt)
    plan.finish()
    return plan


def _classes(size: int, kernel: int, stride: int, pad: int, dilation: int) -> list[tuple[int, int, Any]]:
    """Places r, r + stride, ... of a dim read the same taps: (r, how many, [(tap, the gradient's place)])."""
    return [
        (
            r,
            len(range(r, size, stride)),
            [
                (k, (r + pad - k * dilation) // stride)
                for k in range(kernel)
                if (r + pad - k * dilation) % stride == 0
            ],
        )
        for r in range(min(stride, size))
    ]


def _reach(classes: Sequence[tuple[int, int, Any]], size: int) -> tuple[int, int]:
    """How far a dim's places reach before and behind the gradient."""
    spans = [(place, place + count) for _, count, taps in classes for _, place in taps] or [(0, size)]
    return max(0, -min(low for low, _ in spans)), max(0, max(high for _, high in spans) - size)


def to_weight(
    form: _Form,
    x: _Layout,
    g: _Layout,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> _Plan:
    """The sum over samples and places of windows of (N, C, *in) times (N, O, *out): (O, C / groups, *k)."""
    pads = [(p, p) for p in padding]
    wide, deep = form.wide(x, pads, x.shape[1], False), form.deep
    (samples, outs, *out), channels = g.shape, x.shape[1] // groups
    c = _laid(form.made, (outs, channels, *kernel), convolves_last(x, g))
    gs, xs, cs = g.strides, wide.strides, c.strides
    # Few places of a sample are walked with those of the others.
    whole = samples * prod(out) <= _TOGETHER
    steps = (gs[1], cs[0]), (xs[0], gs[0]), 1 if whole else samples
    plan = _Plan(form, x, pads, wide, c, *steps, **form.apart(gs[-1]))
    if form.pairs and stride[-1] > 1:
        plan.divide(stride[-1] * xs[-1])
    # In the order of C's memory: neighbouring rows of the product share its cache lines.
    order = [*range(1, len(kernel) + 1), 0] if plan.last else [*range(len(kernel) + 1)]
    ai, ci = (
        offsets([(channels, *kernel)[k] for k in order], [of[k] for k in order])
        for of in ((xs[1], *_times(xs[2:], dilation)), cs[1:])
    )
    walked = [*[samples] * whole, *out[:-1], out[-1] // deep]
    at, bt = (
        offsets(walked, [*of[:whole], *steps[:-1], deep * steps[-1]])
        for of, steps in ((xs, _times(xs[2:], stride)), (gs, gs[2:]))
    )
    each = outs // groups
    for k in range(groups):
        starts = [
            (k * channels * xs[1], k * each * cs[0], low, min(STRIP, len(ai) - low))
            for low in range(0, len(ai), STRIP)
        ]
        plan.add(starts, k * each * gs[1], each, ai, ci, at, bt)
    plan.finish()
    return plan


_BUILD: dict[str, Callable[..., _Plan]] = {"forward": forward, "to_input": to_input, "to_weight": to_weight}
