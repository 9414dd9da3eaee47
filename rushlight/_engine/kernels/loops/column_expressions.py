"""Sums of the columns of expressions over matrices, rows and columns, in registers on their way down: what a
column kernel means (columns.py), for operands of one floating dtype, or of halves and float32, whose rows are
dense, with its bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rushlight._engine.core.dtype import BY_NAME
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.atom_code import LLVM, convert
from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import Module
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.emit.scalar_code import Body, item_size, load_scalar
from rushlight._engine.kernels.loops.column_loops import CHUNK, in_chunks
from rushlight._engine.kernels.loops.columns_in_registers import Down, Row, far_apart, strips, widens
from rushlight._engine.kernels.products.tiles import Array, suits
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.kernels.runtime.abi import SLOT
from rushlight._engine.ops.expressions import symbol

# Elements from which on threads are worth waking.
_PARALLEL = 1 << 15


def sums_of(
    meaning: Meaning, roles: Sequence[str], arrays: Sequence[Array]
) -> Callable[..., tuple[Array, ...]] | None:
    """What gives the sums for arrays that lie as these do. None where the column kernel computes them, or
    takes no longer.
    """
    of = BY_NAME[meaning.out_dtypes[0]].np
    stored = ["" if d == of.name else d for _, d in meaning.inputs]
    if {*meaning.out_dtypes} != {of.name} or not suits(np.empty(0, of)) or not all(map(widens, stored)):
        return None
    if any(stored) and of != np.float32:
        return None
    if any([a.dtype != BY_NAME[d].np for a, (_, d) in zip(arrays, meaning.inputs, strict=True)]):
        return None  # which the column kernel casts
    rows, columns = arrays[roles.index("matrix")].shape
    if far_apart(rows * roles.count("matrix"), columns * of.itemsize):
        return None
    shapes = {"matrix": (rows, columns), "perrow": (rows,), "percol": (columns,)}
    steps = [0 if role == "percol" else a.strides[0] for role, a in zip(roles, arrays, strict=True)]
    if not (rows and columns and team.possible()) or not all(
        a.shape == shapes[role] and (role == "perrow" or columns == 1 or a.strides[-1] == a.itemsize)
        for role, a in zip(roles, arrays, strict=True)
    ):
        return None
    call, parts = _call(meaning, tuple(zip(roles, stored, strict=True)), of, (rows, columns), steps)
    apart, many, count = len(parts) > 1, rows * columns >= _PARALLEL, len(meaning.outputs)

    def run(*arrays: Array) -> tuple[Array, ...]:
        found = [np.empty((len(parts), columns), of) for _ in range(count)]
        call(parallel.get_num_threads() if many else 1, *arrays, *found)
        return tuple([np.add.reduce(f, 0) if apart else f[0] for f in found])

    return run


def _call(
    meaning: Meaning,
    given: tuple[tuple[str, str], ...],
    of: Any,
    shape: tuple[int, int],
    steps: Sequence[int],
) -> tuple[team.Call, Sequence[int]]:
    """The jobs, each a strip of columns of some rows; and the first row of each part of them. given: each
    operand's role, and its dtype where that is not the sums'.
    """
    (rows, columns), size = shape, of.itemsize
    firsts = range(0, rows, CHUNK) if in_chunks(rows, columns) else range(1)
    cuts, jobs = strips(columns, len(firsts), parallel.get_num_threads()), []
    for number, first in enumerate(firsts):
        count = min(CHUNK, rows - first) if len(firsts) > 1 else rows
        for low, wide in cuts:
            places = [
                first * step + (role != "perrow") * low * (item_size(stored) if stored else size)
                for (role, stored), step in zip(given, steps, strict=True)
            ]
            to = [(number * columns + low) * size] * len(meaning.outputs)
            jobs.append((*places, *to, wide, count))
    pointers = len(given) + len(meaning.outputs)
    lanes = target.lanes(of.name)
    loop = native.address(
        "column expressions",
        f"{meaning.text()} {[role for role, _ in given]} {lanes}",
        lambda module, name: _Expressions(module, name, LLVM[of.name], lanes, meaning, given).write_all(),
    )
    return (
        team.Call(
            team.CallStage(
                loop, np.array(jobs, np.int64), range(pointers), pointers, np.array(steps, np.int64)
            )
        ),
        firsts,
    )


class _Expressions(Down):
    """args: inputs, results. dims: how many columns, rows. steps: bytes of each input from row to row."""

    def __init__(
        self,
        module: Module,
        name: str,
        kind: str,
        lanes: int,
        meaning: Meaning,
        operands: tuple[tuple[str, str], ...],
    ) -> None:
        super().__init__(module, name, kind, lanes)
        f, self.meaning, self.operands, self.types = self.function, meaning, operands, meaning.types()
        self.results = len(meaning.outputs)
        count = len(operands)
        self.given, self.out = (
            [f.load("ptr", "%args", SLOT * k) for k in span]
            for span in (range(count), range(count, count + self.results))
        )
        self.steps = [f.load("i64", "%steps", SLOT * k) for k in range(count)]
        f.mark_early()

    def reader(self, at: str, together: int) -> Row:
        """The expressions of a row; what is one number a column is read once."""
        f, sums = self.function, self.meaning.out_dtypes[0]
        lines = [
            p if role == "perrow" else self.beginning(p, at, stored)
            for p, (role, stored) in zip(self.given, self.operands, strict=True)
        ]
        still = {
            k: self.taken(lines[k], together, stored)
            for k, (role, stored) in enumerate(self.operands)
            if role == "percol"
        }

        def row(i: str) -> list[Lane]:
            read: list[Sequence[Lane]] = []
            for k, (line, (role, stored)) in enumerate(zip(lines, self.operands, strict=True)):
                there = line if role == "percol" else f.at(line, f.i64("mul", i, self.steps[k]))
                if role == "perrow":
                    read.append([load_scalar(f, there, 0, stored or self.meaning.out_dtypes[0])] * together)
                else:
                    read.append(still[k] if role == "percol" else self.taken(there, together, stored))
            found = []
            for v in range(together):
                body = Body(f, self.meaning, self.types)
                for (name, _), values in zip(self.meaning.inputs, read, strict=True):
                    body.give(symbol(name), values[v])
                values = body.compute(self.meaning.outputs)
                found.append(
                    [
                        convert(x, self.types[o], sums)
                        for x, o in zip(values, self.meaning.outputs, strict=True)
                    ]
                )
            return [one for each in zip(*found, strict=True) for one in each]

        return row

    def give(self, found: Sequence[Lane], at: str) -> None:
        """To the results, each its vectors."""
        together = len(found) // self.results
        for o, pointer in enumerate(self.out):
            self.put(found[o * together : (o + 1) * together], self.function.at(pointer, at))
