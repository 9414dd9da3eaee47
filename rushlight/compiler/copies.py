"""Large copies by the team: straight ones, and transposed ones in tiles that registers hold."""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.base.config import knobs
from rushlight.compiler import native, pool, target, team
from rushlight.compiler.ir import Module
from rushlight.compiler.pointwise import conversion
from rushlight.compiler.runtime import SLOT
from rushlight.compiler.tilecode import Writer
from rushlight.compiler.tiles import offsets

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]
_BITS = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}


def copy(out: Array, a: Array) -> bool:
    """out[...] = a, of one shape and dtype; False, with nothing done, where that is left to NumPy."""
    of, usual = _BITS.get(a.itemsize), knobs.kernels != "numpy" and target.available() and team.possible()
    if of is None or not usual or np.may_share_memory(out, a):
        return False
    call = _tiles(of, a.itemsize, a.shape, a.strides, out.strides)
    if call is not None:
        call(pool.get_num_threads(), a, out)
    elif out.flags.c_contiguous and (a.flags.c_contiguous or not any(a.strides)):
        kernel = conversion(of, of)
        return kernel.compile_now() and kernel.parallel(a.view(of), out=out.view(of)) is not None
    return call is not None


@lru_cache(maxsize=256)
def _tiles(of: str, item: int, shape: Ints, source: Ints, to: Ints) -> team.Call | None:
    """What copies arrays that lie so, whose fastest axes differ and hold whole tiles: a job for each line of
    tiles along the source's."""
    if item not in source or item not in to or min(source + to) < 0:
        return None
    i, j, lanes = source.index(item), to.index(item), target.lanes(of)
    if i == j or shape[i] % lanes or shape[j] % (2 * lanes):
        return None
    others = [k for k in range(len(shape)) if k not in (i, j)]
    starts = [offsets([*[shape[k] for k in others], shape[j] // (2 * lanes)],
                      [*[steps[k] for k in others], steps[j] * 2 * lanes]) for steps in (source, to)]
    jobs = np.stack([*starts, np.full(len(starts[0]), shape[i])], 1)
    return team.Call((native.loop(turn, of), jobs, (0, 1), 2, np.array([to[i], source[j]], np.int64)))


def turn(module: Module, name: str, kind: str, lanes: int) -> None:
    """The IR. args: source, out. dims: how many i. steps: bytes of i in out, of j in the source.

    The source's neighbours are i, those of out j; a tile is a vector of i by two of j.
    """
    w = Writer(module, name, kind, lanes)
    f, size = w.f, w.size * lanes
    source, out = (f.load("ptr", "%args", SLOT * k) for k in range(2))
    step_i, step_j = (f.load("i64", "%steps", SLOT * k) for k in range(2))
    lines = [f.at(source, f.i64("mul", step_j, k)) for k in range(2 * lanes)]
    with f.counted(f.i64("udiv", f.load("i64", "%dims"), lanes)) as tile:
        offset, to = f.i64("mul", tile, size), f.at(out, f.i64("mul", f.i64("mul", tile, lanes), step_i))
        halves = [w.turned([w.read(p, offset) for p in lines[h:h + lanes]]) for h in (0, lanes)]
        for k in range(lanes):
            for h in (0, 1):
                w.write(halves[h][k], f.at(to, f.i64("mul", step_i, k)), h * size)
    f.emit("ret i32 0")
    f.finish()
