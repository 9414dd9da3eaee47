"""Pointwise work of a captured call that is put off and fused: chains between other work become one kernel.

While compile() captures a call, a pointwise kernel is not launched but added to a `Group`, as expressions
of what the group reads. There is a group for each shape, and none depends on another: work that reads what
a group writes, or writes what it reads, comes after it (`Groups.before`). Of what a group computes, only
arrays that somebody still holds are written.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from functools import cache
from typing import Any

from rushlight._engine.core import dtype as dt
from rushlight._engine.devices.cuda.array import DeviceArray, row_strides
from rushlight._engine.devices.cuda.kernels import complexes, launches
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.ops.expressions import Expr, m, substitute, symbol, toposort

# The most groups at a time.
MOST_GROUPS = 8
# The most arrays that a kernel reads and writes, and the most operations it does for an element.
MOST_READ, MOST_WRITTEN, MOST_NODES = 20, 12, 96


class _Stored:
    """A result: what it is in the group, and where it goes if its memory is still held."""

    def __init__(self, expression: Expr, a: DeviceArray) -> None:
        self.expression, self.holder = expression, weakref.ref(a.handle)
        self.begin, self.end, self.of = a.address, a.address + a.nbytes, a.dtype
        self.geometry = a.device, a.address, a.shape, a.strides, a.dtype

    def array(self) -> DeviceArray | None:
        """The memory that it is written to; None where nobody reads it any more."""
        handle = self.holder()
        if handle is None:
            return None
        device, *geometry = self.geometry
        return DeviceArray(device, handle, *geometry)

    def meets(self, a: DeviceArray) -> bool:
        """Whether an array reads or writes any of its bytes."""
        low = a.address + sum([(n - 1) * s for n, s in zip(a.shape, a.strides, strict=True) if s < 0])
        high = a.address + sum([(n - 1) * s for n, s in zip(a.shape, a.strides, strict=True) if s > 0])
        return bool(low < self.end and self.begin < high + a.itemsize and self.holder() is not None)

    def is_of(self, a: DeviceArray) -> bool:
        """Whether an array is this one, element by element."""
        return bool(a.address == self.begin and a.dtype == self.of)


class Group:
    """Work that is put off: results of one shape, each a function of the elements at its place."""

    def __init__(self, shape: tuple[int, ...], work: str) -> None:
        self.shape, self.size, self.work = shape, math.prod(shape), work
        self.read: list[tuple[str, str, Any]] = []  # (name, dtype, an array or a number)
        self.names: dict[Any, Expr] = {}
        self.stored: list[_Stored] = []
        self.count = 0

    def fits(self, shape: tuple[int, ...], work: str, arrays: Sequence[Any]) -> bool:
        """Whether work of a shape goes element by element with the group's."""
        if work != self.work:
            return False
        flat = all([a.__class__ is not DeviceArray or not a.ndim or _whole(a, self.size) for a in arrays])
        return shape == self.shape or (math.prod(shape) == self.size and flat)

    def takes(self, arrays: Sequence[Any], results: Sequence[DeviceArray]) -> bool:
        """Whether work on these may join: nothing reads or writes what the group writes in another order."""
        if len(self.read) + len(arrays) > MOST_READ or len(self.stored) + len(results) > MOST_WRITTEN:
            return False
        for a in arrays:
            if a.__class__ is not DeviceArray:
                continue
            met = [s for s in self.stored if s.meets(a)]
            if met and (len(met) > 1 or not met[0].is_of(a) or not _whole(a, self.size)):
                return False
        for r in results:
            if any([s.meets(r) and not s.is_of(r) for s in self.stored]):
                return False
            given = [a for _, _, a in self.read if a.__class__ is DeviceArray]
            if any([_meet(a, r) and not (_whole(a, self.size) and a.address == r.address) for a in given]):
                return False
        return True

    def meets(self, read: Sequence[DeviceArray], written: Sequence[DeviceArray]) -> bool:
        """Whether other work that reads and writes these must come after the group."""
        given = [a for _, _, a in self.read if a.__class__ is DeviceArray]
        return any([s.meets(a) for s in self.stored for a in (*read, *written)]) or any(
            [_meet(a, w) for a in given for w in written]
        )

    def add(self, meaning: Meaning, arrays: Sequence[Any], results: Sequence[DeviceArray]) -> bool:
        """Put work off; False where the kernel would become too large."""
        mapping = {
            symbol(name): self._operand(a, of) for (name, of), a in zip(meaning.inputs, arrays, strict=True)
        }
        roots = [substitute(e, mapping) for e in meaning.outputs]
        if len(toposort([*roots, *[s.expression for s in self.stored]])) > MOST_NODES and self.stored:
            return False
        made = [
            _Stored(_as_read(e, of), r) for e, of, r in zip(roots, meaning.out_dtypes, results, strict=True)
        ]
        self.stored = [s for s in self.stored if not any([s.is_of(r) for r in results])] + made
        self.count += 1
        return True

    def _operand(self, a: Any, of: str) -> Expr:
        if a.__class__ is not DeviceArray:
            return self._input(None, a, of)
        for s in self.stored:
            if s.is_of(a) and s.holder() is not None:
                return s.expression
        return self._input((a.address, a.form), a, of)

    def _input(self, key: Any, a: Any, of: str) -> Expr:
        if a.__class__ is DeviceArray and a.shape != self.shape and a.ndim and _whole(a, self.size):
            a = a.relaid(self.shape, row_strides(self.shape, a.itemsize))
            key = a.address, a.form
        found = self.names.get(key) if key is not None else None
        if found is None:
            name = f"x{len(self.read)}"
            self.read.append((name, of, a))
            found = symbol(name)
            if key is not None:
                self.names[key] = found
        return found

    def launch(self, backend: Any) -> None:
        """Queue it, as one kernel."""
        held = [(s, a) for s in self.stored for a in [s.array()] if a is not None]
        if not held:
            return
        roots = tuple([s.expression for s, _ in held])
        used = {n.arg for n in toposort(roots) if n.op == "in"}
        read = [(name, of, a) for name, of, a in self.read if name in used]
        renamed = {symbol(name): symbol(f"x{k}") for k, (name, _, _) in enumerate(read)}
        meaning = _kept(
            Meaning(
                tuple([substitute(e, renamed) for e in roots]),
                tuple([(f"x{k}", of) for k, (_, of, _) in enumerate(read)]),
                tuple([dt.from_numpy_dtype(a.dtype).name for _, a in held]),
                self.work,
            )
        )
        made = [a.relaid(self.shape, row_strides(self.shape, a.itemsize)) for _, a in held]
        launches.into(backend, meaning, [a for _, _, a in read], made, "fused")


@cache
def _kept(meaning: Meaning) -> Meaning:
    """One object for each meaning: launches know kernels by it."""
    return meaning


class Groups:
    """What is put off in a capture."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.each: list[Group] = []

    def before(
        self, read: Sequence[DeviceArray], written: Sequence[DeviceArray], but: Group | None = None
    ) -> None:
        """Launch the groups that must come before other work that reads and writes these arrays."""
        for group in [g for g in self.each if g is not but and g.meets(read, written)]:
            self._launch(group)

    def all(self) -> None:
        """Launch all groups."""
        for group in list(self.each):
            self._launch(group)

    def _launch(self, group: Group) -> None:
        self.each.remove(group)
        capture = self.backend.capture
        capture.fuses = False
        try:
            group.launch(self.backend)
        finally:
            capture.fuses = True

    def put_off(self, meaning: Meaning, arrays: Sequence[Any], results: Sequence[DeviceArray]) -> bool:
        """Whether work joins a group, or begins one."""
        shape = results[0].shape
        read = [a for a in arrays if a.__class__ is DeviceArray]
        for group in self.each:
            if group.fits(shape, meaning.work, arrays) and group.takes(arrays, results):
                self.before(read, results, group)
                if group.add(meaning, arrays, results):
                    return True
                break
        self.before(read, results)
        if len(self.each) == MOST_GROUPS:
            self._launch(self.each[0])
        made = Group(shape, meaning.work)
        if not made.takes(arrays, results) or not made.add(meaning, arrays, results):
            return False
        self.each.append(made)
        return True


def _whole(a: DeviceArray, size: int) -> bool:
    """Whether an array has so many elements, which lie row by row."""
    return a.size == size and a.form.own.c_contiguous


def _meet(a: DeviceArray, b: DeviceArray) -> bool:
    """Whether two arrays may share bytes."""
    return a.handle is b.handle


def _as_read(expression: Expr, of: str) -> Expr:
    """What is read back of an expression that is stored as a dtype."""
    if of in ("bfloat16", "float16"):
        return m.cast(m.cast(expression, arg=of), arg="float32")
    return m.cast(expression, arg=of)


def put_off(backend: Any, meaning: Meaning, arrays: Sequence[Any], results: Sequence[DeviceArray]) -> bool:
    """Whether pointwise work joins the group of the capture that is under way, or begins one."""
    capture, size = backend.capture, results[0].size
    if complexes.is_complex(meaning) or not all([r.handle is not None and _whole(r, size) for r in results]):
        return False
    if capture.groups is None:
        capture.groups = Groups(backend)
    found: bool = capture.groups.put_off(meaning, arrays, results)
    return found
