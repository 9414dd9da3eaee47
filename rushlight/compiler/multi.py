"""Updates of many tensors at once, in place: one native call over a list (optimizers).

The call hands over the addresses of NumPy's array objects; machine code finds data and sizes in
them. Lists that it refuses (strided arrays, mixed dtypes) are updated by NumPy, tensor by tensor.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from operator import attrgetter
from struct import Struct, pack
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.config import knobs
from rushlight.compiler import pool
from rushlight.compiler.meaning import Meaning
from rushlight.compiler.tier import READY, Tiered
from rushlight.derive.reference import evaluate
from rushlight.ops.scalar import Expr, m, make, substitute, toposort

# The target of casts to "the dtype of the arrays": where a step of several ops would round.
STORED = "stored"
_size = attrgetter("size")
# From how many elements in all an update is split over threads.
LARGE = 1 << 17


@lru_cache(maxsize=None)
def _entry() -> Callable[..., int]:
    from rushlight.compiler import native

    address, integer = ctypes.c_void_p, ctypes.c_int64
    prototype = ctypes.CFUNCTYPE(integer, address, ctypes.c_char_p, address, integer, integer,
                                 integer, address)
    return prototype(native.runtime_address("rl_multi"))


class _Kernel(Tiered):
    """The updates for one dtype."""

    def __init__(self, updates: Mapping[str, Expr], inputs: tuple[str, ...],
                 scalars: tuple[str, ...], dtype: dt.dtype) -> None:
        super().__init__()
        self.descriptor = 0
        self.work = dt.opmath(dtype).name
        self.inputs, self.scalars, self.dtype = inputs, scalars, dtype
        rounded = round_stored(tuple(updates.values()), dtype.name if dtype.name != self.work else None)
        self.roots = _scalars_in_double(rounded, scalars, self.work)
        self.targets = [inputs.index(name) for name in updates]

    def reference(self, *arrays: Any, out: Any = None) -> None:
        """Update one tensor with NumPy; arrays, then scalars."""
        env = dict(zip((*self.inputs, *self.scalars), arrays, strict=True))
        for target, value in zip(self.targets, evaluate(self.roots, env, self.work), strict=True):
            with np.errstate(all="ignore"):
                arrays[target][...] = value

    def build(self) -> Callable[..., int] | None:
        """A function (scalars, arrays, tensors, part, parts) of packed bytes and numbers."""
        # Here, since the emitters are loaded for a hot kernel only.
        from rushlight.compiler.codegen import list_descriptor

        inputs = (*((n, self.dtype.name) for n in self.inputs), *((s, "float64") for s in self.scalars))
        meaning = Meaning(self.roots, inputs, (self.dtype.name,) * len(self.roots), self.work)
        found = list_descriptor(meaning, self.scalars, self.targets)
        if found is None:
            return None
        entry, dtype = _entry(), id(self.dtype.np)
        self.descriptor = found
        return lambda scalars, arrays, tensors, part, parts: entry(
            found, scalars, arrays, tensors, part, parts, dtype)


def round_stored(roots: Sequence[Expr], dtype: str | None) -> tuple[Expr, ...]:
    """Casts to STORED as casts to `dtype`; None: values go on unrounded."""
    built: dict[Expr, Expr] = {}
    for node in toposort(roots):
        src = [built[s] for s in node.src]
        if node.op == "cast" and node.arg == STORED:
            built[node] = src[0] if dtype is None else m.cast(src[0], arg=dtype)
        else:
            built[node] = make(node.op, *src, arg=node.arg) if src else node
    return tuple(built[root] for root in roots)


def _scalars_in_double(roots: tuple[Expr, ...], scalars: Sequence[str], work: str) -> tuple[Expr, ...]:
    """Expressions whose parts of scalars alone are computed in double and rounded once.

    1 - beta is a Python number in PyTorch's optimizers; in float32 it would lose digits.
    """
    order = toposort(roots)
    alone: set[Expr] = set()
    for node in order:
        if node.op == "const" or node.arg in scalars and node.op == "in" or (
                node.src and all(s in alone for s in node.src)):
            alone.add(node)
    edges = {s for node in order if node not in alone for s in node.src} | set(roots)
    mapping = {node: m.cast(node, arg=work) for node in edges & alone if node.op != "const"}
    return tuple(substitute(root, mapping) for root in roots)


class Multi:
    """In-place updates of lists of tensors.

    Call it with one tuple of arrays per tensor (one array per input, in order) and the scalars;
    the arrays named by the updates are overwritten, the others read.
    """

    def __init__(self, updates: Mapping[str, Expr], inputs: Sequence[str], scalars: Sequence[str]) -> None:
        self.updates, self.inputs, self.scalars = dict(updates), tuple(inputs), tuple(scalars)
        self._kernels: dict[Any, _Kernel] = {}
        # The arrays' addresses in the last call, packed, and how many elements were updated.
        self._last: tuple[list[int], bytes, int] = [], b"", 0
        self._pack_scalars = Struct(f"{len(self.scalars)}d").pack

    def kernel(self, np_dtype: np.dtype[Any]) -> _Kernel:
        """The kernel for arrays of a dtype."""
        found = self._kernels.get(np_dtype)
        if found is None:
            found = self._kernels[np_dtype] = _Kernel(self.updates, self.inputs, self.scalars,
                                                      dt.from_numpy_dtype(np_dtype))
        return found

    def __call__(self, tensors: Sequence[Sequence[Any]], scalars: Sequence[float]) -> None:
        """Update every tensor; `scalars` are numbers, those that meet
        only each other are computed with in double precision."""
        self.update([*chain.from_iterable(tensors)], scalars)

    def update(self, arrays: Sequence[Any], scalars: Sequence[float]) -> None:
        """The same for the arrays of one tensor after the other."""
        if not arrays:
            return
        kernel = self._kernels.get(arrays[0].dtype) or self.kernel(arrays[0].dtype)
        if kernel._state == READY or self._heat(kernel, arrays):
            addresses = [*map(id, arrays)]
            last = self._last
            if last[0] != addresses:
                size = sum(map(_size, arrays[::len(self.inputs)]))
                last = self._last = addresses, pack(f"{len(arrays)}Q", *addresses), size
            if self._native(kernel, last[1], len(arrays) // len(self.inputs), last[2],
                            self._pack_scalars(*scalars)):
                return
        self._by_numpy(arrays, scalars)

    def staged(self, arrays: Sequence[Any], scalars: Any) -> Any:
        """`update` of arrays that stay as stages, with numbers found in `scalars`; None if it cannot be."""
        # Here, since only compiled programs have stages.
        from rushlight.compiler import stages

        kernel, each = self.kernel(arrays[0].dtype), len(self.inputs)
        size = sum(map(_size, arrays[::each]))
        if kernel._state != READY or any(not a.flags.c_contiguous or a.dtype != arrays[0].dtype or (
                a.size != arrays[k - k % each].size) for k, a in enumerate(arrays)):
            return None
        parts = 1 if size < LARGE else 4 * pool.get_num_threads()
        table = np.array([*map(id, arrays)], np.int64)
        steps = [kernel.descriptor, stages.pointer(scalars), stages.pointer(table), len(arrays) // each,
                 id(kernel.dtype.np)]
        jobs = [[p, parts] for p in range(parts)]
        return [stages.Stage("rl_update", jobs, 0, steps, (table, scalars, arrays), pool.get_num_threads())]

    def _heat(self, kernel: _Kernel, arrays: Any) -> bool:
        kernel._count(arrays)
        return kernel._state == READY

    def _native(self, kernel: _Kernel, packed: bytes, count: int, size: int, scalars: bytes) -> bool:
        if size < LARGE or knobs.num_threads == 1:
            return kernel.fn(scalars, packed, count, 0, 1) == 0
        parts = pool.get_num_threads()
        refused: list[int] = []
        jobs = [partial(self._part, kernel, scalars, packed, count, p, parts, refused) for p in range(parts)]
        pool.run(jobs)
        return not refused

    @staticmethod
    def _part(kernel: _Kernel, scalars: bytes, arrays: bytes, count: int, part: int, parts: int,
              refused: list[int]) -> None:
        if kernel.fn(scalars, arrays, count, part, parts):
            refused.append(part)

    def _by_numpy(self, arrays: Sequence[Any], scalars: Sequence[float]) -> None:
        each = len(self.inputs)
        for first in range(0, len(arrays), each):
            kernel = self.kernel(arrays[first].dtype)
            kernel.reference(*arrays[first:first + each], *map(np.float64, scalars))


def multi(updates: Mapping[str, Expr], inputs: Sequence[str], scalars: Sequence[str]) -> Multi:
    """The callable for these updates: {name of the input to overwrite: its new value}."""
    return Multi(updates, inputs, scalars)
