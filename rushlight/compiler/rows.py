"""Row kernels: fused reductions and maps along the last axis, one callable per meaning.

Softmax, norms, cross entropy and their gradients are such kernels: expressions of ops/rowexpr.py
over inputs that are a vector per row or a scalar per row.
"""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.ufunc import from_loop
from rushlight.compiler import native, pool
from rushlight.compiler.atoms import Unsupported
from rushlight.compiler.emit import Meaning, check, item_size, record
from rushlight.compiler.ir import Module
from rushlight.compiler.pointwise import work_dtype
from rushlight.compiler.rowbody import (Plan, begin, final_body, finish, level_body,
                                        level_end)
from rushlight.compiler.target import available
from rushlight.compiler.tier import Tiered
from rushlight.derive.reference import program
from rushlight.ops.rowexpr import is_vector
from rushlight.ops.scalar import Expr, toposort

Array = np.ndarray[Any, Any]
RowInputs = tuple[tuple[str, str, str], ...]


class Rows(Tiered):
    """Expressions over rows; leading axes broadcast, results are a vector or a scalar per row."""

    def __init__(self, outputs: tuple[Expr, ...], inputs: RowInputs,
                 out_dtypes: tuple[str, ...]) -> None:
        super().__init__()
        self.outputs, self.out_dtypes = outputs, out_dtypes
        self.roles = tuple(role for _, _, role in inputs)
        self.inputs = tuple((name, d) for name, d, _ in inputs)
        if "vector" not in self.roles:
            raise ValueError(f"rows: expected an input with the role 'vector', got {self.roles}")
        self.work = work_dtype(tuple(d for _, d, role in inputs if role == "vector"))
        self.vector_outputs = self._vary()
        first = self.roles.index("vector")
        self._program = program(outputs, self.inputs, self.work, first)
        self._out = tuple(dt.BY_NAME[d].np for d in out_dtypes)
        self._core = [role == "vector" for role in self.roles] + list(self.vector_outputs)
        self.signature = self._signature()

    def _vary(self) -> tuple[bool, ...]:
        roles = {name: role == "vector" for (name, _), role in zip(self.inputs, self.roles,
                                                                   strict=True)}
        known: dict[Expr, bool] = {}
        for node in toposort(self.outputs):
            known[node] = roles[node.arg] if node.op == "in" else is_vector(node, known)
        return tuple(known[o] for o in self.outputs)

    def _signature(self) -> str:
        parts = ["(n)" if core else "()" for core in self._core]
        count = len(self.inputs)
        return f"{','.join(parts[:count])}->{','.join(parts[count:])}"

    def reference(self, *arrays: Any, out: Any = None) -> Any:
        """Evaluate with NumPy."""
        count = len(arrays)
        wide = [a if core else np.asarray(a)[..., None]
                for a, core in zip(arrays, self._core, strict=False)]
        shape = np.broadcast_shapes(*[w.shape[:-1] for w in wide])
        extent = wide[self.roles.index("vector")].shape[-1:]
        wanted = [None] * len(self._out) if out is None else [out] if len(self._out) == 1 else out
        results = []
        with np.errstate(all="ignore"):
            for value, core, d, o in zip(self._program(wide), self._core[count:], self._out, wanted,
                                         strict=True):
                value = np.asarray(value)
                full = np.broadcast_to(value, shape + (extent if core else (1,)))
                full = full if core else full[..., 0]
                if o is None:
                    o = np.empty(full.shape, d)
                o[...] = full
                results.append(o)
        return results[0] if len(results) == 1 else tuple(results)

    def build(self) -> np.ufunc | None:
        """A generalised ufunc, or None where there is no machine code for an atom or dtype."""
        if not available():
            return None
        meaning = Meaning(self.outputs, self.inputs, self.out_dtypes, self.work)
        try:
            plan = Plan(meaning, self.roles)
            check(meaning, plan.types)
            address = native.address("rows", f"{meaning.text()} {self.roles}",
                                     lambda module, name: write(module, name, plan))
        except Unsupported:
            return None
        ins = [dt.BY_NAME[d].np for _, d in self.inputs]
        return from_loop("row_kernel", address, ins, self._out, self.signature)

    def parallel(self, *arrays: Any, out: Any = None) -> Any:
        """Rows shared out over threads."""
        return pool.split(self.fn, arrays, self._core, self._out, out)


def write(module: Module, name: str, plan: Plan) -> None:
    """The IR of a row kernel: begin, a body and an end per level, final, finish, descriptor."""
    begin(module, plan)
    finish(module, plan)
    for number in range(len(plan.levels)):
        level_body(module, plan, number)
        level_end(module, plan, number)
    if plan.out_vectors:
        final_body(module, plan)
    module.functions.append(_descriptor(f"{name}_desc", plan))
    module.functions.append(
        "declare void @rl_rows(ptr, ptr, ptr, ptr)\n"
        f"define i32 @{name}(ptr %c, ptr %args, ptr %dims, ptr %steps, ptr %d) {{\n"
        f"  call void @rl_rows(ptr @{name}_desc, ptr %args, ptr %dims, ptr %steps)\n"
        "  ret i32 0\n}")


def _descriptor(name: str, plan: Plan) -> str:
    """The global described in rowloops.py."""
    inputs = [n for n, _ in plan.meaning.inputs]
    dtypes, first = plan.operand_dtypes(), len(inputs)
    parts: list[int | str] = [
        len(dtypes), len(plan.vectors), plan.lanes, len(plan.scalars), len(plan.out_scalars),
        len(plan.levels), plan.slots, "@begin", "@finish", "@final" if plan.out_vectors else "null"]
    parts += [item_size(d) for d in dtypes]
    parts += [inputs.index(n) for n, _ in plan.vectors] + [first + i for i in plan.out_vectors]
    for n, d in plan.scalars:
        parts += [item_size(d), inputs.index(n), plan.scalar_slot[n]]
    for i in plan.out_scalars:
        parts += [item_size(plan.meaning.out_dtypes[i]), first + i, plan.output_slot[i]]
    for number in range(len(plan.levels)):
        parts += [f"@level{number}", f"@end{number}"]
    return record(name, parts)


@lru_cache(maxsize=None)
def rows(outputs: tuple[Expr, ...], inputs: RowInputs, out_dtypes: tuple[str, ...]) -> Rows:
    """The kernel for row expressions over `inputs` (name, dtype name, "vector" or "scalar"), kept.

    Call it with one array per input: a vector is (..., n), a scalar (...), the leading axes
    broadcast. An output that varies along the row is (..., n), any other (...). ValueError if no
    input is a vector.
    """
    return Rows(outputs, inputs, out_dtypes)
