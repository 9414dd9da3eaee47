"""Pointwise kernels: one callable per (expressions, input dtypes, output dtypes).

Why NumPy drives the loops: docs/decisions/02-numpy-drives-generated-code.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.layout import result_memory
from rushlight._engine.core.numpy_warnings import hush, restore
from rushlight._engine.core.settings import settings
from rushlight._engine.derive.exactness import same_bits
from rushlight._engine.derive.reference import program
from rushlight._engine.kernels.emit import machine_code
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.loops.elementwise import PARALLEL, apart, plan
from rushlight._engine.kernels.runtime import parallel, team
from rushlight._engine.kernels.runtime.tiers import Tiered
from rushlight._engine.ops.expressions import Expr, symbol
from rushlight._engine.ops.row_kernels import BIG

Array = np.ndarray[Any, Any]
Inputs = tuple[tuple[str, str], ...]
# The same for kernels that stand for a dozen ops.
SHARED = 1 << 12
_MOST_PLANS = 256


def work_dtype(dtypes: tuple[str, ...]) -> str:
    """The dtype that a kernel's literals take: the widest of its arrays', as it computes."""
    found = max((dt.BY_NAME[d] for d in dtypes), key=lambda d: (d.category, d.itemsize))
    return dt.opmath(found).name


class Pointwise(Tiered):
    """Expressions over broadcast arrays; results have the common shape."""

    def __init__(self, outputs: tuple[Expr, ...], inputs: Inputs, out_dtypes: tuple[str, ...]) -> None:
        super().__init__()
        self.outputs, self.inputs, self.out_dtypes = outputs, inputs, out_dtypes
        self.work = work_dtype(tuple(d for _, d in inputs) or out_dtypes)
        self._program = program(outputs, inputs, self.work)
        self.out = tuple(dt.BY_NAME[d].np for d in out_dtypes)
        self.taken = tuple(dt.BY_NAME[d].np for _, d in inputs)
        self.core = (False,) * (len(inputs) + len(out_dtypes))
        # How operands that lie so are called: None, where it is by NumPy.
        self._plans: dict[Any, Any] = {}

    def reference(self, *arrays: Any, out: Any = None) -> Any:
        """Evaluate with NumPy."""
        token = hush()
        try:
            if out is None and len(self.out) == 1:
                out = result_memory(arrays, self.out[0])
            found = self._program(arrays)
            shape = arrays[0].shape if arrays else ()
            for a in arrays:
                if a.shape != shape and a.shape:
                    shape = np.broadcast_shapes(shape, a.shape) if shape else a.shape
            if out is None and len(found) == 1:
                return _deliver(found[0], shape, self.out[0], None, arrays)
            wanted = [None] * len(found) if out is None else [out] if len(found) == 1 else out
            results = [
                _deliver(f, shape, d, o, arrays) for f, d, o in zip(found, self.out, wanted, strict=True)
            ]
        finally:
            restore(token)
        return results[0] if len(results) == 1 else tuple(results)

    @property
    def meaning(self) -> Meaning:
        """What the machine code is compiled from."""
        return Meaning(self.outputs, self.inputs, self.out_dtypes, self.work)

    @cached_property
    def source(self) -> tuple[str, str]:
        return "pointwise", self.meaning.text()

    @cached_property
    def exact(self) -> bool:
        return same_bits(self.outputs, self.inputs, self.out_dtypes, self.work)

    def build(self) -> np.ufunc | None:
        """A ufunc, or None where there is no machine code."""
        return machine_code.ufunc(self.source, "pointwise", self.meaning)

    def ir(self) -> str:
        """The kernel's LLVM IR, for reading."""
        return machine_code.ir("pointwise", self.meaning)

    def parallel(self, *arrays: Any, out: Any = None) -> Any:
        """The elements shared out over threads."""
        threads, shape = parallel.get_num_threads(), ()
        for a in arrays:
            if a.size >= BIG and (not a.flags.c_contiguous or (threads > 1 and a.size >= PARALLEL)):
                break
            if a.shape and a.shape != shape:
                if shape:
                    break
                shape = a.shape
        else:
            return self.fn(*arrays) if out is None else self.fn(*arrays, out=out)
        results = out if out is None or out.__class__ is tuple else (out,)
        key = (
            threads,
            out is None,
            *[(a.shape, a.strides, a.dtype, a.__class__) for a in (*arrays, *(results or ()))],
        )
        found = self._plans.get(key, self)
        if found is self:
            if len(self._plans) > _MOST_PLANS:
                self._plans.clear()
            found = self._plans[key] = plan(self, arrays, results)
        if found is None or (results is not None and not apart(arrays, results)):
            if out is None and len(self.out) == 1:
                out = result_memory(arrays, self.out[0])
            return parallel.split(self.fn, arrays, self.core, self.out, out, PARALLEL)
        made = found(arrays, results)
        return made[0] if len(self.out) == 1 else tuple(made)


def _deliver(
    found: Any, shape: tuple[int, ...], dtype: np.dtype[Any], out: Array | None, arrays: tuple[Any, ...]
) -> Array:
    """A result in its dtype and shape, in `out` or in memory that is no operand's."""
    if out is not None:
        out[...] = found
        return out
    if found.dtype != dtype:
        found = found.astype(dtype)
    if (
        found.__class__ is not np.ndarray
        or found.shape != shape
        or not found.flags.owndata
        or any([found is a for a in arrays])
    ):
        return np.array(np.broadcast_to(found, shape), order="C")
    return found


@cache
def pointwise(outputs: tuple[Expr, ...], inputs: Inputs, out_dtypes: tuple[str, ...]) -> Pointwise:
    """The kernel for expressions over `inputs` (name, dtype name), kept.

    Call it with one array per input, in order, and `out=` (an array, or a tuple for several
    outputs); it gives an array or a tuple of arrays of `out_dtypes`.
    """
    return Pointwise(outputs, inputs, out_dtypes)


@cache
def conversion(source: str, to: str) -> Pointwise:
    """The kernel from one dtype to another."""
    return pointwise((symbol("a"),), (("a", source),), (to,))


def fused(*meaning: Any) -> Callable[[Sequence[Array], Sequence[Array]], None]:
    """A kernel that is compiled at once, as a function of (operands, results), for many calls on some rows.

    It is shared out over threads from fewer elements on, as it stands for many ops.
    """
    kernel = pointwise(*meaning)
    ready = settings.kernels != "numpy" and kernel.compile_now()

    def run(operands: Sequence[Array], results: Sequence[Array]) -> None:
        whole, shape, threads = (*operands, *results), results[0].shape, parallel.get_num_threads()
        if (
            ready
            and threads > 1
            and results[0].size >= SHARED
            and team.split(kernel.fn, whole, (False,) * len(whole), shape, threads)
        ):
            return
        kernel(*operands, out=tuple(results) if len(results) > 1 else results[0])

    setattr(run, "kernel", kernel if ready else None)
    return run
