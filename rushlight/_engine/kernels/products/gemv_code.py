"""Machine code of a row times a matrix whose columns, or rows, lie dense: y[j] = the sum of w[j, t] x[t].

Several of these, far from each other in memory, are read side by side: each is a stream that the processor
fetches ahead.
    args: w, x, y    dims: how many j, t    steps: bytes from one dense line of w to the next
"""

from __future__ import annotations

from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import BITS, Function, Module
from rushlight._engine.kernels.emit.scalar_code import item_size, load, store
from rushlight._engine.kernels.loops.row_plan import across
from rushlight._engine.kernels.runtime.abi import HEADER, SLOT

# How many columns at a time, and vectors of each; how many rows.
_STREAMS, _UNROLLED, _ROWS = 4, 2, 8


def _read(f: Function, stored: str, pointer: str, t: str) -> Lane:
    """Elements from the t-th on, in the dtype that sums have."""
    return load(f, f.at(pointer, f.i64("mul", t, item_size(stored))), stored)


def dots(module: Module, name: str, stored: str, wide: str, kind: str, lanes: int) -> None:
    """The IR, for elements of w that are stored as one dtype and summed up in another."""
    f = Function(module, HEADER.format(name), lanes)
    w, x, y = (f.load("ptr", "%args", SLOT * k) for k in range(3))
    count, depth = (f.load("i64", "%dims", SLOT * k) for k in range(2))
    step, size = f.load("i64", "%steps"), BITS[kind] // 8
    part = f.i64("sdiv", f.i64("add", count, _STREAMS - 1), _STREAMS)
    f.module.declare("llvm.smin.i64", "declare i64 @llvm.smin.i64(i64, i64)")
    whole = lanes * _UNROLLED
    blocks = f.i64("sdiv", depth, whole)
    with f.counted(part) as i:
        last = f.i64("sub", count, 1)
        columns = [
            f.op(f"call i64 @llvm.smin.i64(i64 {f.i64('add', i, f.i64('mul', part, k))}, i64 {last})")
            for k in range(_STREAMS)
        ]
        lines = [f.at(w, f.i64("mul", j, step)) for j in columns]
        with f.vectors(blocks, [f.const(kind, 0.0)] * (_STREAMS * _UNROLLED)) as (block, sums, updated):
            first = f.i64("mul", block, whole)
            places = [f.i64("add", first, lanes * u) for u in range(_UNROLLED)]
            right = [_read(f, wide, x, t) for t in places]
            updated += [
                _read(f, stored, line, t).fma(right[u], sums[_UNROLLED * k + u])
                for k, line in enumerate(lines)
                for u, t in enumerate(places)
            ]
        sums = [sums[_UNROLLED * k] + sums[_UNROLLED * k + 1] for k in range(_STREAMS)]
        totals = [f.op(f"extractelement {across(f, 'add', wide, a)!r}, i64 0") for a in sums]
        f.width = 1
        starts = [f.splat(kind, v) for v in totals]
        done = f.i64("mul", blocks, whole)
        with f.vectors(f.i64("sub", depth, done), starts) as (block, sums, updated):
            t = f.i64("add", done, block)
            right_one = _read(f, wide, x, t)
            updated += [
                _read(f, stored, line, t).fma(right_one, a) for line, a in zip(lines, sums, strict=True)
            ]
        for j, a in zip(columns, sums, strict=True):
            f.store(kind, f.op(f"extractelement {a!r}, i64 0"), y, f.i64("mul", j, size))
        f.width = lanes
    f.emit("ret i32 0")
    f.finish()


def sums(module: Module, name: str, stored: str, wide: str, kind: str, lanes: int) -> None:
    """The same for a matrix whose rows lie dense: every element is added up in the order of t."""
    f = Function(module, HEADER.format(name), lanes)
    w, x, y = (f.load("ptr", "%args", SLOT * k) for k in range(3))
    count, depth = (f.load("i64", "%dims", SLOT * k) for k in range(2))
    step, size = f.load("i64", "%steps"), BITS[kind] // 8
    blocks, vectors = f.i64("sdiv", depth, _ROWS), f.i64("sdiv", count, lanes)
    done, dealt = f.i64("mul", blocks, _ROWS), f.i64("mul", vectors, lanes)
    for rows, begin, times in (_ROWS, 0, blocks), (1, done, f.i64("sub", depth, done)):
        with f.counted(times) as block:
            first = f.i64("add", begin, f.i64("mul", block, rows))
            places = [f.i64("add", first, k) for k in range(rows)]
            lines = [f.at(w, f.i64("mul", t, step)) for t in places]
            factors = [f.load(kind, f.at(x, f.i64("mul", t, size))) for t in places]
            begins, goes_on = (f.i64(f"icmp {way}", first, 0) for way in ("eq", "ne"))
            for width, low, many in (lanes, 0, vectors), (1, dealt, f.i64("sub", count, dealt)):
                f.width = width
                turned = [f.splat(kind, factor) for factor in factors]
                for condition, zero in (begins, f.const(kind, 0.0)), (goes_on, None):
                    with f.when(condition), f.counted(many) as i:
                        j = f.i64("add", low, f.i64("mul", i, width))
                        total = zero or _read(f, wide, y, j)
                        for line, factor in zip(lines, turned, strict=True):
                            total = _read(f, stored, line, j).fma(factor, total)
                        store(f, total, f.at(y, f.i64("mul", j, size)), wide)
    f.width = lanes
    f.emit("ret i32 0")
    f.finish()
