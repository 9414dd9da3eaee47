"""Column kernels: sums over the leading axis of expressions over a matrix, its rows and columns.

The gradients of biases and of a norm's weights are such sums.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.numpy_warnings import hush, restore
from rushlight._engine.core.settings import settings
from rushlight._engine.derive.reference import program
from rushlight._engine.derive.types import infer
from rushlight._engine.kernels.emit import machine_code
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.loops.column_loops import CHUNK, in_chunks
from rushlight._engine.kernels.loops.pointwise import work_dtype
from rushlight._engine.kernels.runtime import parallel, team
from rushlight._engine.kernels.runtime.tiers import Tiered
from rushlight._engine.ops.expressions import Expr

ColumnInputs = tuple[tuple[str, str, str], ...]
_CORE = {"matrix": "(m,n)", "perrow": "(m)", "percol": "(n)"}
_COLUMNS_PER_THREAD = 512
# Layouts of operands of which a kernel remembers how it runs.
_MOST_WAYS, _UNKNOWN = 256, object()


class Columns(Tiered):
    """Sums over the leading axis; inputs are (name, dtype name, role).

    Roles: "matrix" (m, n), "perrow" (m), "percol" (n); results have n elements. ValueError for
    other roles, or if there is no matrix.
    """

    exact = False  # sums have an order

    def __init__(self, outputs: tuple[Expr, ...], inputs: ColumnInputs, out_dtypes: tuple[str, ...]) -> None:
        super().__init__()
        self.outputs, self.out_dtypes = outputs, out_dtypes
        self.roles = tuple(role for _, _, role in inputs)
        self.inputs = tuple((name, d) for name, d, _ in inputs)
        if "matrix" not in self.roles or not set(self.roles) <= set(_CORE):
            raise ValueError(
                "columns: expected the roles 'matrix' (at least once), 'perrow' and "
                f"'percol', got {self.roles}"
            )
        self.work = work_dtype(tuple(d for _, d, role in inputs if role == "matrix"))
        types = infer(outputs, dict(self.inputs), self.work)
        self.sums = tuple(types[o] if types[o] != "bool" else "int64" for o in outputs)
        self._program = program(outputs, self.inputs, self.work)
        self._out = tuple(dt.BY_NAME[d].np for d in out_dtypes)
        self._ways: dict[Any, Any] = {}  # by how the operands lie
        cores = ",".join(_CORE[r] for r in self.roles)
        self.signature = f"{cores}->{','.join(['(n)'] * len(outputs))}"

    def reference(self, *arrays: Any, out: Any = None) -> Any:
        """Evaluate with NumPy."""
        shaped = [
            a[..., None] if role == "perrow" else a[..., None, :] if role == "percol" else a
            for a, role in zip(arrays, self.roles, strict=True)
        ]
        wanted = [None] * len(self._out) if out is None else [out] if len(self._out) == 1 else out
        results = []
        with np.errstate(all="ignore"):
            shape = np.broadcast_shapes(*[a.shape for a in shaped])
            for value, d, work, o in zip(self._program(shaped), self._out, self.sums, wanted, strict=True):
                total = np.add.reduce(
                    np.broadcast_to(value, shape), axis=-2, dtype=dt.BY_NAME[work].np
                ).astype(d, copy=False)
                if o is not None:
                    o[...] = total
                results.append(total if o is None else o)
        return results[0] if len(results) == 1 else tuple(results)

    @cached_property
    def source(self) -> tuple[str, str]:
        return "columns", f"{self._meaning().text()} {self.roles}"

    def _meaning(self) -> Meaning:
        return Meaning(self.outputs, self.inputs, self.out_dtypes, self.work)

    def build(self) -> np.ufunc | None:
        """A generalised ufunc, or None where there is no machine code."""
        return machine_code.ufunc(
            self.source, "columns", self._meaning(), self.roles, self.sums, signature=self.signature
        )

    def large(self, *arrays: Any, out: Any = None) -> Any:
        """In registers where the operands lie so that it can be, or as every kernel's."""
        if out is not None or settings.kernels == "numpy" or arrays[self.roles.index("matrix")].ndim != 2:
            return super().large(*arrays, out=out)
        key = tuple([(a.dtype, a.shape, a.strides) for a in arrays])
        found = self._ways.get(key, _UNKNOWN)
        if found is _UNKNOWN:
            if len(self._ways) >= _MOST_WAYS:
                self._ways.clear()
            found = self._ways[key] = self._in_registers(arrays)
        if found is None:
            return super().large(*arrays, out=out)
        token = hush()
        try:
            results = found(*arrays)
        finally:
            restore(token)
        return results[0] if len(results) == 1 else results

    def _in_registers(self, arrays: tuple[Any, ...]) -> Any:
        # the writers of code load when there is something to compile
        from rushlight._engine.kernels.emit.target import Unsupported
        from rushlight._engine.kernels.loops import column_expressions

        try:
            return column_expressions.sums_of(self._meaning(), self.roles, arrays)
        except Unsupported:
            return None

    def parallel(self, *arrays: Any, out: Any = None) -> Any:
        """Columns shared out over threads; or, where there are few, chunks of rows, on one thread too: the
        chunks decide the bits.
        """
        matrix = arrays[self.roles.index("matrix")]
        rows, columns = matrix.shape[-2:]
        if matrix.ndim == 3 and parallel.get_num_threads() > 1:
            return self._by_matrices(arrays, out)
        chunks = in_chunks(rows, columns)
        wide = columns >= 2 * _COLUMNS_PER_THREAD and parallel.get_num_threads() > 1
        if matrix.ndim != 2 or not (chunks or wide):
            return self(*arrays, out=out)
        if out is None:
            out = tuple([np.empty(columns, d) for d in self._out])
        results = out if isinstance(out, tuple) else (out,)
        (self._by_rows if chunks else self._by_columns)(arrays, results, rows, columns)
        return results[0] if len(results) == 1 else results

    def _by_matrices(self, arrays: tuple[Any, ...], out: Any) -> Any:
        """The matrices of a batch shared out."""
        shape = max(a.shape[0] for a, role in zip(arrays, self.roles, strict=True) if role == "matrix")
        width = arrays[self.roles.index("matrix")].shape[-1]
        if out is None:
            out = tuple([np.empty((shape, width), d) for d in self._out])
        results = out if isinstance(out, tuple) else (out,)
        full = [
            np.broadcast_to(a, (shape, *a.shape[a.ndim - (2 if role == "matrix" else 1) :]))
            for a, role in zip(arrays, self.roles, strict=True)
        ]
        self._run(self.fn, [[a[i] for a in (*full, *results)] for i in range(shape)])
        return results[0] if len(results) == 1 else results

    def _by_columns(self, arrays: tuple[Any, ...], results: tuple[Any, ...], rows: int, width: int) -> None:
        pieces = min(parallel.get_num_threads() * 2, width // _COLUMNS_PER_THREAD)
        cuts = [width * i // pieces for i in range(pieces + 1)]
        self._run(
            self.fn,
            [
                [
                    a if role == "perrow" else a[..., low:high]
                    for a, role in zip(
                        (*arrays, *results), (*self.roles, *("percol",) * len(results)), strict=True
                    )
                ]
                for low, high in zip(cuts, cuts[1:], strict=False)
            ],
        )

    def _run(self, function: Any, pieces: list[list[Any]]) -> None:
        """The ufunc on each piece, in threads."""
        count, at = len(self.roles), self.roles.index("matrix")
        dims = [p[at].shape[::-1] if self.roles[0] == "percol" else p[at].shape for p in pieces]
        if not team.calls(function, pieces, dims, parallel.get_num_threads()):
            for p in pieces:
                function(*p[:count], out=tuple(p[count:]))

    def _by_rows(self, arrays: tuple[Any, ...], results: tuple[Any, ...], rows: int, width: int) -> None:
        """Partial sums of fixed chunks of rows, then their sum: the same for any thread count."""
        partial = (
            self
            if self.out_dtypes == self.sums
            else columns(
                self.outputs,
                tuple([(*i, r) for i, r in zip(self.inputs, self.roles, strict=True)]),
                self.sums,
            )
        )
        if not partial.compile_now():
            self.reference(*arrays, out=results[0] if len(results) == 1 else results)
            return
        starts = range(0, rows, CHUNK)
        parts = [np.empty((len(starts), width), dt.BY_NAME[d].np) for d in self.sums]
        self._run(
            partial.fn,
            [
                [
                    *(
                        a if role == "percol" else a[low : low + CHUNK]
                        for a, role in zip(arrays, self.roles, strict=True)
                    ),
                    *(p[number] for p in parts),
                ]
                for number, low in enumerate(starts)
            ],
        )
        with np.errstate(all="ignore"):
            for p, r in zip(parts, results, strict=True):
                r[...] = np.add.reduce(p, axis=0)


# The kernel for such sums, kept.
columns = lru_cache(maxsize=None)(Columns)
