"""Machine code that runs the stages of a program, and of loops that only these need.

A stage is 8 slots of eight bytes: those from 8 to 13 of the team's memory (teamcode.py), then how many
members of the team may help. The loops have NumPy's inner loop ABI:

  rl_numpy    a loop of one of NumPy's own ufuncs. steps: the loop, its data, then its own steps
  rl_update   rl_multi. dims: part, parts. steps: its other arguments, in order
  rl_words    the next random words, unless the third argument says no. args: state, words, the third
              argument. dims: n. steps: the function of mersenne.py
  rl_targets  classes are looked at. args: classes, how many count. dims: n. steps: the step, how many classes
              there are, the one that does not count. Gives 1, and no count, where one is out of range
"""
from __future__ import annotations

from rushlight.compiler.ir import Function, Module
from rushlight.compiler.runtime import SLOT
from rushlight.compiler.teamcode import MEMCPY

NAMES = ("rl_program_run", "rl_numpy", "rl_update", "rl_words", "rl_targets")
_LOOP = "define i32 @rl_{}(ptr %c, ptr %args, ptr %dims, ptr %steps, ptr %d)"


def write(module: Module) -> None:
    """Put these loops into the runtime's module."""
    for each in (_numpy, _update, _words, _targets):
        f = Function(module, _LOOP.format(each.__name__[1:]))
        f.emit(f"ret i32 {each(f)}")
        f.finish()
    f = Function(module, "define i64 @rl_program_run(ptr %team, ptr %stages, i64 %first, i64 %count, "
                         "i64 %most)")
    _program(f)
    f.emit("ret i64 %count")
    f.finish()


def _program(f: Function) -> None:
    """All stages from `first` on, each with at most `most` members; the number of one whose loop does not
    give 0 ends the run, and is the result."""
    f.module.declare("smin", "declare i64 @llvm.smin.i64(i64, i64)")
    f.module.declare(*MEMCPY)
    with f.loop("%count", "%first") as i:
        stage = f.at("%stages", f.i64("shl", i, 6))
        loop, jobs, steps = (f.load("ptr", stage, SLOT * k) for k in (0, 1, 5))
        total, size, before, wanted = (f.load("i64", stage, SLOT * k) for k in (2, 3, 4, 6))
        helpers = f.op(f"call i64 @llvm.smin.i64(i64 {wanted}, i64 %most)")
        shared = f.i64("icmp sgt", helpers, 0)
        with f.when(shared):
            f.emit(f"call void {MEMCPY[0]}(ptr {f.at('%team', 8 * SLOT)}, ptr {stage}, i64 {6 * SLOT}, "
                   "i1 false)")
            f.store("i64", helpers, "%team", 24 * SLOT)
            f.emit(f"call void @rl_team_run(ptr %team, i64 {helpers})")
        with f.loop(f.op(f"select i1 {shared}, i64 0, i64 {total}")) as k:
            job = f.at(jobs, f.i64("mul", k, size))
            failed = f.op(f"call i32 {loop}(ptr null, ptr {job}, ptr {f.at(job, before)}, ptr {steps}, "
                          "ptr null)")
            with f.when(f.op(f"icmp ne i32 {failed}, 0")):
                f.emit(f"ret i64 {i}")
                f.start(f.fresh("never"))


def _numpy(f: Function) -> "str | int":
    loop, data, own = f.load("ptr", "%steps"), f.load("ptr", "%steps", SLOT), f.at("%steps", 2 * SLOT)
    f.emit(f"call void {loop}(ptr %args, ptr %dims, ptr {own}, ptr {data})")
    return 0


def _update(f: Function) -> "str | int":
    given = [f"{kind} {f.load(kind, base, SLOT * k)}" for kind, base, k in (
        ("ptr", "%steps", 0), ("ptr", "%steps", 1), ("ptr", "%steps", 2), ("i64", "%steps", 3),
        ("i64", "%dims", 0), ("i64", "%dims", 1), ("ptr", "%steps", 4))]
    refused = f.op(f"call i64 @rl_multi({', '.join(given)})")
    return f.op(f"trunc i64 {refused} to i32")


def _words(f: Function) -> "str | int":
    state, words, refuse = (f.load("ptr", "%args", SLOT * k) for k in range(3))
    no = f.load("i64", refuse)
    with f.when(f.i64("icmp eq", no, 0)):
        f.emit(f"call void {f.load('ptr', '%steps')}(ptr {state}, ptr {words}, i64 {f.load('i64', '%dims')})")
    return f.op(f"trunc i64 {no} to i32")


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
