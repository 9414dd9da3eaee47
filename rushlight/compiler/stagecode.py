"""Machine code of loops that only the stages of a program run, in the runtime that all kernels share.

  rl_numpy    a loop of one of NumPy's own ufuncs    steps: the loop, its data, then its own steps
  rl_copy     a matrix to another place              args: to, from. dims: rows, columns. steps: along rows, then
              along columns, of each; the size of an item
  rl_targets  classes are looked at and counted      args: classes, their count. dims: n. steps: the step, how many
              classes there are, the one that does not count. Gives 1, and no count, where one is out of range
"""
from __future__ import annotations

from rushlight.compiler.ir import Function, Module
from rushlight.compiler.runtime import SLOT, call_pack
from rushlight.compiler.teamcode import MEMCPY

_LOOP = "define i32 @rl_{}(ptr %c, ptr %args, ptr %dims, ptr %steps, ptr %d)"


def write(module: Module) -> None:
    """Put these loops into the runtime's module."""
    for each in (_numpy, _copy, _targets):
        f = Function(module, _LOOP.format(each.__name__[1:]))
        f.emit(f"ret i32 {each(f)}")
        f.finish()


def _numpy(f: Function) -> "str | int":
    loop, data, own = f.load("ptr", "%steps"), f.load("ptr", "%steps", SLOT), f.at("%steps", 2 * SLOT)
    f.emit(f"call void {loop}(ptr %args, ptr %dims, ptr {own}, ptr {data})")
    return 0


def _copy(f: Function) -> "str | int":
    f.module.declare(*MEMCPY)
    to, source = f.load("ptr", "%args"), f.load("ptr", "%args", SLOT)
    rows, columns = f.load("i64", "%dims"), f.load("i64", "%dims", SLOT)
    down, below, along, beside, size = (f.load("i64", "%steps", SLOT * k) for k in range(5))
    dense = f.op(f"and i1 {f.i64('icmp eq', along, size)}, {f.i64('icmp eq', beside, size)}")
    with f.loop(rows) as i:
        target, origin = f.at(to, f.i64("mul", i, down)), f.at(source, f.i64("mul", i, below))
        with f.when(dense):
            f.emit(f"call void {MEMCPY[0]}(ptr {target}, ptr {origin}, i64 {f.i64('mul', columns, size)}, "
                   "i1 false)")
        with f.when(f.op(f"xor i1 {dense}, true")):
            call_pack(f, target, along, origin, beside, columns, size)
    return 0


def _targets(f: Function) -> "str | int":
    classes, ignored = f.load("i64", "%steps", SLOT), f.load("i64", "%steps", 2 * SLOT)
    base, step, count, wrong = f.load("ptr", "%args"), f.load("i64", "%steps"), f.var(0), f.var("false", "i1")
    with f.loop(f.load("i64", "%dims")) as i:
        found = f.load("i64", base, f.i64("mul", i, step))
        counts = f.i64("icmp ne", found, ignored)
        count.set(f.i64("add", count.get(), f.op(f"zext i1 {counts} to i64")))
        outside = f.op(f"and i1 {counts}, {f.i64('icmp uge', found, classes)}")
        wrong.set(f.op(f"or i1 {wrong.get()}, {outside}"))
    bad = wrong.get()
    with f.when(f.op(f"xor i1 {bad}, true")):
        f.store("i64", count.get(), f.load("ptr", "%args", SLOT))
    return f.op(f"zext i1 {bad} to i32")
