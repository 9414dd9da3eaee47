"""Large copies by the team: straight ones, and transposed ones in tiles that registers hold."""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.loops.pointwise import conversion
from rushlight._engine.kernels.products.tile_code import Writer
from rushlight._engine.kernels.products.tiles import Array, Ints, offsets
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.kernels.runtime.abi import HEADER, SLOT
from rushlight._engine.kernels.runtime.shared_loops import close


def copy(out: Array, a: Array) -> bool:
    """out[...] = a, of one shape and dtype; False, with nothing done, where that is left to NumPy."""
    if settings.kernels == "numpy" or not target.available() or np.may_share_memory(out, a):
        return False
    found = _tiles(a.itemsize, a.shape, a.strides, out.strides)
    if found is not None and team.possible():
        call, axes, (i, j) = found
        call(parallel.get_num_threads(), a, out)
        if (i, j) == (a.shape[axes[0]], a.shape[axes[1]]):
            return True
        # What is left of the tiles.
        to, source = (np.moveaxis(x, axes, (0, 1)) for x in (out, a))
        to[i:], to[:i, j:] = source[i:], source[:i, j:]
        return True
    rows = _rows(a.itemsize, a.shape, a.strides, out.strides)
    if rows is not None and team.possible():
        rows(parallel.get_num_threads(), a, out)
        return True
    straight = a.itemsize <= 8 and out.flags.c_contiguous and out.size > 0
    if straight and (a.flags.c_contiguous or _in_rows(a)):
        of = f"int{8 * a.itemsize}"
        conversion(of, of).large(a.view(of), out=out.view(of))
        return True
    return False


def has_loop(out: Array, a: Array) -> bool:
    """Whether copy() goes by tiles, or by rows, of arrays that lie like these."""
    how = a.itemsize, a.shape, a.strides, out.strides
    return _tiles(*how) is not None or _rows(*how) is not None


def _in_rows(a: Array) -> bool:
    """Whether it lies in long rows, forwards or backwards, or has a number for each."""
    return a.shape[-1] >= _LONG and a.strides[-1] in (a.itemsize, -a.itemsize, 0)


# Elements of a row that is copied as such.
_LONG = 32
# Bytes of the shortest vectors that short axes are turned by.
_NARROWEST = 16


@lru_cache(maxsize=256)
def _tiles(item: int, shape: Ints, source: Ints, to: Ints) -> tuple[team.Call, Ints, Ints] | None:
    """What copies most of arrays that lie so: a job for each line of tiles along the source's fastest axis.
    Then both fastest axes, and how much of them it covers; None where they are one, or short.
    """
    if item not in source or item not in to or min(source + to) < 0:
        return None
    i, j, lanes, kind = source.index(item), to.index(item), target.lanes("int8") // item, f"i{8 * item}"
    while 2 * lanes > min(shape[i], shape[j]) and lanes * item > _NARROWEST:
        lanes //= 2
    others, side = [k for k in range(len(shape)) if k not in (i, j)], 2 * lanes
    # A job has some hundred elements; what is repeated is no transposition.
    if i == j or not source[j] or min(shape[i], shape[j]) < side or shape[i] * side < 512:
        return None
    sizes = [*[shape[k] for k in others], shape[j] // side]
    starts = [offsets(sizes, [*[steps[k] for k in others], steps[j] * side]) for steps in (source, to)]
    loop = native.address("turn", f"{kind} {lanes}", lambda module, name: turn(module, name, kind, lanes))
    jobs = np.stack([*starts, np.full(len(starts[0]), shape[i])], 1)
    return (
        team.Call(team.CallStage(loop, jobs, (0, 1), 2, np.array([to[i], source[j]], np.int64))),
        (i, j),
        (shape[i] // lanes * lanes, shape[j] // side * side),
    )


# Bytes of the shortest row that is copied as such, bytes of a vector, and of a job about.
_ROW, _VECTOR, _JOB = 32, 64, 1 << 16
_MOST_JOBS = 4096


@lru_cache(maxsize=256)
def _rows(item: int, shape: Ints, source: Ints, to: Ints) -> team.Call | None:
    """What copies arrays that lie in short rows, which are apart in one of them, or backwards in the source;
    None for others.
    """
    size, loops = item, list[list[int]]()  # of the loops: elements, steps of both, the last loop first
    turned = False
    for n, *both in sorted(zip(shape, source, to, strict=True), key=lambda loop: loop[2]):
        if n == 1:
            continue
        if size == item and not loops and both == [-item, item]:
            size, turned = n * item, True
        elif not loops and both == [size, size] and not turned:
            size *= n
        elif loops and both == [loops[-1][0] * step for step in loops[-1][1:]]:
            loops[-1][0] *= n
        else:
            loops.append([n, *both])
    if not loops or not _ROW <= size <= _JOB:
        return None
    sizes, *steps = (list(each) for each in zip(*reversed(loops), strict=True))
    *others, count = sizes
    cut = max(1, _JOB // size)
    pieces = -(-count // cut)
    if prod(others) * pieces > _MOST_JOBS:
        return None
    low = np.arange(pieces) * cut
    jobs = np.empty((prod(others), pieces, 4), np.int64)
    for k, each in enumerate(steps):
        jobs[:, :, k] = offsets(others, each[:-1])[:, None] + low * each[-1]
    jobs[:, :, 2], jobs[:, :, 3] = np.minimum(cut, count - low), size
    whole = size % _VECTOR == 0
    loop = native.address("rows", f"{whole}", lambda module, name: copy_rows(module, name, whole))
    if turned:
        jobs[:, :, 0] -= size - item  # where a row's memory begins
        kind, lanes = f"i{8 * item}", target.lanes("int8") // item
        loop = native.address(
            "rows backwards", f"{kind} {lanes}", lambda module, name: turn_rows(module, name, kind, lanes)
        )
    last = np.array([each[-1] for each in steps], np.int64)
    return team.Call(team.CallStage(loop, jobs.reshape(-1, 4), range(2), 2, last))


def copy_rows(module: Module, name: str, whole: bool) -> None:
    """The IR. args: source, out. dims: how many rows, bytes of one. steps: bytes from row to row of both.

    whole: whether rows are so many vectors.
    """
    f = Function(module, HEADER.format(name))
    source, out = (f.load("ptr", "%args", SLOT * k) for k in range(2))
    count, size = (f.load("i64", "%dims", SLOT * k) for k in range(2))
    steps = [f.load("i64", "%steps", SLOT * k) for k in range(2)]
    with f.counted(count) as i:
        line, to = (f.at(p, f.i64("mul", i, step)) for p, step in zip((source, out), steps, strict=True))
        done = "0"
        for wide in (_VECTOR,) if whole else (_VECTOR, 16, 4, 1):
            left = f.i64("udiv", f.i64("sub", size, done), wide)
            with f.counted(left) as k:
                at = f.i64("add", done, f.i64("mul", k, wide))
                part = f.op(f"load <{wide} x i8>, ptr {f.at(line, at)}, align 1")
                f.emit(f"store <{wide} x i8> {part}, ptr {f.at(to, at)}, align 1")
            done = f.i64("add", done, f.i64("mul", left, wide))
    close(f)


def turn_rows(module: Module, name: str, kind: str, lanes: int) -> None:
    """The IR of the same for rows whose elements are in the opposite order in out."""
    w = Writer(module, name, kind, lanes)
    f, one = w.function, w.size * lanes
    source, out = (f.load("ptr", "%args", SLOT * k) for k in range(2))
    count, size = (f.load("i64", "%dims", SLOT * k) for k in range(2))
    steps = [f.load("i64", "%steps", SLOT * k) for k in range(2)]
    whole = f.i64("udiv", size, one)
    begin = f.i64("mul", whole, one)
    left = f.i64("udiv", f.i64("sub", size, begin), w.size)
    with f.counted(count) as i:
        line, to = (f.at(p, f.i64("mul", i, step)) for p, step in zip((source, out), steps, strict=True))
        end = f.at(line, size)
        with f.counted(whole) as k:
            at = f.i64("mul", k, one)
            part = w.read(end, f.i64("sub", -one, at))
            w.write(w.shuffled(part, part, range(lanes - 1, -1, -1)), to, at)
        with f.counted(left) as k:
            at = f.i64("add", begin, f.i64("mul", k, w.size))
            f.store(kind, f.load(kind, end, f.i64("sub", -w.size, at)), to, at)
    close(f)


def turn(module: Module, name: str, kind: str, lanes: int) -> None:
    """The IR. args: source, out. dims: how many i. steps: bytes of i in out, of j in the source.

    The source's neighbours are i, those of out j; a tile is a vector of i by two of j.
    """
    w = Writer(module, name, kind, lanes)
    f, size = w.function, w.size * lanes
    source, out = (f.load("ptr", "%args", SLOT * k) for k in range(2))
    step_i, step_j = (f.load("i64", "%steps", SLOT * k) for k in range(2))
    lines = [f.at(source, f.i64("mul", step_j, k)) for k in range(2 * lanes)]
    with f.counted(f.i64("udiv", f.load("i64", "%dims"), lanes)) as tile:
        offset, to = f.i64("mul", tile, size), f.at(out, f.i64("mul", f.i64("mul", tile, lanes), step_i))
        halves = [w.turned([w.read(p, offset) for p in lines[h : h + lanes]]) for h in (0, lanes)]
        for k in range(lanes):
            for h in (0, 1):
                w.write(halves[h][k], f.at(to, f.i64("mul", step_i, k)), h * size)
    close(f)
