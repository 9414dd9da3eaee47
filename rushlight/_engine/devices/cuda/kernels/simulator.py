"""Kernels run by the host as blocks and threads: their text, compiled for this processor.

A kernel without barriers runs thread by thread in two loops. One with barriers runs as fibers: each thread
has a stack of its own, and a barrier or an exchange goes back to a scheduler, which comes again when all
threads of the block are there. Where some threads wait at a barrier that others have left behind, that is an
error, as on hardware it would be a deadlock. The order of the threads can be turned around: a kernel may not
depend on it.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import platform
import sys
from collections.abc import Sequence
from functools import cache
from string import Template
from typing import Any

from rushlight._engine.devices.cuda.device import NotServed
from rushlight._engine.devices.cuda.kernels import device_math
from rushlight._engine.devices.cuda.kernels.targets import EXCHANGED, SLOTS, WARP
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.target import Unsupported

# Bytes of the place that says where a thread's stack ends, of the stack, of the thread's slots.
_CONTEXT, _STACK, _SLOTS = 64, 1 << 16, 128
_DONE, _ARGUMENTS = 8 * len(SLOTS), 8 * len(SLOTS) + 8
_SHARED = 48 << 10
# Where a new stack ends: seven words below its beginning, which is a multiple of sixteen.
_FIRST = _STACK - 16 - 7 * 8
_numbers = itertools.count()


def has_fibers() -> bool:
    """Whether kernels with barriers can run here: fibers.ll keeps what calls keep on x86-64 under Linux."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def _arguments(pointers: int, numbers: int) -> tuple[str, str]:
    """(loads of a kernel's arguments from %args, the arguments of the call)."""
    lines, given = list[str](), list[str]()
    for k in range(pointers + numbers):
        lines.append(f"  %q{k} = getelementptr i64, ptr %args, i64 {k}")
        kind = "ptr" if k < pointers else "i64"
        lines.append(f"  %a{k} = load {kind}, ptr %q{k}")
        given.append(f"{kind} %a{k}")
    return "\n".join(lines), ", ".join([*given, "ptr %thread"])


def _around(name: str, pointers: int, numbers: int, barriers: int) -> str:
    """What runs a kernel's grid: text of in_turn.ll or fibers.ll, for so many arguments."""
    loads, given = _arguments(pointers, numbers)
    file = os.path.join(os.path.dirname(__file__), "fibers.ll" if barriers else "in_turn.ll")
    with open(file, encoding="utf-8") as text:
        return Template(text.read()).substitute(
            SLOTS,
            name=name,
            loads=loads,
            given=given,
            slots=_SLOTS,
            context=_CONTEXT,
            stack=_STACK,
            done=_DONE,
            arguments=_ARGUMENTS,
            first=_FIRST,
        )


class Kernel:
    """A kernel's text for the target "simulated", compiled: run it with addresses and numbers."""

    def __init__(self, text: str, barriers: int, pointers: int, numbers: int) -> None:
        if barriers and not has_fibers():
            raise Unsupported("threads that wait for each other: fibers need x86-64 and Linux")
        name = f"simulated_{next(_numbers)}"
        run = _around(name, pointers, numbers, barriers)
        text = device_math.defined(text, device_math.foreign(text) & device_math.NAMES)
        whole = text.replace("@kernel(", f"@{name}(") + run
        code = target.assemble(whole, tidy=True)
        (address,) = target.load(code, (f"{name}_run",), {})
        self.barriers = barriers
        count = 10 if barriers else 4
        self._run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * count)(address)

    def run(
        self, blocks: int, threads: int, pointers: Sequence[int], numbers: Sequence[int], turned: bool = False
    ) -> None:
        """Run a grid. turned: threads in the opposite order. RuntimeError where threads of a block disagree
        about a barrier.
        """
        given = [*pointers, *[n - (1 << 64) if n >= 1 << 63 else n for n in numbers]]
        arguments = (ctypes.c_int64 * max(len(given), 1))(*given)
        buffers: tuple[Any, ...] = ()
        if self.barriers:
            if threads % WARP:
                raise ValueError(
                    f"a block of threads that wait for each other has whole warps, not {threads}"
                )
            own = [threads * size for size in (_SLOTS, _CONTEXT, _STACK, EXCHANGED)]
            sizes = (*own, _SHARED, _CONTEXT)
            buffers = tuple(ctypes.create_string_buffer(size + 64) for size in sizes)
        places = [-(-ctypes.addressof(r) // 64) * 64 for r in buffers]
        torn = self._run(ctypes.addressof(arguments), blocks, threads, int(turned), *places)
        if torn:
            raise RuntimeError(
                f"block {torn - 1}: some of its threads wait at a barrier that others never reach; on "
                "hardware the kernel would hang"
            )


@cache
def compiled(source: Any) -> Kernel:
    """The kernel of a Source. NotServed where there is no code for it, or no fibers."""
    text, barriers = source.text("simulated")
    try:
        return Kernel(text, barriers, source.pointers, source.numbers)
    except Unsupported as error:
        raise NotServed(str(error)) from None
