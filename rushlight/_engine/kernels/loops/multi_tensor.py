"""Updates of many tensors at once, in place: one native call over a list (optimizers).

The call hands over the addresses of NumPy's array objects; machine code finds data and sizes in
them. Lists that it refuses (strided arrays, mixed dtypes) are updated by NumPy, tensor by tensor.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from struct import Struct
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.layout import pointer
from rushlight._engine.core.settings import settings
from rushlight._engine.derive.exactness import same_bits
from rushlight._engine.derive.reference import evaluate
from rushlight._engine.kernels.emit import machine_code
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.runtime import native, parallel
from rushlight._engine.kernels.runtime.tiers import Tiered
from rushlight._engine.ops.expressions import Expr, m, round_stored, substitute, toposort

# From how many elements in all an update is split over threads.
LARGE = 1 << 17


@cache
def _entry() -> Callable[..., int]:
    address, integer = ctypes.c_void_p, ctypes.c_int64
    prototype = ctypes.CFUNCTYPE(
        integer, address, ctypes.c_char_p, address, integer, integer, integer, address
    )
    return prototype(native.runtime_address("rl_multi"))


class _Kernel(Tiered):
    """The updates for one dtype."""

    def __init__(
        self, updates: Mapping[str, Expr], inputs: tuple[str, ...], scalars: tuple[str, ...], dtype: dt.dtype
    ) -> None:
        super().__init__()
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

    @cached_property
    def source(self) -> tuple[str, str]:
        return "multi", f"{self._meaning().text()} targets {self.targets} scalars {self.scalars}"

    @cached_property
    def exact(self) -> bool:
        meaning = self._meaning()
        return same_bits(meaning.outputs, meaning.inputs, meaning.out_dtypes, meaning.work)

    def _meaning(self) -> Meaning:
        inputs = (*((n, self.dtype.name) for n in self.inputs), *((s, "float64") for s in self.scalars))
        return Meaning(self.roots, inputs, (self.dtype.name,) * len(self.roots), self.work)

    def build(self) -> Callable[..., int] | None:
        """A function (scalars, arrays, tensors, part, parts) of packed bytes and numbers."""
        found = machine_code.address(self.source, "descriptor", self._meaning(), self.scalars, self.targets)
        if found is None:
            return None
        entry, dtype, self.descriptor = _entry(), id(self.dtype.np), found
        return lambda scalars, arrays, tensors, part, parts: entry(
            found, scalars, arrays, tensors, part, parts, dtype
        )


def _scalars_in_double(roots: tuple[Expr, ...], scalars: Sequence[str], work: str) -> tuple[Expr, ...]:
    """Expressions whose parts of scalars alone are computed in double and rounded once.

    1 - beta is a Python number in PyTorch's optimizers; in float32 it would lose digits.
    """
    order = toposort(roots)
    alone: set[Expr] = set()
    for node in order:
        if (
            node.op == "const"
            or (node.arg in scalars and node.op == "in")
            or (node.src and all(s in alone for s in node.src))
        ):
            alone.add(node)
    edges = {s for node in order if node not in alone for s in node.src} | set(roots)
    mapping = {node: m.cast(node, arg=work) for node in edges & alone if node.op != "const"}
    return tuple(substitute(root, mapping) for root in roots)


def _in_memory_order(arrays: Sequence[Any]) -> list[Any] | None:
    """Dense arrays that lie alike, with their dims as they follow each other in memory; None for others."""
    strides = arrays[0].strides
    order = sorted(range(len(strides)), key=lambda d: -strides[d])
    found = [a.transpose(order) for a in arrays]
    return found if all([a.flags.c_contiguous for a in found]) else None


# By what they do: optimizers of different classes may do the same.
_shared: dict[tuple[str, str], _Kernel] = {}


class MultiTensorUpdate:
    """In-place updates of lists of tensors: {name of the input to overwrite: its new value}.

    Call it with one tuple of arrays per tensor (one array per input, in order) and the scalars;
    the arrays named by the updates are overwritten, the others read.
    """

    def __init__(self, updates: Mapping[str, Expr], inputs: Sequence[str], scalars: Sequence[str]) -> None:
        self.updates, self.inputs, self.scalars = dict(updates), tuple(inputs), tuple(scalars)
        self._kernels: dict[Any, _Kernel] = {}
        self._packers: dict[int, Struct] = {}
        self._pack_scalars = Struct(f"{len(self.scalars)}d").pack

    def kernel(self, np_dtype: np.dtype[Any]) -> _Kernel:
        """The kernel for arrays of a dtype."""
        found = self._kernels.get(np_dtype)
        if found is None:
            made = _Kernel(self.updates, self.inputs, self.scalars, dt.from_numpy_dtype(np_dtype))
            found = self._kernels[np_dtype] = _shared.setdefault(made.source, made)
        return found

    def __call__(self, tensors: Sequence[Sequence[Any]], scalars: Sequence[float]) -> None:
        """Update every tensor; `scalars` are numbers, those that meet only each other are computed with in
        double precision.
        """
        if not tensors:
            return
        kernel = self._kernels.get(tensors[0][0].dtype) or self.kernel(tensors[0][0].dtype)
        if kernel.ready or kernel.decide(chain.from_iterable(tensors)):
            numbers = self._pack_scalars(*scalars)
            if self._native(kernel, tensors, numbers):
                return
            # Such as filters in channels last.
            turned = [_in_memory_order(arrays) for arrays in tensors]
            straight = [arrays for arrays in turned if arrays is not None]
            if straight and self._native(kernel, straight, numbers):
                tensors = [t for t, arrays in zip(tensors, turned, strict=True) if arrays is None]
        self._by_numpy(tensors, scalars)

    def _native(self, kernel: _Kernel, tensors: Sequence[Sequence[Any]], scalars: bytes) -> bool:
        """Update them by machine code; False, with nothing done, where they do not lie for it."""
        count = len(tensors)
        packer = self._packers.get(count)
        if packer is None:
            packer = self._packers[count] = Struct(f"{count * len(self.inputs)}Q")
        arrays = packer.pack(*map(id, chain.from_iterable(tensors)))
        if sum([t[0].size for t in tensors]) < LARGE or settings.num_threads == 1:
            return bool(kernel.fn(scalars, arrays, len(tensors), 0, 1) == 0)
        # Here, as below, since small programs have no stages.
        from rushlight._engine.kernels.runtime.stages import Run

        found = self.staged([*chain.from_iterable(tensors)], np.frombuffer(scalars + bytes(8)))
        if found:
            Run([(found, list)])()
        return found is not None

    def staged(self, arrays: Sequence[Any], scalars: Any) -> Any:
        """The update of all tensors' arrays in a row, with numbers that are found in `scalars`, as stages;
        None where there is none.
        """
        # for programs of compile() alone
        from rushlight._engine.kernels.runtime.stages import Stage

        kernel, each = self.kernel(arrays[0].dtype), len(self.inputs)
        if not kernel.ready or any(
            [
                a.dtype != arrays[0].dtype
                or a.size != arrays[k - k % each].size
                or (not a.flags.c_contiguous)
                for k, a in enumerate(arrays)
            ]
        ):
            return None
        parts = 1 if sum([a.size for a in arrays[::each]]) < LARGE else 4 * parallel.get_num_threads()
        table, jobs = np.array([*map(id, arrays)], np.int64), [[p, parts] for p in range(parts)]
        steps = [
            kernel.descriptor,
            pointer(scalars),
            pointer(table),
            len(arrays) // each,
            id(kernel.dtype.np),
        ]
        return [Stage("rl_update", jobs, 0, steps, parallel.get_num_threads(), (table, scalars, arrays))]

    def _by_numpy(self, tensors: Any, scalars: Sequence[float]) -> None:
        for arrays in tensors:
            self.kernel(arrays[0].dtype).reference(*arrays, *map(np.float64, scalars))
