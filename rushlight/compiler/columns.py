"""Column kernels: sums over the leading axis of expressions over a matrix, its rows and columns.

The gradients of biases and of a norm's weights are such sums.
"""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.ufunc import from_loop
from rushlight.compiler import native, pool
from rushlight.compiler.atoms import Unsupported
from rushlight.compiler.emit import (Meaning, check, descriptor, item_size, lanes_for,
                                     pointwise_body, record)
from rushlight.compiler.ir import Function, Module
from rushlight.compiler.pointwise import work_dtype
from rushlight.compiler.rowbody import wide
from rushlight.compiler.target import available
from rushlight.compiler.tier import Tiered
from rushlight.derive.reference import program
from rushlight.derive.types import infer
from rushlight.ops.scalar import Expr, const, m, symbol

ColumnInputs = tuple[tuple[str, str, str], ...]
_CORE = {"matrix": "(m,n)", "perrow": "(m)", "percol": "(n)"}
# Rows that one thread sums up where there are too few columns to share out.
CHUNK = 1024
_COLUMNS_PER_THREAD = 512


class Columns(Tiered):
    """Sums over m; see `columns`."""

    def __init__(self, outputs: tuple[Expr, ...], inputs: ColumnInputs,
                 out_dtypes: tuple[str, ...]) -> None:
        super().__init__()
        self.outputs, self.out_dtypes = outputs, out_dtypes
        self.roles = tuple(role for _, _, role in inputs)
        self.inputs = tuple((name, d) for name, d, _ in inputs)
        if "matrix" not in self.roles or not set(self.roles) <= set(_CORE):
            raise ValueError("columns: expected the roles 'matrix' (at least once), 'perrow' and "
                             f"'percol', got {self.roles}")
        self.work = work_dtype(tuple(d for _, d, role in inputs if role == "matrix"))
        types = infer(outputs, dict(self.inputs), self.work)
        self.sums = tuple(types[o] if types[o] != "bool" else "int64" for o in outputs)
        self._program = program(outputs, self.inputs, self.work)
        self._out = tuple(dt.BY_NAME[d].np for d in out_dtypes)
        cores = ",".join(_CORE[r] for r in self.roles)
        self.signature = f"{cores}->{','.join(['(n)'] * len(outputs))}"

    def reference(self, *arrays: Any, out: Any = None) -> Any:
        """Evaluate with NumPy."""
        shaped = [a[..., None] if role == "perrow" else a[..., None, :] if role == "percol" else a
                  for a, role in zip(arrays, self.roles, strict=True)]
        wanted = [None] * len(self._out) if out is None else [out] if len(self._out) == 1 else out
        results = []
        with np.errstate(all="ignore"):
            shape = np.broadcast_shapes(*[a.shape for a in shaped])
            for value, d, work, o in zip(self._program(shaped), self._out, self.sums, wanted,
                                         strict=True):
                total = np.add.reduce(np.broadcast_to(value, shape), axis=-2,
                                      dtype=dt.BY_NAME[work].np).astype(d, copy=False)
                if o is not None:
                    o[...] = total
                results.append(total if o is None else o)
        return results[0] if len(results) == 1 else tuple(results)

    def build(self) -> np.ufunc | None:
        """A generalised ufunc, or None where there is no machine code for an atom or dtype."""
        if not available():
            return None
        meaning = Meaning(self.outputs, self.inputs, self.out_dtypes, self.work)
        try:
            check(meaning, meaning.types())
            address = native.address("columns", f"{meaning.text()} {self.roles}", self._write)
        except Unsupported:
            return None
        ins = [dt.BY_NAME[d].np for _, d in self.inputs]
        return from_loop("column_kernel", address, ins, self._out, self.signature)

    def parallel(self, *arrays: Any, out: Any = None) -> Any:
        """Columns shared out over threads; or, where there are few, chunks of rows."""
        matrix = arrays[self.roles.index("matrix")]
        rows, columns = matrix.shape[-2:]
        if pool.get_num_threads() < 2 or matrix.ndim != 2:
            return self(*arrays, out=out)
        if columns < 2 * _COLUMNS_PER_THREAD:
            return self(*arrays, out=out) if rows < 2 * CHUNK else self._by_rows(arrays, out)
        results = _results(out, columns, self._out)
        pieces = min(pool.get_num_threads() * 2, columns // _COLUMNS_PER_THREAD)
        cuts = [columns * i // pieces for i in range(pieces + 1)]

        def job(low: int, high: int) -> Any:
            parts = [a if role == "perrow" else a[..., low:high]
                     for a, role in zip(arrays, self.roles, strict=True)]
            return lambda: self.fn(*parts, out=tuple(r[low:high] for r in results))

        pool.run([job(a, b) for a, b in zip(cuts, cuts[1:], strict=False)])
        return results[0] if len(results) == 1 else results

    def _by_rows(self, arrays: tuple[Any, ...], out: Any) -> Any:
        """Partial sums of fixed chunks of rows, then their sum: the same for any thread count."""
        partial = self if self.out_dtypes == self.sums else columns(
            self.outputs, tuple((n, d, r) for (n, d), r in zip(self.inputs, self.roles,
                                                               strict=True)), self.sums)
        if not partial.compile_now():
            return self.reference(*arrays, out=out)
        total = arrays[self.roles.index("matrix")].shape[0]
        width = arrays[self.roles.index("matrix")].shape[1]
        starts = range(0, total, CHUNK)
        parts = [np.empty((len(starts), width), dt.BY_NAME[d].np) for d in self.sums]

        def job(number: int, low: int) -> Any:
            pieces = [a if role == "percol" else a[low:low + CHUNK]
                      for a, role in zip(arrays, self.roles, strict=True)]
            return lambda: partial.fn(*pieces, out=tuple(p[number] for p in parts))

        pool.run([job(number, low) for number, low in enumerate(starts)])
        results = _results(out, width, self._out)
        with np.errstate(all="ignore"):
            for p, r in zip(parts, results, strict=True):
                r[...] = np.add.reduce(p, axis=0)
        return results[0] if len(results) == 1 else results

    # --- machine code ---------------------------------------------------------------------------

    def _write(self, module: Module, name: str) -> None:
        """The IR: three strips (main, merge, final), their descriptors and that of the loops."""
        seconds = tuple(wide("add", d) for d in self.sums)
        scalars = [n for (n, _), role in zip(self.inputs, self.roles, strict=True)
                   if role == "perrow"]
        firsts = [symbol(f"first {i}") for i in range(len(self.outputs))]
        totals = [symbol(f"second {i}") for i in range(len(self.outputs))]
        names = [(str(s.arg), d) for s, d in zip(firsts, self.sums, strict=True)]
        wides = [(str(s.arg), d) for s, d in zip(totals, seconds, strict=True)]
        summed = tuple(a + m.cast(o, arg=d)
                       for a, o, d in zip(firsts, self.outputs, self.sums, strict=True))
        folded = tuple(t + m.cast(a, arg=d)
                       for t, a, d in zip(totals, firsts, seconds, strict=True))
        zeros = (const(0),) * len(firsts)
        self._strip(module, "main", Meaning(summed, (*self.inputs, *names), self.sums, self.work),
                    scalars)
        self._strip(module, "merge", Meaning(zeros + folded, (*names, *wides),
                                             self.sums + seconds, self.sums[0]), [])
        self._strip(module, "final", Meaning(tuple(totals), tuple(wides), self.out_dtypes,
                                             seconds[0]), [])
        module.functions.append(record(f"{name}_desc", self._parts(scalars)))
        module.functions.append(
            "declare void @rl_strip(ptr, ptr, ptr, ptr, i64)\n"
            "declare void @rl_columns(ptr, ptr, ptr, ptr)\n"
            f"define i32 @{name}(ptr %c, ptr %args, ptr %dims, ptr %steps, ptr %d) {{\n"
            f"  call void @rl_columns(ptr @{name}_desc, ptr %args, ptr %dims, ptr %steps)\n"
            "  ret i32 0\n}")

    @staticmethod
    def _strip(module: Module, name: str, meaning: Meaning, scalars: list[str]) -> None:
        types = meaning.types()
        f = Function(module, f"define internal void @{name}_body(ptr %frame, i64 %vectors, "
                             "i64 %valid)", lanes_for(types))
        pointwise_body(f, meaning, types, {s: i for i, s in enumerate(scalars)})
        dtypes = [d for n, d in meaning.inputs if n not in scalars]
        module.functions.append(descriptor(f"{name}_desc", f"{name}_body",
                                           [*dtypes, *meaning.out_dtypes], len(dtypes), f.width,
                                           internal=True))

    def _parts(self, scalars: list[str]) -> list[int | str]:
        """The slots of the descriptor in columnloops.py."""
        steps, position = [], 0
        for role in (*self.roles, *["percol"] * len(self.outputs)):
            steps.append(position)
            position += 2 if role == "matrix" else 1
        vectors = [i for i, role in enumerate(self.roles) if role != "perrow"]
        parts: list[int | str] = ["@main_desc", "@merge_desc", "@final_desc", len(vectors),
                                  len(scalars), len(self.outputs), max(len(scalars), 1),
                                  2 if self.roles[0] == "percol" else 1]
        for i in vectors:
            matrix = self.roles[i] == "matrix"
            parts += [i, steps[i] if matrix else -1, steps[i] + 1 if matrix else steps[i]]
        for number, name in enumerate(scalars):
            i = [n for n, _ in self.inputs].index(name)
            parts += [item_size(self.inputs[i][1]), i, steps[i], number]
        for o, d in enumerate(self.sums):
            number = len(self.inputs) + o
            parts += [number, item_size(d), steps[number]]
        return parts


def _results(out: Any, width: int, dtypes: tuple[Any, ...]) -> tuple[Any, ...]:
    if out is None:
        return tuple(np.empty(width, d) for d in dtypes)
    return out if isinstance(out, tuple) else (out,)


@lru_cache(maxsize=None)
def columns(outputs: tuple[Expr, ...], inputs: ColumnInputs,
            out_dtypes: tuple[str, ...]) -> Columns:
    """The kernel for sums over the leading axis, kept; inputs are (name, dtype name, role).

    Roles: "matrix" (m, n), "perrow" (m), "percol" (n); results have n elements. ValueError for
    other roles, or if there is no matrix.
    """
    return Columns(outputs, inputs, out_dtypes)
