"""Kernels run by the host as blocks and threads: their text, compiled for this processor.

A kernel without barriers runs thread by thread in two loops. One with barriers runs as fibers: each thread
has a
stack of its own, and a barrier or an exchange goes back to a scheduler, which comes again when all threads of
the block are there. Where some threads wait at a barrier that others have left behind, that is an error, as
on
hardware it would be a deadlock. The order of the threads can be turned around: a kernel may not depend on it.
"""

from __future__ import annotations

import ctypes
import itertools
import platform
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from rushlight._engine.devices.cuda.kernels.targets import SLOTS, WARP
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.atom_code import Unsupported

# Bytes of a thread's place for its registers (glibc's ucontext_t is 968 on x86-64), of its stack, of its
# slots.
_CONTEXT, _STACK, _SLOTS = 1024, 1 << 16, 128
_DONE, _ARGUMENTS = 8 * len(SLOTS), 8 * len(SLOTS) + 8
_SHARED = 48 << 10
# In ucontext_t: uc_link, and the stack's beginning and size.
_LINK, _STACK_AT, _STACK_SIZE = 8, 16, 32
_numbers = itertools.count()


def has_fibers() -> bool:
    """Whether kernels with barriers can run here: on x86-64 with glibc."""
    return sys.platform == "linux" and platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"


def _arguments(pointers: int, numbers: int) -> tuple[str, str]:
    """(loads of a kernel's arguments from %args, the arguments of the call)."""
    lines, given = list[str](), list[str]()
    for k in range(pointers + numbers):
        lines.append(f"  %q{k} = getelementptr i64, ptr %args, i64 {k}")
        kind = "ptr" if k < pointers else "i64"
        lines.append(f"  %a{k} = load {kind}, ptr %q{k}")
        given.append(f"{kind} %a{k}")
    return "\n".join(lines), ", ".join([*given, "ptr %thread"])


def _plain(name: str, pointers: int, numbers: int) -> str:
    """The loops over blocks and threads; `turned` threads run from the last to the first."""
    loads, given = _arguments(pointers, numbers)
    return f"""
define i64 @{name}_run(ptr %args, i64 %blocks, i64 %threads, i64 %turned) {{
entry:
  %thread = alloca [16 x i64], align 16
{loads}
  %ntid = getelementptr i8, ptr %thread, i64 {SLOTS["ntid"]}
  store i64 %threads, ptr %ntid
  %nctaid = getelementptr i8, ptr %thread, i64 {SLOTS["nctaid"]}
  store i64 %blocks, ptr %nctaid
  %tid = getelementptr i8, ptr %thread, i64 {SLOTS["tid"]}
  %ctaid = getelementptr i8, ptr %thread, i64 {SLOTS["ctaid"]}
  %last = sub i64 %threads, 1
  %back = icmp ne i64 %turned, 0
  br label %block
block:
  %b = phi i64 [0, %entry], [%b1, %next]
  store i64 %b, ptr %ctaid
  br label %one
one:
  %t = phi i64 [0, %block], [%t1, %one]
  %mirror = sub i64 %last, %t
  %me = select i1 %back, i64 %mirror, i64 %t
  store i64 %me, ptr %tid
  call void @{name}({given})
  %t1 = add i64 %t, 1
  %more = icmp ult i64 %t1, %threads
  br i1 %more, label %one, label %next
next:
  %b1 = add i64 %b, 1
  %again = icmp ult i64 %b1, %blocks
  br i1 %again, label %block, label %done
done:
  ret i64 0
}}"""


def _fibers(name: str, pointers: int, numbers: int) -> str:
    """The scheduler of fibers; it answers 1 + the block whose threads disagree about a barrier, else 0."""
    loads, given = _arguments(pointers, numbers)

    def at(base: str, offset: int, result: str) -> str:
        return f"  {result} = getelementptr i8, ptr {base}, i64 {offset}"

    return f"""
declare i32 @getcontext(ptr)
declare void @makecontext(ptr, ptr, i32, ...)

define internal void @{name}_fiber(i32 %low, i32 %high) {{
  %l = zext i32 %low to i64
  %h = zext i32 %high to i64
  %hs = shl i64 %h, 32
  %n = or i64 %l, %hs
  %thread = inttoptr i64 %n to ptr
{at("%thread", _ARGUMENTS, "%argp")}
  %args = load ptr, ptr %argp
{loads}
  call void @{name}({given})
{at("%thread", _DONE, "%donep")}
  store i64 1, ptr %donep
{at("%thread", SLOTS["own"], "%ownp")}
  %own = load ptr, ptr %ownp
{at("%thread", SLOTS["turn"], "%turnp")}
  %turn = load ptr, ptr %turnp
  %ignored = call i32 @swapcontext(ptr %own, ptr %turn)
  ret void
}}

define i64 @{name}_run(ptr %args, i64 %blocks, i64 %threads, i64 %turned, ptr %slots, ptr %contexts,
                       ptr %stacks, ptr %lanes, ptr %shared, ptr %scheduler) {{
entry:
  %last = sub i64 %threads, 1
  %back = icmp ne i64 %turned, 0
  br label %block
block:
  %b = phi i64 [0, %entry], [%b1, %next]
  br label %prepare
prepare:
  %p = phi i64 [0, %block], [%p1, %prepare]
  %ps = mul i64 %p, {_SLOTS}
  %s = getelementptr i8, ptr %slots, i64 %ps
  %pc = mul i64 %p, {_CONTEXT}
  %c = getelementptr i8, ptr %contexts, i64 %pc
  %pk = mul i64 %p, {_STACK}
  %k = getelementptr i8, ptr %stacks, i64 %pk
{at("%s", SLOTS["tid"], "%s0")}
  store i64 %p, ptr %s0
{at("%s", SLOTS["ctaid"], "%s1")}
  store i64 %b, ptr %s1
{at("%s", SLOTS["ntid"], "%s2")}
  store i64 %threads, ptr %s2
{at("%s", SLOTS["nctaid"], "%s3")}
  store i64 %blocks, ptr %s3
{at("%s", SLOTS["shared"], "%s4")}
  store ptr %shared, ptr %s4
{at("%s", SLOTS["lanes"], "%s5")}
  store ptr %lanes, ptr %s5
{at("%s", SLOTS["own"], "%s6")}
  store ptr %c, ptr %s6
{at("%s", SLOTS["turn"], "%s7")}
  store ptr %scheduler, ptr %s7
{at("%s", _DONE, "%s8")}
  store i64 0, ptr %s8
{at("%s", _ARGUMENTS, "%s9")}
  store ptr %args, ptr %s9
  %got = call i32 @getcontext(ptr %c)
{at("%c", _LINK, "%c0")}
  store ptr %scheduler, ptr %c0
{at("%c", _STACK_AT, "%c1")}
  store ptr %k, ptr %c1
{at("%c", _STACK_SIZE, "%c2")}
  store i64 {_STACK}, ptr %c2
  %whole = ptrtoint ptr %s to i64
  %low = trunc i64 %whole to i32
  %above = lshr i64 %whole, 32
  %high = trunc i64 %above to i32
  call void (ptr, ptr, i32, ...) @makecontext(ptr %c, ptr @{name}_fiber, i32 2, i32 %low, i32 %high)
  %p1 = add i64 %p, 1
  %prepared = icmp ult i64 %p1, %threads
  br i1 %prepared, label %prepare, label %round
round:
  br label %turnof
turnof:
  %t = phi i64 [0, %round], [%t1, %after]
  %stopped = phi i64 [0, %round], [%stopped1, %after]
  %ended = phi i64 [0, %round], [%ended1, %after]
  %mirror = sub i64 %last, %t
  %me = select i1 %back, i64 %mirror, i64 %t
  %ms = mul i64 %me, {_SLOTS}
  %m = getelementptr i8, ptr %slots, i64 %ms
{at("%m", _DONE, "%mdone")}
  %before = load i64, ptr %mdone
  %finished = icmp ne i64 %before, 0
  br i1 %finished, label %after, label %go
go:
  %mc = mul i64 %me, {_CONTEXT}
  %mcontext = getelementptr i8, ptr %contexts, i64 %mc
  %went = call i32 @swapcontext(ptr %scheduler, ptr %mcontext)
  %now = load i64, ptr %mdone
  %waits = sub i64 1, %now
  %stoppedg = add i64 %stopped, %waits
  %endedg = add i64 %ended, %now
  br label %after
after:
  %stopped1 = phi i64 [%stopped, %turnof], [%stoppedg, %go]
  %ended1 = phi i64 [%ended, %turnof], [%endedg, %go]
  %t1 = add i64 %t, 1
  %more = icmp ult i64 %t1, %threads
  br i1 %more, label %turnof, label %verdict
verdict:
  %nobody = icmp eq i64 %stopped1, 0
  br i1 %nobody, label %next, label %agree
agree:
  %some = icmp ne i64 %ended1, 0
  br i1 %some, label %torn, label %round
torn:
  %b2 = add i64 %b, 1
  ret i64 %b2
next:
  %b1 = add i64 %b, 1
  %again = icmp ult i64 %b1, %blocks
  br i1 %again, label %block, label %done
done:
  ret i64 0
}}"""


@lru_cache(maxsize=None)
def _externals() -> dict[str, int]:
    libc = ctypes.CDLL(None)
    names = ("swapcontext", "getcontext", "makecontext")
    return {name: ctypes.cast(getattr(libc, name), ctypes.c_void_p).value or 0 for name in names}


class Kernel:
    """A kernel's text for the target "simulated", compiled: run it with addresses and numbers."""

    def __init__(self, text: str, barriers: int, pointers: int, numbers: int) -> None:
        if barriers and not has_fibers():
            raise Unsupported("threads that wait for each other: fibers need x86-64 and glibc")
        name = f"simulated_{next(_numbers)}"
        run = (_fibers if barriers else _plain)(name, pointers, numbers)
        whole = text.replace("@kernel(", f"@{name}(") + run
        code = target.assemble(whole, tidy=True)
        externals = _externals() if barriers else {}
        (address,) = target.load(code, (f"{name}_run",), externals)
        self.barriers = barriers
        count = 10 if barriers else 4
        self._run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * count)(address)

    def run(
        self, blocks: int, threads: int, pointers: Sequence[int], numbers: Sequence[int], turned: bool = False
    ) -> None:
        """Run a grid. turned: threads in the opposite order. RuntimeError where threads of a block disagree
        about a barrier."""
        given = [*pointers, *[n - (1 << 64) if n >= 1 << 63 else n for n in numbers]]
        arguments = (ctypes.c_int64 * max(len(given), 1))(*given)
        room: tuple[Any, ...] = ()
        if self.barriers:
            if threads % WARP:
                raise ValueError(
                    f"a block of threads that wait for each other has whole warps, not {threads}"
                )
            sizes = (threads * _SLOTS, threads * _CONTEXT, threads * _STACK, threads * 8, _SHARED, _CONTEXT)
            room = tuple(ctypes.create_string_buffer(size + 64) for size in sizes)
        places = [-(-ctypes.addressof(r) // 64) * 64 for r in room]
        torn = self._run(ctypes.addressof(arguments), blocks, threads, int(turned), *places)
        if torn:
            raise RuntimeError(
                f"block {torn - 1}: some of its threads wait at a barrier that others never reach; on "
                f"hardware "
                "the kernel would hang"
            )
