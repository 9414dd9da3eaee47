"""A simulated device: memory apart, streams that run late, functions computed by the host.

A function that has no kernel runs as a *library call*: by the host's NumPy and BLAS over the device's own
memory, seen through the simulator's window.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from rushlight._engine.core.callers import unheard
from rushlight._engine.core.numpy_warnings import hush, restore
from rushlight._engine.devices.cuda import copies, strict, words
from rushlight._engine.devices.cuda.array import DeviceArray, row_strides
from rushlight._engine.devices.cuda.configuration import Card
from rushlight._engine.devices.cuda.device import NOTHING, Array, geometry_of, owner_of
from rushlight._engine.devices.cuda.kernels import simulator
from rushlight._engine.devices.cuda.memory import Memory
from rushlight._engine.devices.cuda.rows import Rows
from rushlight._engine.devices.cuda.streams import Stream, numbers
from rushlight._engine.names.absent_devices import AcceleratorError, OutOfMemoryError
from rushlight._engine.numerics import advanced_indexing
from rushlight._engine.ops.table import Row

# What a context takes of the memory, before any tensor.
CONTEXT = 256 << 20
# A grid of the simulator: few threads, since they take turns.
THREADS, BLOCKS = 64, 8
# Cycles of its clock in a second, as get_device_properties() tells.
CLOCK = 1_410_000_000
# How many calls' geometries are kept.
_KEPT = 1 << 14
# A call whose geometry depends on the numbers: it is never late.
_SOON = object()


class Simulated(Rows):
    """A simulated device of a platform. check: whether programs are checked strictly."""

    simulated = True

    memory: Memory

    def __init__(self, platform: Any, index: int, card: Card) -> None:
        self.check = strict.Checker() if platform.setting.check else None
        self.kernels = platform.setting.kernels
        super().__init__(platform, index, card, Memory(card.memory, min(CONTEXT, card.memory // 8)))
        if self.check is not None:
            self.allocator.on_free = self.check.freed
        self._failed = np.zeros(1, np.int64)
        # What calls gave: a description of their results by function and operands' geometry.
        self._known: dict[Any, Any] = {}

    def make_stream(self, number: int | None, priority: int) -> Stream:
        return Stream(self, next(numbers) if number is None else number, priority)

    def alive(self) -> None:
        super().alive()
        if self.check is not None and self.check.found is not None:
            found, self.check.found = self.check.found, None
            raise AcceleratorError(found)

    def _submit(
        self,
        work: Callable[[], Any],
        what: str,
        uses: Sequence[Any] = (),
        writes: Sequence[Any] = (),
        graph: Any = None,
    ) -> None:
        """Queue work for this thread's stream, which reads and writes these arrays; graph: whose replay it
        is.
        """
        stream = self.stream
        place = words.place() if self.check is not None or self.platform.blocking else ""
        if self.check is not None and self.capture is None:
            self.check.submitted(stream, what, place, uses, writes, graph)

        def run() -> None:
            if self.error is not None:
                return
            token = hush()
            try:
                work()
            except (MemoryError, RecursionError, OutOfMemoryError):
                raise  # the host's own, and what is no kernel's failure
            except Exception as error:
                self.fail(error, what, place)
            finally:
                restore(token)

        if self.capture is not None:
            self.capture.add(run, what, uses, writes)
            return
        stream.submit(run)
        if self.platform.blocking:
            stream.run()
            self.alive()

    def empty(
        self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None, poison: bool = True
    ) -> DeviceArray:
        """New memory; poisoned, so that a read of what nobody wrote shows: NaN, or -1, or True."""
        made = super().empty(shape, dtype, strides)
        handle = made.handle
        if self.check is not None and handle is not None:
            self.check.born(handle.address)
        if poison and handle is not None:
            window = self.memory.seen(handle.address, (handle.size,), (1,), np.dtype(np.uint8))
            value = 1 if made.dtype.kind == "b" else 0xFF
            self._submit(lambda: window.fill(value), "empty")
        return made

    # --- work -----------------------------------------------------------------------------------

    def call(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        named: Any = NOTHING,
        key: Any = None,
        what: str = "",
    ) -> Any:
        """function(*args, **named) on arrays of this device; its arrays are new memory of the device.

        key: what tells calls apart whose results have the same geometry, None if nothing does. The first call
        of a kind shows what it gives; from the second on it is late: it runs when somebody waits for it.
        """
        what = what or getattr(function, "__name__", "call")
        self.alive()
        known = None if key is None else self._known.get(key)
        if known is NotImplemented:
            return known
        if known is not None and known is not _SOON:
            return self._late(function, args, named, known, what)
        stream, operands = self.stream, list[DeviceArray]()
        given, more = self._seen(list(args), operands), self._seen(named, operands)
        if self.capture is not None:
            return self._captured(function, args, named, key, what)
        if self.check is not None:
            self.check.submitted(stream, what, words.place(), operands, ())
        stream.run()
        self.alive()
        token = hush()
        try:
            found = function(*given, **more)
        finally:
            restore(token)
        if key is not None:
            if len(self._known) > _KEPT:
                self._known.clear()
            described = found if found is NotImplemented else self._described(found)
            self._known[key] = _SOON if described is None else described
        return self.adopt(found, operands)

    def _captured(self, function: Any, args: Any, named: Any, key: Any, what: str) -> Any:
        """A call of a new kind while a graph is captured: what it gives is learnt from the memory as it
        is.
        """
        if key is None or self._known.get(key) is _SOON:
            raise self.capture.refused(what)
        given, more = self._seen(list(args), []), self._seen(named, [])
        token = hush()
        try:  # of zeros: what the memory holds now is nothing yet
            described = self._described(function(*_stand_ins(given, np.zeros), **_stand_ins(more, np.zeros)))
        finally:
            restore(token)
        if described is None:
            raise self.capture.refused(what)
        self._known[key] = described
        return self._late(function, args, named, described, what)

    def never_late(self, key: Any) -> None:
        """Calls of this kind give what depends on numbers."""
        self._known[key] = _SOON

    def _late(self, function: Any, args: Any, named: Any, known: Any, what: str) -> Any:
        operands: list[DeviceArray] = []
        given, more = self._seen(list(args), operands, True), self._seen(named, operands, True)
        outs: list[DeviceArray] = []
        result = self._allocated(known, outs)
        targets = [self.outline(out) for out in outs]

        def work() -> None:
            found = function(*given, **more)
            for target, f in zip(targets, _leaves(found), strict=True):
                if f.shape != target.shape:
                    raise RuntimeError(
                        f"{what}: the result's shape {f.shape} depends on numbers, and was taken to be "
                        f"{target.shape}"
                    )
                target[...] = f

        self._submit(work, what, operands, outs)
        return result

    def _described(self, found: Any) -> Any:
        """What is needed to allocate such results; None where they hold anything but new arrays."""
        if isinstance(found, np.generic):
            found = np.asarray(found)
        if isinstance(found, np.ndarray):
            if found.size and self.memory.address_of(found) is not None:
                return None
            return found.shape, _dense_strides(found), found.dtype
        if isinstance(found, (tuple, list)) and found:
            parts = [self._described(f) for f in found]
            return None if any(p is None for p in parts) else (type(found), parts)
        return None

    def _allocated(self, known: Any, outs: list[DeviceArray]) -> Any:
        if len(known) == 3:
            outs.append(self.empty(known[0], known[2], known[1], poison=False))
            return outs[-1]
        cls, parts = known
        return _as(cls, [self._allocated(p, outs) for p in parts])

    def adopt(self, found: Any, operands: list[DeviceArray]) -> Any:
        """A call's results: arrays become the device's; the stream's work is done."""
        if isinstance(found, np.generic):
            found = np.asarray(found)
        if isinstance(found, np.ndarray):
            address = self.memory.address_of(found) if found.size else None
            if address is not None:
                return self.view(owner_of(address, operands), found)
            made = self.empty(found.shape, found.dtype, _dense_strides(found), poison=False)
            if found.size:
                self._adopted(made, found)
            return made
        if isinstance(found, (tuple, list)):
            return _as(type(found), [self.adopt(f, operands) for f in found])
        return found

    def _adopted(self, made: DeviceArray, found: Array) -> None:
        target = self.outline(made)
        if self.capture is not None:
            kept = found.copy("K")
            self._submit(lambda: np.copyto(target, kept), "a constant", (), (made,))
            return
        self.stream.run()
        target[...] = found

    def write(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        named: Any = NOTHING,
        targets: Sequence[Any] | None = None,
        what: str = "",
        key: Any = None,
    ) -> None:
        what = what or getattr(function, "__name__", "write").strip("_")
        self.alive()
        key = geometry_of((function, *args, *named.items())) if key is None else key
        operands: list[DeviceArray] = []
        given, more = self._seen(list(args), operands, True), self._seen(named, operands, True)
        targets = args[:1] if targets is None else targets
        self._submit(lambda: function(*given, **more), what, operands, targets)
        if self.capture is None and (key is None or key not in self._known):
            # The first of its kind: mistakes are the caller's to hear of.
            self._soon(function, given, more)
            if key is not None:
                self._known[key] = _SOON

    def _soon(self, function: Any, given: Any, more: Any) -> None:
        """Do the work that was just queued; what NumPy says against its arguments is raised here."""
        before = self.error
        self.stream.run()
        if self.error is not None and before is None:
            self.error = None
            token = hush()
            try:
                function(*given, **more)
            finally:
                restore(token)

    def read(self, a: DeviceArray) -> Array:
        """The elements of an array, for the host, which waits for this stream's work."""
        self.alive()
        if self.capture is not None:
            raise self.capture.refused("a read by the host")
        self.waited()
        if self.check is not None:
            self.check.submitted(self.stream, "a read by the host", words.place(), (a,), ())
        self.stream.run()
        self.alive()
        return self.outline(a)

    def copy(self, target: Any, source: Any, non_blocking: bool, pinned: bool) -> None:
        """target[...] = source, of one dtype and shape; one of them may be of another device or the
        host's.
        """
        copies.copy(self, target, source, non_blocking, pinned)

    def fill_late(self, made: DeviceArray, draw: Callable[[Array], Array], what: str, uses: Any = ()) -> None:
        """made[...] = draw(a host's array laid out so), when the stream gets there."""
        target = self.outline(made)

        def work() -> None:
            target[...] = draw(target)

        self._submit(work, what, uses, (made,))

    def on_its_way(self, t: Any) -> None:
        """A CPU tensor that a copy is under way to; in strict mode, reads of it raise until it is there."""
        if self.check is not None:
            strict.arriving(t, self.stream.mark(), words.place())

    def launch(
        self,
        source: Any,
        grid: tuple[int, int],
        operands: Sequence[DeviceArray],
        results: Sequence[DeviceArray],
        numbers: Sequence[int],
        what: str,
        written: Collection[int] = (),
    ) -> None:
        """Queue the grid; in strict mode it runs twice, in two orders of threads, which must agree."""
        kernel = simulator.compiled(source)
        addresses = [a.address + self.memory.shift for a in (*operands, *results)]
        also = [a for a in operands if a.address in written] if written else []
        # All memory that is written to, as it may be read, too.
        rooms = {id(a.handle): self.outline(a.whole()) for a in (*results, *also) if a.handle is not None}

        def work() -> None:
            before = [room.copy() for room in rooms.values()] if self.check is not None else []
            kernel.run(*grid, addresses, numbers)
            if self._failed[0]:
                self._failed[0] = 0
                raise IndexError("index out of bounds")
            if self.check is not None:
                first = [room.tobytes() for room in rooms.values()]
                for room, was in zip(rooms.values(), before, strict=True):
                    room[...] = was
                kernel.run(*grid, addresses, numbers, turned=True)
                if any(f != room.tobytes() for f, room in zip(first, rooms.values(), strict=True)):
                    raise RuntimeError("the kernel's result depends on the order of its threads")

        self._submit(work, what, operands, [*results, *also])

    def sleep(self, cycles: int) -> None:
        """The stream waits, by the host's clock."""
        seconds = cycles / CLOCK
        self._submit(lambda: time.sleep(seconds), "sleep")

    @property
    def failed(self) -> int:
        """The address that kernels write to that meet a wrong index."""
        return int(self._failed.ctypes.data)

    def brought(self, found: Array) -> DeviceArray:
        result: DeviceArray = self.adopt(found, [])
        return result

    def grid(self, count: int) -> tuple[int, int]:
        """(blocks, threads) for so many pieces of work: few, since they take turns."""
        threads = min(THREADS, -(-count // 32) * 32)
        return min(BLOCKS, -(-count // threads)), threads

    def blocks(self, count: int, n: int) -> tuple[int, int]:
        """(blocks, threads) for so many blocks' work, each of which has `n` elements."""
        return max(min(BLOCKS, count), 1), 32 if n <= 128 else THREADS

    # --- rows -----------------------------------------------------------------------------------

    def library_row(self, row: Row, body: Callable[..., Any], values: Sequence[Any], why: str) -> Any:
        """A row's results by its own body, on the device's memory."""
        # A result whose geometry depends on numbers is one that PyTorch refuses on meta.
        key = None if "meta" in row.refuse else geometry_of((body, *values))
        if "meta" in row.refuse:
            self.waited()
        try:
            new = key is not None and key not in self._known
            found = self.call(body, values, key=key, what=row.name)
            if new and _has_masks(values):
                self._doubt(body, values, key)
            return found
        except np.linalg.LinAlgError:
            raise
        except (IndexError, RuntimeError, ValueError) as error:
            if self.error is not None or self.capture is not None:
                raise
            return self._asserted(row.name, body, values, error)

    def library_read(self, a: DeviceArray, indices: Sequence[Any], why: str) -> Any:
        masked = any(
            (i is not None and i.dtype.kind == "b") or (i is not None and i.dtype == np.uint8)
            for i in indices
        )
        if masked:
            self.waited()
        key = None if masked else geometry_of((advanced_indexing.read, a, *indices))
        try:
            return self.call(advanced_indexing.read, (a, list(indices)), key=key, what="index")
        except IndexError as error:
            return self._asserted("index", advanced_indexing.read, (a, list(indices)), error)

    def _doubt(self, body: Callable[..., Any], values: Sequence[Any], key: Any) -> None:
        """Let a call never be late whose result's geometry depends on a mask: on how many are set."""
        expected = self._known[key]
        for fill in (np.zeros, np.ones):
            given = _stand_ins(self._seen(list(values), []), fill)
            token = hush()
            try:
                with unheard():
                    described = self._described(body(*given))
            except Exception:
                continue
            finally:
                restore(token)
            if described != expected:
                self.never_late(key)

    def _asserted(self, name: str, body: Callable[..., Any], values: Sequence[Any], error: Exception) -> Any:
        """What a body raised about numbers a kernel finds out: the device is dead from now on.

        About arguments it is the caller's mistake, and raised: then zeros in the place of numbers do not
        help.
        """
        operands: list[DeviceArray] = []
        stand_ins = _stand_ins(self._seen(list(values), operands), np.zeros)
        token = hush()
        try:
            found = body(*stand_ins)
        except Exception:
            raise error from None
        finally:
            restore(token)
        self.fail(error, name, words.place())
        if self.platform.blocking:
            self.alive()
        described = self._described(found)
        if described is None:
            self.alive()
        failed, self.error = self.error, None
        try:
            return self._allocated(described, [])
        finally:
            self.error = failed


def _dense_strides(found: Array) -> tuple[int, ...]:
    """Strides of a dense copy that keeps the order of the dims."""
    if found.flags.c_contiguous or not found.size:
        return row_strides(found.shape, found.itemsize)
    return np.empty_like(found).strides


def _leaves(found: Any) -> list[Any]:
    if isinstance(found, (tuple, list)):
        return [leaf for f in found for leaf in _leaves(f)]
    return [np.asarray(found)]


def _as(cls: type, items: list[Any]) -> Any:
    if cls is list or cls is tuple:
        return cls(items)
    return tuple.__new__(cls, items)


def _stand_ins(value: Any, fill: Callable[..., Any]) -> Any:
    """Arguments with arrays of zeros (or ones) in the place of arrays."""
    if isinstance(value, np.ndarray):
        return fill(value.shape, value.dtype)
    if value.__class__ in (list, tuple):
        return value.__class__([_stand_ins(v, fill) for v in value])
    if value.__class__ is dict:
        return {name: _stand_ins(v, fill) for name, v in value.items()}
    return value


def _has_masks(values: Sequence[Any]) -> bool:
    """Whether there are bools among a row's operands, or bytes, which may stand for them."""
    for v in values:
        if v.__class__ in (list, tuple):
            if _has_masks(v):
                return True
        elif hasattr(v, "strides") and (v.dtype.kind == "b" or v.dtype == np.uint8):
            return True
    return False
