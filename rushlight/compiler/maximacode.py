"""Machine code of the maxima of windows, and of adding to where they were found.

`maxima`: for each window i of a plane, the greatest A[ai[i] + at[t]] (a nan is, the last of them), and its
place pi[i] + pt[t]. A window begins with its tap first[i]; of equal elements the first is found.
    args: A, maxima, places, ai, at, pi, pt, first    dims: how many i, t
`spread`: out[places[i]] += g[i], in order.
    args: g, places, out                              dims: how many i
Both have the team's ABI; tables hold bytes (ai, at), numbers (pi, pt, first), and go on for a vector.
"""
from __future__ import annotations

from rushlight.compiler.ir import BITS, Function, Module
from rushlight.compiler.lanes import Lane
from rushlight.compiler.runtime import SLOT, slot
from rushlight.compiler.tilecode import HEADER


def _gathered(f: Function, kind: str, pointers: list[str], offset: str) -> Lane:
    """An element from each of as many pointers as there are lanes."""
    vector, whole = f.type(kind), "poison"
    for k, p in enumerate(pointers):
        whole = f.op(f"insertelement {vector} {whole}, {kind} {f.load(kind, p, offset)}, i64 {k}")
    return Lane(f, kind, whole)


def maxima(module: Module, name: str, kind: str, lanes: int) -> None:
    """The IR of `maxima`."""
    f = Function(module, HEADER.format(name), lanes)
    a, maxima, places, ai, at, pi, pt, first = (f.load("ptr", "%args", SLOT * k) for k in range(8))
    count, taps = (f.load("i64", "%dims", SLOT * k) for k in range(2))
    with f.counted(f.i64("sdiv", f.i64("add", count, lanes - 1), lanes)) as block:
        i = [f.i64("add", f.i64("mul", block, lanes), k) for k in range(lanes)]
        starts = [f.at(a, f.load("i64", slot(f, ai, k))) for k in i]
        begins = [f.load("i64", slot(f, first, k)) for k in i]
        number, best = "poison", "poison"
        for k, (start, tap) in enumerate(zip(starts, begins, strict=True)):
            one = f.load(kind, start, f.load("i64", slot(f, at, tap)))
            best = f.op(f"insertelement {f.type(kind)} {best}, {kind} {one}, i64 {k}")
            number = f.op(f"insertelement {f.type('i64')} {number}, i64 {tap}, i64 {k}")
        with f.vectors(taps, [Lane(f, kind, best), Lane(f, "i64", number)]) as (t, (most, which), updated):
            value = _gathered(f, kind, starts, f.load("i64", slot(f, at, t)))
            better = (value > most).bits("or", value.is_nan())
            updated += [better.where(value, most), better.where(f.splat("i64", t), which)]
        for k, place in enumerate(i):
            with f.when(f.i64("icmp slt", place, count)):
                f.store(kind, f.op(f"extractelement {most!r}, i64 {k}"), f.at(
                    maxima, f.i64("mul", place, BITS[kind] // 8)))
                tap = f.op(f"extractelement {which!r}, i64 {k}")
                found = f.i64("add", f.load("i64", slot(f, pi, place)), f.load("i64", slot(f, pt, tap)))
                f.store("i64", found, slot(f, places, place))
    f.emit("ret i32 0")
    f.finish()


def spread(module: Module, name: str, kind: str, lanes: int) -> None:
    """The IR of `spread`."""
    f, size = Function(module, HEADER.format(name)), BITS[kind] // 8
    g, places, out = (f.load("ptr", "%args", SLOT * k) for k in range(3))
    with f.counted(f.load("i64", "%dims")) as i:
        to = f.at(out, f.i64("mul", f.load("i64", slot(f, places, i)), size))
        value = f.load(kind, g, f.i64("mul", i, size))
        f.store(kind, f.op(f"fadd {kind} {f.load(kind, to)}, {value}"), to)
    f.emit("ret i32 0")
    f.finish()
