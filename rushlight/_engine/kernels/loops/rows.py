"""Row kernels: fused reductions and maps along the last axis, one callable per meaning.

Softmax, norms, cross entropy and their gradients are such kernels: expressions of ops/row_expressions.py
over inputs that are a vector per row or a scalar per row.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.derive.reference import program
from rushlight._engine.kernels.emit import machine_code
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.loops.pointwise import work_dtype
from rushlight._engine.kernels.runtime import parallel
from rushlight._engine.kernels.runtime.tiers import Tiered
from rushlight._engine.ops.expressions import Expr, toposort
from rushlight._engine.ops.row_expressions import is_vector

Array = np.ndarray[Any, Any]
RowInputs = tuple[tuple[str, str, str], ...]


class Rows(Tiered):
    """Expressions over rows; leading axes broadcast, results are a vector or a scalar per row."""

    exact = False  # sums have an order

    def __init__(
        self, outputs: tuple[Expr, ...], inputs: RowInputs, out_dtypes: tuple[str, ...], lanes: int = 0
    ) -> None:
        super().__init__()
        self.outputs, self.out_dtypes, self.lanes = outputs, out_dtypes, lanes
        self.roles = tuple(role for _, _, role in inputs)
        self.inputs = tuple((name, d) for name, d, _ in inputs)
        if "vector" not in self.roles:
            raise ValueError(f"rows: expected an input with the role 'vector', got {self.roles}")
        self.work = work_dtype(tuple(d for _, d, role in inputs if role == "vector"))
        self.vector_outputs = self._vary()
        self.cost = 1 + len(toposort(outputs)) // 4
        first = self.roles.index("vector")
        self._program = program(outputs, self.inputs, self.work, first)
        self.out = tuple(dt.BY_NAME[d].np for d in out_dtypes)
        self.core = (*[role == "vector" for role in self.roles], *self.vector_outputs)
        self.signature = self._signature()

    def _vary(self) -> tuple[bool, ...]:
        roles = {name: role == "vector" for (name, _), role in zip(self.inputs, self.roles, strict=True)}
        known: dict[Expr, bool] = {}
        for node in toposort(self.outputs):
            known[node] = roles[node.arg] if node.op == "in" else is_vector(node, known)
        return tuple(known[o] for o in self.outputs)

    def _signature(self) -> str:
        parts = ["(n)" if core else "()" for core in self.core]
        count = len(self.inputs)
        return f"{','.join(parts[:count])}->{','.join(parts[count:])}"

    def reference(self, *arrays: Any, out: Any = None) -> Any:
        """Evaluate with NumPy."""
        count = len(arrays)
        wide = [a if core else np.asarray(a)[..., None] for a, core in zip(arrays, self.core, strict=False)]
        shape = np.broadcast_shapes(*[w.shape[:-1] for w in wide])
        extent = wide[self.roles.index("vector")].shape[-1:]
        wanted = [None] * len(self.out) if out is None else [out] if len(self.out) == 1 else out
        results = []
        with np.errstate(all="ignore"):
            for value, core, d, o in zip(
                self._program(wide), self.core[count:], self.out, wanted, strict=True
            ):
                value = np.asarray(value)
                full = np.broadcast_to(value, shape + (extent if core else (1,)))
                full = full if core else full[..., 0]
                if o is None:
                    o = np.empty(full.shape, d)
                o[...] = full
                results.append(o)
        return results[0] if len(results) == 1 else tuple(results)

    @cached_property
    def source(self) -> tuple[str, str]:
        return "rows", f"{self._meaning().text()} {self.roles}{self.lanes or ''}"

    def build(self) -> np.ufunc | None:
        """A generalised ufunc, or None where there is no machine code."""
        return machine_code.ufunc(
            self.source, "rows", self._meaning(), self.roles, self.lanes, signature=self.signature
        )

    def _meaning(self) -> Meaning:
        return Meaning(self.outputs, self.inputs, self.out_dtypes, self.work)

    @cached_property
    def own_lanes(self) -> int:
        """On how many lanes the machine code runs."""
        # the writers of code load when there is something to compile
        from rushlight._engine.kernels.loops.row_plan import RowLevels

        return RowLevels(self._meaning(), self.roles, self.lanes).lanes

    def parallel(self, *arrays: Any, out: Any = None) -> Any:
        """Rows shared out over threads."""
        return parallel.split(self.fn, arrays, self.core, self.out, out)


@cache
def rows(outputs: tuple[Expr, ...], inputs: RowInputs, out_dtypes: tuple[str, ...], lanes: int = 0) -> Rows:
    """The kernel for row expressions over `inputs` (name, dtype name, "vector" or "scalar"), kept.

    lanes: how many elements reductions take at once, 0 for what suits the expressions.

    Call it with one array per input: a vector is (..., n), a scalar (...), the leading axes
    broadcast. An output that varies along the row is (..., n), any other (...). ValueError if no
    input is a vector.
    """
    return Rows(outputs, inputs, out_dtypes, lanes)
