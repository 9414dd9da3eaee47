"""A team of threads that runs loops of machine code side by side, without the interpreter.

A loop is one of NumPy's inner loops, or a generated one of the same signature; a *job* is the part of it that
one thread runs: pointers, then sizes. Python's own threads would take turns at the interpreter's lock, which
NumPy keeps during calls with few, long rows. Where there are no POSIX semaphores there is no team, and the
caller runs all jobs.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from math import prod
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.core.layout import pointer
from rushlight._engine.kernels.runtime import parallel
from rushlight._engine.kernels.runtime.abi import (
    CALL_HEAD,
    MEMBER,
    MEMBERS,
    NUMBER,
    OF_WORDS,
    QUEUE,
    SEMAPHORE,
    SLOT,
    STAGE_FIELDS,
    of_operand,
)
from rushlight._engine.numerics.ufunc import LOOPS, builtin

Array = np.ndarray[Any, Any]
_LINE = 64
# Many or short lines are left to NumPy's own iteration, which is as good.
_MOST_JOBS, _SHORTEST = 4096, 32
# Of a Call, which the stack has room for.
_WORDS = 1 << 13
_SYMBOLS = ("sem_init", "sem_wait", "sem_post", "sched_yield")


_fields = Struct("8q").pack


class _Team:
    """The members so far, and the memory that they share with the caller.

    former: a smaller team, whose members sleep on in its memory.
    """

    def __init__(self, most: int, former: _Team | None) -> None:
        queues = MEMBERS + MEMBER * most
        words = queues + QUEUE * (most + 1)
        words_and_line = np.zeros(words + _LINE // 8, np.int64)
        start = -pointer(words_and_line) % _LINE // 8
        self.memory = words_and_line[start : start + words]
        self.most, self.members, self.former = most, 0, former
        self.address = pointer(self.memory)
        self.memory[0] = self.address + 8 * queues
        self.memory[MEMBERS + 1 : queues : MEMBER] = range(1, most + 1)
        process = ctypes.CDLL(None)
        init, wait, post, give_way = (getattr(process, name) for name in _SYMBOLS)
        for place, f in enumerate((wait, post, give_way), 14):
            self.memory[place] = ctypes.cast(f, ctypes.c_void_p).value or 0
        for k in range(most):
            if init(ctypes.c_void_p(self.member(k) + 8 * SEMAPHORE), 0, 0):
                raise OSError("this system has no unnamed semaphores")
        self._serve = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(_address("rl_team_serve"))

    def member(self, k: int) -> int:
        """Where the member's state is."""
        return self.address + 8 * (MEMBERS + MEMBER * k)

    def grow(self, helpers: int) -> None:
        """Have so many members."""
        while self.members < helpers:
            threading.Thread(
                target=self._serve,
                args=(self.address, self.member(self.members)),
                name="rushlight-team",
                daemon=True,
            ).start()
            self.members += 1


def _address(symbol: str) -> int:
    # Here, since small kernels on NumPy need neither a team nor the emitters.
    from rushlight._engine.kernels.runtime import native

    return native.runtime_address(symbol)


class _Current:
    team: _Team | None = None
    possible = os.name == "posix"


_busy = threading.Lock()


def _team(threads: int) -> _Team | None:
    if not _Current.possible:
        return None
    found = _Current.team
    if found is None or found.most < threads - 1:
        try:
            # The count of threads seldom changes.
            found = _Current.team = _Team(max(threads - 1, 8), found)
        except (OSError, AttributeError, ImportError):
            _Current.possible = False
    return found


def _forget() -> None:
    """In a forked child no member lives."""
    global _busy
    _Current.team, _busy = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def run(function: Any, jobs: Array, before: int, steps: Array, threads: int) -> bool:
    """Run a ufunc's loop over `jobs`, a row each: `before` pointers, then the dims.

    False, with nothing done, where there is no team.
    """
    loop = LOOPS.get(function)
    return loop is not None and run_loop(loop, jobs, before, steps, threads)


def run_loop(loop: int, jobs: Array, before: int, steps: Array, threads: int) -> bool:
    """`run` for the loop at an address; alone, job by job, while the team is at work for another thread."""
    if _team(threads) is None:
        return False
    (count, width), threads = jobs.shape, min(threads, len(jobs))
    stage = _fields(loop, pointer(jobs), count, width * 8, before * 8, pointer(steps), threads - 1, 0)
    return run_stages(stage, 0, 1, threads) == 1


class CallStage(NamedTuple):
    """One loop of a Call. A job is a row of words: pointers, then the loop's dims."""

    loop: int  # its address
    jobs: Array  # int64, a row each; a pointer is an offset from the memory of an operand
    operands: Sequence[int]  # for each of a job's first words, the operand that it is relative to
    pointers: int  # how many words of a job are pointers
    steps: Array  # int64, what the loop advances its pointers by
    kept: Any = None  # whatever the loop reads beside, which is to live as long


class Call:
    """Loops over jobs, one loop after the other, in one native call of the operands that it is given.

    They are written as a table of words once (abi.py says how it is laid out), in which machine code replaces
    what is relative to operands by addresses at each call.
    """

    def __init__(self, *stages: CallStage, few: bool = False) -> None:
        """few: whether other threads of Python may wait for the call."""
        self.kept = stages
        heads, jobs = list[int](), list[Array]()
        relative_heads, relative_jobs = list[int](), list[Array]()
        start = STAGE_FIELDS * SLOT * len(stages)  # in bytes, from the words' beginning: the jobs follow
        for stage in stages:
            count, width = stage.jobs.shape
            before = stage.pointers
            heads += stage.loop, start, count, width * SLOT, before * SLOT, pointer(stage.steps), count - 1, 0
            relative_heads += NUMBER, OF_WORDS, *[NUMBER] * (STAGE_FIELDS - 2)
            jobs.append(stage.jobs.ravel())
            numbers = [NUMBER] * (width - len(stage.operands))
            relative_jobs.append(np.tile([*map(of_operand, stage.operands), *numbers], count))
            start += SLOT * stage.jobs.size
        words = len(heads) + sum(map(len, jobs))
        head = [words, len(stages), not few]
        self.table = np.concatenate([head, relative_heads, *relative_jobs, heads, *jobs])
        self.words = self.table[len(self.table) - words :]
        self.small = len(self.words) <= _WORDS
        # The builtin for this thread alone, called with the operands.
        self.run = partial(_alone(), self.table)
        vars(self.run)["kept"] = stages

    def __call__(self, threads: int, *operands: Array) -> bool:
        """Run all, only where `possible`; whether no loop has refused."""
        if threads < 2 and self.small:
            return self.run(*operands)
        words = self.words.copy()
        # In the order of NUMBER, OF_WORDS, of_operand(0), ...
        bases = np.array([0, pointer(words), *map(pointer, operands)], np.int64)
        words += bases[self.table[CALL_HEAD : -len(words)] // SLOT]
        return run_stages(pointer(words), 0, len(self.kept), threads) == len(self.kept)


@cache
def _alone() -> Callable[..., bool]:
    return builtin("call", _address("rl_call"))


@cache
def alone() -> Callable[[Array, int, int], int]:
    """alone(table, first, count): run_stages by this thread, of an array."""
    return builtin("stages", _address("rl_stages"))


@cache
def possible() -> bool:
    """Whether there can be a team; a forked child takes its parent's word."""
    return _team(1) is not None


@cache
def _native() -> Callable[..., int]:
    address, number = ctypes.c_void_p, ctypes.c_int64
    return ctypes.CFUNCTYPE(number, address, address, number, number, number)(_address("rl_program_run"))


def run_stages(stages: int | bytes, first: int, count: int, threads: int) -> int:
    """Run a table's stages from `first` on, alone if the team is busy; how many there are, or the number of
    one that refused.
    """
    if threads < 2 or not _busy.acquire(blocking=False):
        return _native()(None, stages, first, count, 0)
    try:
        team = _team(threads)
        if team is None:
            return _native()(None, stages, first, count, 0)
        team.grow(threads - 1)
        return _native()(team.address, stages, first, count, threads - 1)
    finally:
        _busy.release()


def split(
    function: Any, operands: Sequence[Array], cores: tuple[bool, ...], shape: tuple[int, ...], threads: int
) -> bool:
    """A ufunc over leading axes of `shape`, in pieces; False where operands do not lie as lines.

    `cores` says of each operand whether its last axis is the row's own.
    """
    layouts = tuple([(a.shape, a.strides) for a in operands])
    plan = lines(layouts, cores, shape, threads)
    if plan is None:
        return False
    offsets, steps = plan
    return run(function, placed(offsets, operands), len(operands), steps, threads)


def placed(offsets: Array, operands: Sequence[Array]) -> Array:
    """Jobs whose pointers were relative to the operands' starts."""
    jobs = offsets.copy()
    jobs[:, : len(operands)] += np.array([pointer(a) for a in operands], np.int64)
    return jobs


@lru_cache(maxsize=1024)
def lines(
    layouts: Any, cores: tuple[bool, ...], shape: tuple[int, ...], threads: int
) -> tuple[Array, Array] | None:
    """Jobs, relative to the operands' starts, and the steps of the loop; None where lines are too many, or
    too short to share them out.
    """
    extent = next((own[-1:] for (own, _), core in zip(layouts, cores, strict=True) if core), ())
    rows = [strides[-1] for (_, strides), core in zip(layouts, cores, strict=True) if core]
    walks = [
        (own[:-1], strides[:-1]) if core else (own, strides)
        for (own, strides), core in zip(layouts, cores, strict=True)
    ]
    every = _strides(walks, shape)
    axis, steps = _line(every, shape)
    outer, inner = shape[:axis], prod(shape[axis:])
    if not axis and threads == 1:  # one job
        return np.array([[0] * len(walks) + [inner, *extent]], np.int64), np.array([*steps, *rows], np.int64)
    if prod(outer) > _MOST_JOBS or (axis and threads > 1 and inner < _SHORTEST):
        return None
    if axis:
        offsets, sizes = _places(outer) @ every[:, :axis].T, np.full(prod(outer), inner)
    else:
        cuts = _cuts(inner, threads)
        offsets, sizes = cuts[:-1, None] * np.array(steps, np.int64), np.diff(cuts)
    jobs = np.empty((len(sizes), len(walks) + 1 + len(extent)), np.int64)
    jobs[:, : len(walks)] = offsets
    jobs[:, len(walks)] = sizes
    jobs[:, len(walks) + 1 :] = extent
    return jobs, np.array([*steps, *rows], np.int64)


def planes(layouts: Sequence[Any], shape: tuple[int, ...], threads: int) -> tuple[Array, Array] | None:
    """`lines` of an elementwise kernel, which takes rows that lie at equal steps by one call; None where
    planes are too many.
    """
    every = _strides(layouts, shape)
    axis, steps = _line(every, shape)
    top, further = _line(every[:, :axis], shape[:axis])
    outer, rows, inner = shape[:top], prod(shape[top:axis]), prod(shape[axis:])
    count = prod(outer)
    cuts = _cuts(rows if axis else inner, -(-threads // count))
    if count * (len(cuts) - 1) > _MOST_JOBS:
        return None
    within = cuts[:-1, None] * np.array(further if axis else steps, np.int64)
    offsets = (_places(outer) @ every[:, :top].T)[:, None] + within
    sizes = np.tile(np.diff(cuts), count)
    dims = [-sizes, np.full(len(sizes), inner)] if axis else [sizes]
    jobs = np.concatenate([offsets.reshape(len(sizes), -1), np.stack(dims, -1)], -1)
    return np.ascontiguousarray(jobs, np.int64), np.array([*steps, *further * (axis > 0)], np.int64)


def _places(shape: tuple[int, ...]) -> Array:
    """The indices of all places of a shape, a row each."""
    return np.stack(np.unravel_index(np.arange(prod(shape)), shape), -1) if shape else np.zeros((1, 0), int)


def _cuts(count: int, threads: int) -> Array:
    """Where pieces of so many elements begin and end."""
    pieces = parallel.pieces_for(count, threads) if threads > 1 else 1
    return np.arange(pieces + 1) * count // pieces


def _strides(lines: Sequence[Any], shape: tuple[int, ...]) -> Array:
    """The byte strides of all operands along all axes; 0 where an operand repeats."""
    padded = [
        strides
        if own == shape
        else (0,) * (len(shape) - len(own))
        + tuple([0 if n == 1 else s for n, s in zip(own, strides, strict=True)])
        for own, strides in lines
    ]
    return np.array(padded, np.int64).reshape(len(lines), len(shape))


def _line(every: Array, shape: tuple[int, ...]) -> tuple[int, list[int]]:
    """The axis from which on all operands lie as one line, and their byte steps through it."""
    loops = [
        (i, n, strides) for i, (n, strides) in enumerate(zip(shape, every.T.tolist(), strict=True)) if n != 1
    ][::-1]
    if not loops:
        return 0, [0] * len(every)
    axis, following = loops[0][0], [n * loops[0][1] for n in loops[0][2]]
    for i, n, strides in loops[1:]:
        if strides != following:
            return axis, loops[0][2]
        axis, following = i, [n * s for s in strides]
    return 0, loops[0][2]


def calls(
    function: Any, pieces: Sequence[Sequence[Array]], dims: Sequence[Sequence[int]], threads: int
) -> bool:
    """A generalised ufunc called on each piece, all of whose axes are its own, of size `dims`."""
    jobs = np.array(
        [[pointer(a) for a in arrays] + [1, *sizes] for arrays, sizes in zip(pieces, dims, strict=True)],
        np.int64,
    )
    steps = [0] * len(pieces[0]) + [s for a in pieces[0] for s in a.strides]
    return run(function, jobs, len(pieces[0]), np.array(steps, np.int64), threads)
