"""Machine code of a team of threads: parts of a kernel's work, taken in turns without the interpreter.

The team's memory, in slots of eight bytes (a cache line of its own for what is written often):
  0 where the queues are   8 loop   9 jobs   10 how many   11 bytes of a job   12 bytes before its dims
  13 steps   14 sem_wait   15 sem_post   16 sched_yield   17 threads   24 members at work
and per member, from slot 32 on, 16 slots: at 0 its state (0 spinning, 1 called, 2 asleep, 3 called
while asleep), at 1 its number, at 8 its semaphore. Then a queue per thread, of 8 slots: the next job
and the end. A job is the pointers and then the dims of NumPy's inner loops.

Each thread begins with its own range of the jobs, the same for every kernel of a size, so that its
caches know the data; then it helps the others. A member waits in a short spin, as the next kernel
of a program mostly follows at once, and then in its semaphore. Who posts a job takes it back from
those that have not begun when nothing is left: a small kernel never waits for a thread to wake.
"""

from __future__ import annotations

from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.emit.python_builtins import answer, called, data, unlocked
from rushlight._engine.kernels.runtime.abi import CALL_HEAD, MEMBER, MEMBERS, SEMAPHORE, SLOT
from rushlight._engine.kernels.runtime.shared_loops import MEMCPY, slot

_SLOT = SLOT
# Pauses, of 10 to 40 ns each.
_SPIN, _YIELD_EVERY = 8000, 256


def write(module: Module) -> None:
    """Put rl_team_work, rl_team_serve and rl_team_run into the runtime."""
    pause, declared = (
        ("call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)")
        if module.arm
        else ("call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()")
    )
    module.declare("pause", declared)
    _work(Function(module, "define void @rl_team_work(ptr %t, i64 %me)"))
    _serve(Function(module, "define void @rl_team_serve(ptr %t, ptr %me)"), pause)
    _run(Function(module, "define void @rl_team_run(ptr %t, i64 %members)"), pause)
    _write_stages(module)


def _changed(f: Function, state: str, old: int, new: int) -> str:
    """Whether a state was `old`, and is `new` now."""
    pair = f.op(f"cmpxchg ptr {state}, i64 {old}, i64 {new} acq_rel acquire")
    return f.op(f"extractvalue {{i64, i1}} {pair}, 1")


def _is(f: Function, place: str, number: int) -> str:
    """Whether what others write is a number now."""
    return f.i64("icmp eq", f.op(f"load atomic i64, ptr {place} acquire, align 8"), number)


def _work(f: Function) -> None:
    """The jobs that are left, from a thread's own range on."""
    (queues, loop, jobs, steps), (size, before, threads) = (
        [f.load(kind, "%t", _SLOT * k) for k in places]
        for kind, places in (("ptr", (0, 8, 9, 13)), ("i64", (11, 12, 17)))
    )
    with f.loop(threads) as tried:
        queue = f.at(queues, f.i64("shl", f.i64("urem", f.i64("add", "%me", tried), threads), 6))
        end = f.load("i64", queue, _SLOT)
        with f.endless() as empty:
            i = f.op(f"atomicrmw add ptr {queue}, i64 1 acq_rel")
            f.leave(f.i64("icmp sge", i, end), empty)
            job = f.at(jobs, f.i64("mul", i, size))
            f.op(f"call i32 {loop}(ptr null, ptr {job}, ptr {f.at(job, before)}, ptr {steps}, ptr null)")
    f.emit("ret void")
    f.finish()


def _serve(f: Function, pause: str) -> None:
    """A member's life: a short spin, then sleep, until it is called."""
    wait, number = f.load("ptr", "%t", 14 * _SLOT), f.load("i64", "%me", _SLOT)
    sem, take, work = f.at("%me", SEMAPHORE * _SLOT), f.fresh("take"), f.fresh("work")
    with f.endless():
        with f.loop(str(_SPIN)):
            f.leave(_is(f, "%me", 1), take)
            f.emit(pause)
        f.leave(f.op(f"xor i1 {_changed(f, '%me', 0, 2)}, true"), take)
        with f.endless():
            f.op(f"call i32 {wait}(ptr {sem})")
            f.leave(_changed(f, "%me", 3, 0), work)
        f.emit(f"br label %{take}")
        f.start(take)
        with f.when(_changed(f, "%me", 1, 0)):
            f.emit(f"br label %{work}")
            f.start(work)
            f.emit(f"call void @rl_team_work(ptr %t, i64 {number})")
            f.op(f"atomicrmw sub ptr {f.at('%t', 24 * _SLOT)}, i64 1 acq_rel")
    f.emit("ret void")
    f.finish()


def _run(f: Function, pause: str) -> None:
    """What lies in the team's memory, with so many members."""
    post, give_way = (f.load("ptr", "%t", _SLOT * k) for k in (15, 16))
    running, first = f.at("%t", 24 * _SLOT), f.at("%t", MEMBERS * _SLOT)
    queues, count, threads = f.load("ptr", "%t"), f.load("i64", "%t", 10 * _SLOT), f.i64("add", "%members", 1)
    f.store("i64", threads, "%t", 17 * _SLOT)
    with f.loop(threads) as q:
        queue = f.at(queues, f.i64("shl", q, 6))
        for k, place in enumerate((q, f.i64("add", q, 1))):
            f.store("i64", f.i64("udiv", f.i64("mul", place, count), threads), queue, _SLOT * k)
    with f.loop("%members") as m:
        member = f.at(first, f.i64("mul", m, MEMBER * _SLOT))
        with f.endless() as waiting:
            f.leave(_changed(f, member, 0, 1), waiting)
            asleep = _changed(f, member, 2, 3)
            with f.when(asleep):
                f.op(f"call i32 {post}(ptr {f.at(member, SEMAPHORE * _SLOT)})")
            f.leave(asleep, waiting)
    f.emit("call void @rl_team_work(ptr %t, i64 0)")
    with f.loop("%members") as m:
        member = f.at(first, f.i64("mul", m, MEMBER * _SLOT))
        back = f.op(f"or i1 {_changed(f, member, 1, 0)}, {_changed(f, member, 3, 2)}")
        f.op(f"atomicrmw sub ptr {running}, i64 {f.op(f'zext i1 {back} to i64')} acq_rel")
    with f.endless() as done:
        with f.loop(str(_YIELD_EVERY)):
            f.leave(_is(f, running, 0), done)
            f.emit(pause)
        f.op(f"call i32 {give_way}()")
    f.emit("ret void")
    f.finish()


# --- stages of a program ----------------------------------------------------------------------------------

# A stage is 8 slots: those from 8 to 13 above, then how many members may help. Loops that only stages need:
#   rl_numpy    a loop of one of NumPy's own ufuncs. steps: the loop, its data, then its own steps
#   rl_update   rl_multi. dims: part, parts. steps: its other arguments, in order
#   rl_words    the next random words. args: state, words. dims: n. steps: the function of mersenne_twister.py
#   rl_refuse   gives what its argument points to: other than 0 ends the run of a program
#   rl_inside   gives 1 if a number is below 0 or beyond. args: numbers. dims: how many, from where on beyond
#   rl_blocks   a loop for each block of its second dim. steps: the loop, how many pointers, how many words
#               with dims, the size of a block, then its own. Behind its words: what each pointer moves from
#               block to block
_LOOP = "define i32 @rl_{}(ptr %c, ptr %args, ptr %dims, ptr %steps, ptr %d)"


def _write_stages(module: Module) -> None:
    module.declare("smin", "declare i64 @llvm.smin.i64(i64, i64)")
    module.declare(*MEMCPY)
    for each in (_numpy, _update, _words, _refuse, _inside, _blocks):
        f = Function(module, _LOOP.format(each.__name__[1:]))
        f.emit(f"ret i32 {each(f)}")
        f.finish()
    f = Function(
        module, "define i64 @rl_program_run(ptr %team, ptr %stages, i64 %first, i64 %count, i64 %most)"
    )
    _program(f)
    f.emit("ret i64 %count")
    f.finish()
    _place(Function(module, "define internal void @rl_place(ptr %table, ptr %words, ptr %operands)"))
    _call(Function(module, "define ptr @rl_call(ptr %self, ptr %args, i64 %n)"))
    _stages(Function(module, "define ptr @rl_stages(ptr %self, ptr %args, i64 %n)"))


def _place(f: Function) -> None:
    """The pointers among a Call's words, which count from operands' beginnings, as its table says."""
    own = f.at("%table", CALL_HEAD * _SLOT)
    with f.loop(f.load("i64", "%table")) as i:
        place = f.load("i64", slot(f, own, i))
        with f.when(f.i64("icmp ne", place, 0)):
            base = f.var("%words", "ptr")
            with f.when(f.i64("icmp ne", place, _SLOT)):
                base.set(data(f, "%operands", f.i64("sub", place, _SLOT)))
            at = slot(f, "%words", i)
            f.store("ptr", f.at(base.get(), f.load("i64", at)), at)
    f.emit("ret void")
    f.finish()


def _call(f: Function) -> None:
    """A builtin of a team.Call's table and operands, without a team: whether no loop has refused."""
    table = data(f, "%args", 0)
    count, stages, others = (f.load("i64", table, _SLOT * k) for k in range(CALL_HEAD))
    words, size = f.op(f"alloca i64, i64 {count}, align 16"), f.i64("shl", count, 3)
    start = f.at(f.at(table, CALL_HEAD * _SLOT), size)
    f.emit(f"call void {MEMCPY[0]}(ptr {words}, ptr {start}, i64 {size}, i1 false)")
    f.emit(f"call void @rl_place(ptr {table}, ptr {words}, ptr %args)")
    with unlocked(f, f.i64("icmp ne", others, 0)):
        done = f.op(f"call i64 @rl_program_run(ptr null, ptr {words}, i64 0, i64 {stages}, i64 0)")
    answer(f, f.i64("icmp eq", done, stages))


def _stages(f: Function) -> None:
    """A builtin of a table of stages, a first one and their number: rl_program_run without a team."""
    table = data(f, "%args", 0)
    first, count = (
        called(f, "PyLong_AsLongLong", "i64", f"ptr {f.load('ptr', '%args', _SLOT * k)}") for k in (1, 2)
    )
    with unlocked(f):
        done = f.op(f"call i64 @rl_program_run(ptr null, ptr {table}, i64 {first}, i64 {count}, i64 0)")
    f.emit(f"ret ptr {called(f, 'PyLong_FromLongLong', 'ptr', f'i64 {done}')}")
    f.finish()


def _program(f: Function) -> None:
    """All stages from `first` on, each with at most `most` members; the number of one whose loop does not
    give 0 ends the run, and is the result.
    """
    with f.loop("%count", "%first") as i:
        stage = f.at("%stages", f.i64("shl", i, 6))
        loop, jobs, steps = (f.load("ptr", stage, _SLOT * k) for k in (0, 1, 5))
        total, size, before, wanted = (f.load("i64", stage, _SLOT * k) for k in (2, 3, 4, 6))
        helpers = f.op(f"call i64 @llvm.smin.i64(i64 {wanted}, i64 %most)")
        shared = f.i64("icmp sgt", helpers, 0)
        with f.when(shared):
            f.emit(
                f"call void {MEMCPY[0]}(ptr {f.at('%team', 8 * _SLOT)}, ptr {stage}, i64 {6 * _SLOT}, "
                "i1 false)"
            )
            f.store("i64", helpers, "%team", 24 * _SLOT)
            f.emit(f"call void @rl_team_run(ptr %team, i64 {helpers})")
        with f.loop(f.op(f"select i1 {shared}, i64 0, i64 {total}")) as k:
            job = f.at(jobs, f.i64("mul", k, size))
            failed = f.op(
                f"call i32 {loop}(ptr null, ptr {job}, ptr {f.at(job, before)}, ptr {steps}, ptr null)"
            )
            with f.when(f.op(f"icmp ne i32 {failed}, 0")):
                f.emit(f"ret i64 {i}")
                f.start(f.fresh("never"))


def _numpy(f: Function) -> str | int:
    loop, data, own = f.load("ptr", "%steps"), f.load("ptr", "%steps", _SLOT), f.at("%steps", 2 * _SLOT)
    f.emit(f"call void {loop}(ptr %args, ptr %dims, ptr {own}, ptr {data})")
    return 0


def _update(f: Function) -> str | int:
    given = [
        f"{kind} {f.load(kind, base, _SLOT * k)}"
        for kind, base, k in (
            ("ptr", "%steps", 0),
            ("ptr", "%steps", 1),
            ("ptr", "%steps", 2),
            ("i64", "%steps", 3),
            ("i64", "%dims", 0),
            ("i64", "%dims", 1),
            ("ptr", "%steps", 4),
        )
    ]
    refused = f.op(f"call i64 @rl_multi({', '.join(given)})")
    return f.op(f"trunc i64 {refused} to i32")


def _words(f: Function) -> str | int:
    state, words = f.load("ptr", "%args"), f.load("ptr", "%args", _SLOT)
    f.emit(f"call void {f.load('ptr', '%steps')}(ptr {state}, ptr {words}, i64 {f.load('i64', '%dims')})")
    return 0


def _refuse(f: Function) -> str | int:
    return f.op(f"zext i8 {f.load('i8', f.load('ptr', '%args'))} to i32")


def _inside(f: Function) -> str | int:
    outside, numbers, (count, limit) = (
        f.var(0),
        f.load("ptr", "%args"),
        [f.load("i64", "%dims", _SLOT * k) for k in range(2)],
    )
    with f.loop(count) as i:
        # As numbers without a sign, those below 0 are too large.
        wrong = f.i64("icmp uge", f.load("i64", numbers, f.i64("mul", i, _SLOT)), limit)
        outside.set(f.i64("or", outside.get(), f.op(f"zext i1 {wrong} to i64")))
    return f.op(f"trunc i64 {outside.get()} to i32")


def _blocks(f: Function) -> str | int:
    loop, own = f.load("ptr", "%steps"), f.at("%steps", 4 * _SLOT)
    pointers, count, block = (f.load("i64", "%steps", _SLOT * k) for k in (1, 2, 3))
    words, size = f.op(f"alloca i64, i64 {count}, align 16"), f.i64("shl", count, 3)
    f.emit(f"call void {MEMCPY[0]}(ptr {words}, ptr %args, i64 {size}, i1 false)")
    dims, moves = slot(f, words, pointers), f.at("%args", size)
    whole = f.load("i64", dims, _SLOT)
    blocks = f.i64("sdiv", f.i64("add", whole, f.i64("sub", block, 1)), block)
    with f.loop(blocks) as k:
        left = f.i64("sub", whole, f.i64("mul", k, block))
        f.store("i64", f.op(f"call i64 @llvm.smin.i64(i64 {left}, i64 {block})"), dims, _SLOT)
        f.op(f"call i32 {loop}(ptr null, ptr {words}, ptr {dims}, ptr {own}, ptr null)")
        with f.loop(pointers) as i:
            at = slot(f, words, i)
            f.store("i64", f.i64("add", f.load("i64", at), f.load("i64", slot(f, moves, i))), at)
    return 0
