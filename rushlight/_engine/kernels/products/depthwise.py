"""Convolutions of each channel by a filter of its own (depthwise): sums of products of shifted planes.

The padded input is laid out so that a tap of the filter is one shift of all places: (channels, phases,
samples, *space), or with channels last; a phase holds every stride-th place. So all taps of a result lie at
the same distances from it, and neighbouring results are one vector, some of whose lanes no result is read
from. The weight's gradient is sums of products of the same shifted planes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.core.dtype import BY_NAME
from rushlight._engine.core.layout import convolves_last
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.llvm_ir import Module
from rushlight._engine.kernels.loops.columns import columns
from rushlight._engine.kernels.loops.rows import rows
from rushlight._engine.kernels.products.tile_code import Writer
from rushlight._engine.kernels.products.tiles import PARALLEL, Array, Ints, suits
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.kernels.runtime.abi import SLOT
from rushlight._engine.kernels.runtime.shared_loops import close
from rushlight._engine.ops.expressions import symbol
from rushlight._engine.ops.row_expressions import reduce_

# Taps of one pass, and sums of one.
_MOST, _MOST_SUMS = 64, 16
# Results (of the weight's gradient: those whose gradients are read) from which on this is worth its calls,
# where channels lie last and elsewhere: of fewer, tiles take no longer, and a program has them in one native
# call with what is around them.
_FEWEST = {True: 1 << 13, False: 1 << 14}
# Places of a job.
_PLACES = 1 << 12
# The place in the filter, the phase, and the shift in it, by dims.
Tap = tuple[Ints, Ints, Ints]


class _Grid(NamedTuple):
    """How places are laid out: sizes of a phase's space, its stride, whether channels lie last; `more` places
    follow the last one of a phase.
    """

    channels: int
    samples: int
    space: Ints
    stride: Ints
    last: bool
    more: int = 0

    @property
    def steps(self) -> Ints:
        """How many places on the next one of each dim is."""
        return tuple([prod(self.space[k + 1 :]) for k in range(len(self.space))])

    @property
    def places(self) -> int:
        """Of a phase."""
        return self.samples * prod(self.space) + self.more

    def reach(self, out: Ints) -> int:
        """Places from the first to behind the last of results (N, *out)."""
        last = sum((n - 1) * s for n, s in zip(out, self.steps, strict=True))
        return (self.samples - 1) * prod(self.space) + last + 1

    def roomy(self, taps: Iterable[Tap], length: int) -> _Grid:
        """The same, where `length` places from each tap on are there."""
        most = max(sum(p * s for p, s in zip(tap[2], self.steps, strict=True)) for tap in taps)
        return self._replace(more=max(0, most + length - self.places))

    def view(self, flat: Array, out: Ints) -> Array:
        """(N, C, *out) of the first places of (C, places), or (places, C)."""
        place, channel = flat.strides if self.last else flat.strides[::-1]
        steps = [prod(self.space), *self.steps]
        strides = steps[0] * place, channel, *[s * place for s in steps[1:]]
        return np.lib.stride_tricks.as_strided(flat, (self.samples, self.channels, *out), strides)

    def laying(self, before: Ints, channels: int = 0) -> Callable[[Array], Array]:
        """What lays (N, C, *space) out, behind so many zeros: (C, phases, places), or (phases, places,
        channels).
        """
        phases = []
        for phase in product(*map(range, self.stride)):
            # Place q of a phase is place q * stride + phase - before of the input.
            first = [max(0, -((p - b) // s)) for p, b, s in zip(phase, before, self.stride, strict=True)]
            ends = [n * s - b for n, s, b in zip(self.space, self.stride, before, strict=True)]
            start = [f * s + p - b for f, s, p, b in zip(first, self.stride, phase, before, strict=True)]
            spans = [slice(i, e, s) for i, e, s in zip(start, ends, self.stride, strict=True)]
            cut: tuple[Any, ...] = (..., *spans)
            phases.append((first, cut))

        def lay(a: Array) -> Array:
            sizes = len(phases), self.places
            wide = np.zeros((*sizes, channels) if self.last else (self.channels, *sizes), a.dtype)
            for k, (first, cut) in enumerate(phases):
                source = a[cut]
                to = self.view(wide[k] if self.last else wide[:, k], self.space)
                inside = [slice(f, f + n) for f, n in zip(first, source.shape[2:], strict=True)]
                at: tuple[Any, ...] = (..., *inside)
                to[at] = source
            return wide

        return lay

    def shift(self, tap: Tap) -> int:
        """How many places behind its result a tap reads."""
        number = 0
        for p, s in zip(tap[1], self.stride, strict=True):
            number = number * s + p
        return number * self.places + sum(p * s for p, s in zip(tap[2], self.steps, strict=True))


def convolution(which: str, a: Array, b: Array, *how: Any) -> Callable[[Array, Array], Array] | None:
    """forward, to_input or to_weight, as in convolution.py, where each channel has one filter of its own;
    None elsewhere, and where there is no machine code.
    """
    return _BUILD[which](a, b, *how) if fits(which, a, b, *how) and team.possible() else None


def fits(which: str, a: Array, b: Array, *how: Any) -> bool:
    """Whether each channel has one filter of its own, with enough places, and there is machine code for such
    operands.
    """
    groups = how[3] if which == "forward" else how[-1]
    space = how[4] if which == "forward" else how[0] if which == "to_input" else b.shape[2:]
    if groups < 2 or a.shape[0] * groups * prod(space) < _FEWEST[convolves_last(a, b)]:
        return False
    one = a.shape[1] == b.shape[1] if which == "to_weight" else b.shape[:2] == (groups, 1)
    return bool(a.shape[1] == groups and one and a.size and b.size and suits(a, b))


def _forward(
    x: Array, w: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int, out: Ints
) -> Callable[[Array, Array], Array]:
    taps = _taps(w.shape[2:], stride, dilation)
    grid = _Grid(groups, len(x), _space(out, taps), stride, convolves_last(x, w))
    sums = _Sums(grid, taps, out, x.dtype)
    lay = sums.grid.laying(padding, sums.channels)
    return lambda x, w: _dense(sums(lay(x), w), grid.last)


def _taps(kernel: Ints, stride: Ints, dilation: Ints) -> list[Tap]:
    """Tap k of a dim reads place k * dilation on from where its window begins."""
    found = []
    for place in product(*map(range, kernel)):
        on = [divmod(k * d, s) for k, d, s in zip(place, dilation, stride, strict=True)]
        found.append((place, tuple([phase for _, phase in on]), tuple([shift for shift, _ in on])))
    return found


def _space(out: Ints, taps: Iterable[Tap]) -> Ints:
    """Sizes of a phase that all taps of all results lie in."""
    furthest = map(max, zip(*[shift for _, _, shift in taps], strict=True))
    return tuple([n + f for n, f in zip(out, furthest, strict=True)])


def _dense(a: Array, last: bool) -> Array:
    """The same without gaps, channels last if so."""
    if not last:
        return np.ascontiguousarray(a)
    return _second(np.ascontiguousarray(a.transpose(0, *range(2, a.ndim), 1)))


def _second(a: Array) -> Array:
    """(N, *space, C) as (N, C, *space)."""
    return a.transpose(0, a.ndim - 1, *range(1, a.ndim - 1))


class _Sums:
    """The sums of the taps' products: (N, C, *out) of what the grid's `laying` gives, and filters
    (C, 1, *k).
    """

    def __init__(self, grid: _Grid, taps: Sequence[Tap], out: Ints, dtype: Any) -> None:
        lanes = target.lanes(dtype.name)
        length = grid.reach(out)
        length = length if grid.last else -(-length // lanes) * lanes
        self.grid, self.out = grid.roomy(taps, length), out
        # Channels that lie last fill whole vectors.
        self.channels = -(-grid.channels // lanes) * lanes if grid.last else grid.channels
        self.sizes = (length, self.channels) if grid.last else (self.channels, length)
        self.parts = [taps[k : k + _MOST] for k in range(0, len(taps), _MOST)]
        self.calls: list[team.Call] | None = None
        self.dtype, self.work = dtype, length * grid.channels * len(taps)
        self.filters = [[(slice(None), 0, *place) for place, _, _ in part] for part in self.parts]

    def __call__(self, wide: Array, w: Array) -> Array:
        if self.calls is None:
            self.calls = [self._call(part, k > 0) for k, part in enumerate(self.parts)]
        found = np.empty(self.sizes, self.dtype)
        threads = parallel.get_num_threads() if self.work >= PARALLEL else 1
        for call, places in zip(self.calls, self.filters, strict=True):
            call(threads, wide, self._weights(w, places), found)
        return self.grid.view(found, self.out)

    def _weights(self, w: Array, places: Sequence[Any]) -> Array:
        """(C, taps), or (taps, channels)."""
        if not self.grid.last:
            return np.stack([w[place] for place in places], -1)
        made = np.zeros((len(places), self.channels), self.dtype)
        for line, place in zip(made, places, strict=True):
            line[: self.grid.channels] = w[place]
        return made

    def _call(self, taps: Sequence[Tap], added: bool) -> team.Call:
        grid, size, lanes, count = self.grid, self.dtype.itemsize, target.lanes(self.dtype.name), len(taps)
        phases, length = prod(grid.stride), self.sizes[0 if grid.last else 1]
        shifts = [grid.shift(tap) for tap in taps]
        if grid.last:
            # By places, and by a vector's channels.
            step = size * self.channels
            starts = [
                (place * step + c * size, c * size, place * step + c * size, min(_PLACES, length - place))
                for place in range(0, length, _PLACES)
                for c in range(0, self.channels, lanes)
            ]
            steps = [step, *[s * step for s in shifts], *[k * step for k in range(count)]]
        else:
            own, to = phases * grid.places * size, length * size
            starts = [
                (c * own + i * size, c * count * size, c * to + i * size, min(_PLACES, length - i) // lanes)
                for c in range(grid.channels)
                for i in range(0, length, _PLACES)
            ]
            steps = [lanes * size, *[s * size for s in shifts], *[k * size for k in range(count)]]
        loop = native.loop(write, self.dtype.name, str(count), "last" * grid.last, "added" * added)
        jobs = np.array(starts, np.int64)
        return team.Call(team.CallStage(loop, jobs, range(3), 3, np.array(steps, np.int64)))


def write(module: Module, name: str, kind: str, lanes: int, taps: str, last: str, added: str) -> None:
    """The IR. args: places, weights, out. dims: how many vectors. steps: bytes to the next one, then of each
    tap in the places, then of each in the weights: a vector if channels lie `last`, else a number.
    """
    w = Writer(module, name, kind, lanes)
    f, count = w.function, int(taps)
    places, weights, out = (f.load("ptr", "%args", SLOT * k) for k in range(3))
    steps = [f.load("i64", "%steps", SLOT * k) for k in range(1 + 2 * count)]
    reads = [f.at(places, s) for s in steps[1 : 1 + count]]
    factors = [
        w.read(weights, s) if last else f.splat(kind, f.load(kind, weights, s)) for s in steps[1 + count :]
    ]
    with f.counted(f.load("i64", "%dims")) as i:
        at = f.i64("mul", i, steps[0])
        to = f.at(out, at)
        total = w.read(to) if added else w.read(reads[0], at) * factors[0]
        for pointer, factor in list(zip(reads, factors, strict=True))[not added :]:
            total = w.read(pointer, at).fma(factor, total)
        w.write(total, to)
    close(f)


def _to_input(
    g: Array, w: Array, space: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Callable[[Array, Array], Array] | None:
    """Places r, r + stride, ... of the input each are a convolution of the gradient by some of the taps."""
    last, parts = convolves_last(g, w), []
    for corner in product(*[range(min(s, n)) for s, n in zip(stride, space, strict=True)]):
        dims = [
            [(k, (r + p - k * d) // s) for k in range(n) if (r + p - k * d) % s == 0]
            for r, p, d, s, n in zip(corner, padding, dilation, stride, w.shape[2:], strict=True)
        ]
        counts = tuple([len(range(r, n, s)) for r, n, s in zip(corner, space, stride, strict=True)])
        taps = [tuple(zip(*chosen, strict=True)) for chosen in product(*dims)]
        if taps:
            parts.append((corner, counts, taps))
    if not parts:
        return None
    before = [max([0, *[-place[k] for _, _, taps in parts for _, place in taps]]) for k in range(len(space))]
    moved = [
        [
            (tap, (0,) * len(space), tuple([p + b for p, b in zip(place, before, strict=True)]))
            for tap, place in taps
        ]
        for _, _, taps in parts
    ]
    rooms = [_space(counts, taps) for (_, counts, _), taps in zip(parts, moved, strict=True)]
    grid = _Grid(groups, len(g), tuple(map(max, zip(*rooms, strict=True))), (1,) * len(space), last)
    # All read one layout, that has room for each.
    sums = [_Sums(grid, taps, counts, g.dtype) for (_, counts, _), taps in zip(parts, moved, strict=True)]
    room = max([each.grid.more for each in sums])
    for each in sums:
        each.grid = grid._replace(more=room)
    lay = sums[0].grid.laying(tuple(before), sums[0].channels)
    whole = parts[0][1] == space

    def call(g: Array, w: Array) -> Array:
        wide = lay(g)
        if whole:
            return _dense(sums[0](wide, w), last)
        out = np.zeros((len(g), *space, groups) if last else (len(g), groups, *space), g.dtype)
        found = _second(out) if last else out
        for (corner, _, _), each in zip(parts, sums, strict=True):
            into: tuple[Any, ...] = (..., *[slice(r, None, s) for r, s in zip(corner, stride, strict=True)])
            found[into] = each(wide, w)
        return found

    return call


def _to_weight(
    x: Array, g: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Callable[[Array, Array], Array] | None:
    taps, out = _taps(kernel, stride, dilation), g.shape[2:]
    grid = _Grid(groups, len(x), _space(out, taps), stride, convolves_last(x, g))
    length = grid.reach(out)
    grid = grid.roomy(taps, length)
    chunks = [taps[k : k + _MOST_SUMS] for k in range(0, len(taps), _MOST_SUMS)]
    kernels = [_products(len(chunk), grid.last, x.dtype.name) for chunk in chunks]
    if not all([each.compile_now() for each in kernels]):
        return None
    still = grid._replace(stride=(1,) * len(out), more=0)
    lay, lay_still = grid.laying(padding, groups), still.laying((0,) * len(out), groups)
    shifts = [[grid.shift(tap) for tap in chunk] for chunk in chunks]

    def call(x: Array, g: Array) -> Array:
        wide, given = lay(x), lay_still(g)
        flat = wide.reshape(-1, groups) if grid.last else wide.reshape(groups, -1)
        given = given[0, :length] if grid.last else given[:, 0, :length]
        found = np.empty((groups, 1, *kernel), x.dtype)
        for sums, chunk, starts in zip(kernels, chunks, shifts, strict=True):
            views = [flat[s : s + length] if grid.last else flat[:, s : s + length] for s in starts]
            made = sums.large(given, *views)
            for (place, _, _), each in zip(chunk, made if len(chunk) > 1 else (made,), strict=True):
                at: tuple[Any, ...] = (slice(None), 0, *place)
                found[at] = each
        return found

    return call


@cache
def _products(count: int, last: bool, dtype: str) -> Any:
    """The sums over places of g x0, g x1, ..., by channel."""
    names = ["g", *[f"x{k}" for k in range(count)]]
    products, made = [symbol("g") * symbol(name) for name in names[1:]], (BY_NAME[dtype].name,) * count
    if last:
        return columns(tuple(products), tuple([(n, dtype, "matrix") for n in names]), made)
    return rows(
        tuple([reduce_("add", p) for p in products]), tuple([(n, dtype, "vector") for n in names]), made
    )


_BUILD: dict[str, Callable[..., Callable[[Array, Array], Array] | None]] = {
    "forward": _forward,
    "to_input": _to_input,
    "to_weight": _to_weight,
}
