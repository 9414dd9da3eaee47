"""Large copies by the team: straight ones, and transposed ones in tiles that registers hold."""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from rushlight.base.config import knobs
from rushlight.compiler import native, pool, target, team
from rushlight.compiler.ir import Module
from rushlight.compiler.pointwise import conversion
from rushlight.compiler.runtime import SLOT
from rushlight.compiler.tilecode import Writer
from rushlight.compiler.tiles import offsets

Array = np.ndarray[Any, Any]
_BITS = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}
# Elements of a line from which on it is worth a loop of its own; of a side of what is transposed.
_LINE, _SIDE = 1024, 64


def copy(out: Array, a: Array) -> bool:
    """out[...] = a, of one shape and dtype; False, with nothing done, where NumPy is as good."""
    of = _BITS.get(a.itemsize)
    if of is None or knobs.kernels == "numpy" or not target.available() or np.may_share_memory(out, a):
        return False
    shape, to, source = _axes(a.shape, out.strides, a.strides)
    if not shape or to[-1] != a.itemsize or min(source) < 0:
        return False
    wide_out, wide_a = (as_strided(x.view(of), shape, s) for x, s in ((out, to), (a, source)))
    if source[-1] in (0, a.itemsize):
        return shape[-1] >= _LINE and _straight(wide_out, wide_a, conversion(of, of))
    axis = source.index(a.itemsize) if a.itemsize in source else -1
    if axis < 0 or min(shape[axis], shape[-1]) < _SIDE or not team.possible():
        return False
    call, i, j = _transposed(of, shape, to, source, axis)
    call(pool.get_num_threads(), a, out)
    # What is left of the tiles.
    wide_out[..., j:] = wide_a[..., j:]
    wide_out.swapaxes(0, axis)[i:, ..., :j] = wide_a.swapaxes(0, axis)[i:, ..., :j]
    return True


def _straight(out: Array, a: Array, kernel: Any) -> bool:
    return kernel.compile_now() and kernel.parallel(a, out=out) is out


@lru_cache(maxsize=1024)
def _axes(*layout: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The sizes and the byte steps of both of the fewest axes on which two arrays lie."""
    found: list[tuple[int, int, int]] = []
    for to, source, n in sorted([(t, s, n) for n, t, s in zip(*layout, strict=True) if n > 1], reverse=True):
        if found and found[-1][:2] == (to * n, source * n):
            n *= found.pop()[2]
        found.append((to, source, n))
    to, source, shape = zip(*found, strict=True) if found else ((),) * 3
    return shape, to, source


@lru_cache(maxsize=256)
def _transposed(of: str, shape: Any, to: Any, source: Any, axis: int) -> tuple[team.Call, int, int]:
    """A job for each range of the last axis, at each place of all others but `axis`; what tiles cover."""
    lanes, item = target.lanes(of), source[axis]
    i, j = (n - n % side for n, side in ((shape[axis], lanes), (shape[-1], 2 * lanes)))
    others = [k for k in range(len(shape) - 1) if k != axis]
    cuts = np.arange(0, j, _SIDE)
    starts = [offsets([shape[k] for k in others], [s[k] for k in others]) for s in (source, to)]
    jobs = np.empty((len(starts[0]), len(cuts), 4), np.int64)
    for k, along in enumerate((source[-1], item)):
        jobs[..., k] = starts[k][:, None] + cuts * along
    jobs[..., 2], jobs[..., 3] = i, np.minimum(_SIDE, j - cuts)
    strides = np.array([to[axis], source[-1]], np.int64)
    return team.Call((native.loop(turn, of), jobs.reshape(-1, 4), (0, 1), 2, strides)), i, j


def turn(module: Module, name: str, kind: str, lanes: int) -> None:
    """The IR. args: source, out. dims: how many i, j, of whole tiles. steps: bytes of i in out, of j in source.

    The source's neighbours are i, those of out j; a tile writes two vectors of j for as many i as one has lanes.
    """
    w = Writer(module, name, kind, lanes)
    f, size = w.f, w.size * lanes
    source, out = (f.load("ptr", "%args", SLOT * k) for k in range(2))
    step_i, step_j = (f.load("i64", "%steps", SLOT * k) for k in range(2))
    with f.counted(f.i64("udiv", f.load("i64", "%dims", SLOT), 2 * lanes)) as block:
        first = f.at(source, f.i64("mul", f.i64("mul", block, 2 * lanes), step_j))
        lines = [f.at(first, f.i64("mul", step_j, k)) for k in range(2 * lanes)]
        with f.counted(f.i64("udiv", f.load("i64", "%dims"), lanes)) as tile:
            offset = f.i64("mul", tile, size)
            to = f.at(f.at(out, f.i64("mul", block, 2 * size)), f.i64("mul", f.i64("mul", tile, lanes), step_i))
            halves = [w.turned([w.read(p, offset) for p in lines[h:h + lanes]]) for h in (0, lanes)]
            for k, pair in enumerate(zip(*halves, strict=True)):
                for h, value in enumerate(pair):
                    w.write(value, f.at(to, f.i64("mul", step_i, k)), h * size)
    f.emit("ret i32 0")
    f.finish()
