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

import re

from rushlight.compiler.builtins import answer, data, unlocked
from rushlight.compiler.ir import Function, Module
from rushlight.compiler.runtime import slot

MEMBERS, MEMBER, SEMAPHORE, QUEUE, _SLOT = 32, 16, 8, 8, 8
MEMCPY = "@llvm.memcpy.p0.p0.i64", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
# Pauses, of 10 to 40 ns each.
_SPIN, _YIELD_EVERY = 8000, 256

# Two short forms: what is at an offset, and whether a state was the first number and is the second now.
_SHORT = {r"%(\w+) = FIELD (\w+), (.*)": r"%\1_at = getelementptr i8, \3\n  %\1 = load \2, ptr %\1_at",
          r"%(\w+) = CHANGED (.*)": r"%\1_pair = cmpxchg \2 acq_rel acquire\n"
                                   r"  %\1 = extractvalue {i64, i1} %\1_pair, 1"}

_WORK = """define void @rl_team_work(ptr %t, i64 %me) {
entry:
  %queues = load ptr, ptr %t
  %loop = FIELD ptr, ptr %t, i64 64
  %jobs = FIELD ptr, ptr %t, i64 72
  %bytes = FIELD i64, ptr %t, i64 88
  %before = FIELD i64, ptr %t, i64 96
  %steps = FIELD ptr, ptr %t, i64 104
  %threads = FIELD i64, ptr %t, i64 136
  br label %choose
choose:
  %tried = phi i64 [0, %entry], [%tried_next, %empty]
  %left = icmp slt i64 %tried, %threads
  br i1 %left, label %open, label %done
open:
  %sum = add i64 %me, %tried
  %which = urem i64 %sum, %threads
  %shift = shl i64 %which, 6
  %queue = getelementptr i8, ptr %queues, i64 %shift
  %end = FIELD i64, ptr %queue, i64 8
  br label %next
next:
  %i = atomicrmw add ptr %queue, i64 1 acq_rel
  %more = icmp slt i64 %i, %end
  br i1 %more, label %run, label %empty
run:
  %offset = mul i64 %i, %bytes
  %job = getelementptr i8, ptr %jobs, i64 %offset
  %dims = getelementptr i8, ptr %job, i64 %before
  %failed = call i32 %loop(ptr null, ptr %job, ptr %dims, ptr %steps, ptr null)
  br label %next
empty:
  %tried_next = add i64 %tried, 1
  br label %choose
done:
  ret void
}"""

_SERVE = """define void @rl_team_serve(ptr %t, ptr %me) {
entry:
  %sem_wait = FIELD ptr, ptr %t, i64 112
  %running = getelementptr i8, ptr %t, i64 192
  %sem = getelementptr i8, ptr %me, i64 64
  %number = FIELD i64, ptr %me, i64 8
  br label %idle
idle:
  br label %spin
spin:
  %s = phi i64 [0, %idle], [%following, %again]
  %state = load atomic i64, ptr %me acquire, align 8
  %posted = icmp eq i64 %state, 1
  br i1 %posted, label %take, label %again
again:
  PAUSE
  %following = add i64 %s, 1
  %patient = icmp slt i64 %following, SPIN
  br i1 %patient, label %spin, label %rest
rest:
  %resting = CHANGED ptr %me, i64 0, i64 2
  br i1 %resting, label %asleep, label %take
asleep:
  %interrupted = call i32 %sem_wait(ptr %sem)
  %called = CHANGED ptr %me, i64 3, i64 0
  br i1 %called, label %work, label %asleep
take:
  %mine = CHANGED ptr %me, i64 1, i64 0
  br i1 %mine, label %work, label %idle
work:
  call void @rl_team_work(ptr %t, i64 %number)
  %left = atomicrmw sub ptr %running, i64 1 acq_rel
  br label %idle
}"""

_RUN = """define void @rl_team_run(ptr %t, i64 %members) {
entry:
  %sem_post = FIELD ptr, ptr %t, i64 120
  %sched_yield = FIELD ptr, ptr %t, i64 128
  %running = getelementptr i8, ptr %t, i64 192
  %first = getelementptr i8, ptr %t, i64 256
  %queues = load ptr, ptr %t
  %count = FIELD i64, ptr %t, i64 80
  %threads = add i64 %members, 1
  %threads_at = getelementptr i8, ptr %t, i64 136
  store i64 %threads, ptr %threads_at
  br label %share
share:
  %q = phi i64 [0, %entry], [%q_next, %share]
  %q_next = add i64 %q, 1
  %low_of = mul i64 %q, %count
  %low = udiv i64 %low_of, %threads
  %high_of = mul i64 %q_next, %count
  %high = udiv i64 %high_of, %threads
  %q_shift = shl i64 %q, 6
  %queue = getelementptr i8, ptr %queues, i64 %q_shift
  store i64 %low, ptr %queue
  %end_at = getelementptr i8, ptr %queue, i64 8
  store i64 %high, ptr %end_at
  %shared = icmp eq i64 %q_next, %threads
  br i1 %shared, label %members_loop, label %share
members_loop:
  %m = phi i64 [0, %share], [%m_next, %told]
  %unposted = icmp slt i64 %m, %members
  br i1 %unposted, label %tell, label %work
tell:
  %shift = mul i64 %m, 128
  %member = getelementptr i8, ptr %first, i64 %shift
  %saw = CHANGED ptr %member, i64 0, i64 1
  br i1 %saw, label %told, label %rouse
rouse:
  %slept = CHANGED ptr %member, i64 2, i64 3
  br i1 %slept, label %wake, label %tell
wake:
  %sem = getelementptr i8, ptr %member, i64 64
  %unused = call i32 %sem_post(ptr %sem)
  br label %told
told:
  %m_next = add i64 %m, 1
  br label %members_loop
work:
  call void @rl_team_work(ptr %t, i64 0)
  br label %recall
recall:
  %r = phi i64 [0, %work], [%r_next, %recalled]
  %called = icmp slt i64 %r, %members
  br i1 %called, label %late, label %wait
late:
  %late_shift = mul i64 %r, 128
  %late_member = getelementptr i8, ptr %first, i64 %late_shift
  %one = CHANGED ptr %late_member, i64 1, i64 0
  %other = CHANGED ptr %late_member, i64 3, i64 2
  %back = or i1 %one, %other
  %less = zext i1 %back to i64
  %still = atomicrmw sub ptr %running, i64 %less acq_rel
  br label %recalled
recalled:
  %r_next = add i64 %r, 1
  br label %recall
wait:
  %w = phi i64 [0, %recall], [%w_next, %pause], [0, %give_way]
  %busy = load atomic i64, ptr %running acquire, align 8
  %ended = icmp eq i64 %busy, 0
  br i1 %ended, label %done, label %pause
pause:
  PAUSE
  %w_next = add i64 %w, 1
  %long = icmp sgt i64 %w_next, YIELD
  br i1 %long, label %give_way, label %wait
give_way:
  %ignored = call i32 %sched_yield()
  br label %wait
done:
  ret void
}"""


def write(module: Module) -> None:
    """Put rl_team_work, rl_team_serve and rl_team_run into the runtime."""
    pause, declared = ("call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)") \
        if module.arm else ("call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()")
    module.declare("pause", declared)
    for text in (_WORK, _SERVE, _RUN):
        for short, full in _SHORT.items():
            text = re.sub(short, full, text)
        module.functions.append(text.replace("PAUSE", pause).replace("SPIN", str(_SPIN))
                                .replace("YIELD", str(_YIELD_EVERY)))
    _write_stages(module)


# --- stages of a program ----------------------------------------------------------------------------------

# A stage is 8 slots: those from 8 to 13 above, then how many members may help. Loops that only stages need:
#   rl_numpy    a loop of one of NumPy's own ufuncs. steps: the loop, its data, then its own steps
#   rl_update   rl_multi. dims: part, parts. steps: its other arguments, in order
#   rl_words    the next random words. args: state, words. dims: n. steps: the function of mersenne.py
#   rl_refuse   gives what its argument points to: other than 0 ends the run of a program
#   rl_inside   gives 1 if a number is below 0 or beyond. args: numbers. dims: how many, from where on beyond
NAMES = ("rl_program_run", "rl_call", "rl_direct", "rl_numpy", "rl_update", "rl_words", "rl_refuse", "rl_inside")
# A table of team.Call: how many words, how many stages, whether other threads may run meanwhile; then what
# each word is relative to: 0, 8 for the words, or 16 + 8 k for the operand k; then the words.
CALL_HEAD = 3
_LOOP = "define i32 @rl_{}(ptr %c, ptr %args, ptr %dims, ptr %steps, ptr %d)"


def _write_stages(module: Module) -> None:
    for each in (_numpy, _update, _words, _refuse, _inside):
        f = Function(module, _LOOP.format(each.__name__[1:]))
        f.emit(f"ret i32 {each(f)}")
        f.finish()
    f = Function(module, "define i64 @rl_program_run(ptr %team, ptr %stages, i64 %first, i64 %count, "
                         "i64 %most)")
    _program(f)
    f.emit("ret i64 %count")
    f.finish()
    _place(Function(module, "define internal void @rl_place(ptr %table, ptr %words, ptr %operands)"))
    _call(Function(module, "define i64 @rl_call(ptr %team, ptr %table, ptr %operands, i64 %most)"))
    _direct(Function(module, "define ptr @rl_direct(ptr %self, ptr %args, i64 %n)"))


def _place(f: Function) -> None:
    """The pointers among a Call's words; until here they count from operands' beginnings, as the table says."""
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
    """team.Call's stages and jobs, in the first of the operands."""
    words = data(f, "%operands", 0)
    f.emit(f"call void @rl_place(ptr %table, ptr {words}, ptr %operands)")
    given = f"ptr %team, ptr {words}, i64 0, i64 {f.load('i64', '%table', _SLOT)}, i64 %most"
    f.emit(f"ret i64 {f.op(f'call i64 @rl_program_run({given})')}")
    f.finish()


def _direct(f: Function) -> None:
    """The same as a builtin of the table and the operands, without a team; whether no loop has refused."""
    f.module.declare(*MEMCPY)
    table = data(f, "%args", 0)
    count, stages, others = (f.load("i64", table, _SLOT * k) for k in range(CALL_HEAD))
    words, size = f.op(f"alloca i64, i64 {count}, align 16"), f.i64("shl", count, 3)
    start = f.at(f.at(table, CALL_HEAD * _SLOT), size)
    f.emit(f"call void {MEMCPY[0]}(ptr {words}, ptr {start}, i64 {size}, i1 false)")
    f.emit(f"call void @rl_place(ptr {table}, ptr {words}, ptr %args)")
    with unlocked(f, f.i64("icmp ne", others, 0)):
        done = f.op(f"call i64 @rl_program_run(ptr null, ptr {words}, i64 0, i64 {stages}, i64 0)")
    answer(f, f.i64("icmp eq", done, stages))


def _program(f: Function) -> None:
    """All stages from `first` on, each with at most `most` members; the number of one whose loop does not
    give 0 ends the run, and is the result."""
    f.module.declare("smin", "declare i64 @llvm.smin.i64(i64, i64)")
    f.module.declare(*MEMCPY)
    with f.loop("%count", "%first") as i:
        stage = f.at("%stages", f.i64("shl", i, 6))
        loop, jobs, steps = (f.load("ptr", stage, _SLOT * k) for k in (0, 1, 5))
        total, size, before, wanted = (f.load("i64", stage, _SLOT * k) for k in (2, 3, 4, 6))
        helpers = f.op(f"call i64 @llvm.smin.i64(i64 {wanted}, i64 %most)")
        shared = f.i64("icmp sgt", helpers, 0)
        with f.when(shared):
            f.emit(f"call void {MEMCPY[0]}(ptr {f.at('%team', 8 * _SLOT)}, ptr {stage}, i64 {6 * _SLOT}, "
                   "i1 false)")
            f.store("i64", helpers, "%team", 24 * _SLOT)
            f.emit(f"call void @rl_team_run(ptr %team, i64 {helpers})")
        with f.loop(f.op(f"select i1 {shared}, i64 0, i64 {total}")) as k:
            job = f.at(jobs, f.i64("mul", k, size))
            failed = f.op(f"call i32 {loop}(ptr null, ptr {job}, ptr {f.at(job, before)}, ptr {steps}, "
                          "ptr null)")
            with f.when(f.op(f"icmp ne i32 {failed}, 0")):
                f.emit(f"ret i64 {i}")
                f.start(f.fresh("never"))


def _numpy(f: Function) -> "str | int":
    loop, data, own = f.load("ptr", "%steps"), f.load("ptr", "%steps", _SLOT), f.at("%steps", 2 * _SLOT)
    f.emit(f"call void {loop}(ptr %args, ptr %dims, ptr {own}, ptr {data})")
    return 0


def _update(f: Function) -> "str | int":
    given = [f"{kind} {f.load(kind, base, _SLOT * k)}" for kind, base, k in (
        ("ptr", "%steps", 0), ("ptr", "%steps", 1), ("ptr", "%steps", 2), ("i64", "%steps", 3),
        ("i64", "%dims", 0), ("i64", "%dims", 1), ("ptr", "%steps", 4))]
    refused = f.op(f"call i64 @rl_multi({', '.join(given)})")
    return f.op(f"trunc i64 {refused} to i32")


def _words(f: Function) -> "str | int":
    state, words = f.load("ptr", "%args"), f.load("ptr", "%args", _SLOT)
    f.emit(f"call void {f.load('ptr', '%steps')}(ptr {state}, ptr {words}, i64 {f.load('i64', '%dims')})")
    return 0


def _refuse(f: Function) -> "str | int":
    return f.op(f"zext i8 {f.load('i8', f.load('ptr', '%args'))} to i32")


def _inside(f: Function) -> "str | int":
    outside, numbers, (count, limit) = f.var(0), f.load("ptr", "%args"), [
        f.load("i64", "%dims", _SLOT * k) for k in range(2)]
    with f.loop(count) as i:
        # As numbers without a sign, those below 0 are too large.
        wrong = f.i64("icmp uge", f.load("i64", numbers, f.i64("mul", i, _SLOT)), limit)
        outside.set(f.i64("or", outside.get(), f.op(f"zext i1 {wrong} to i64")))
    return f.op(f"trunc i64 {outside.get()} to i32")
