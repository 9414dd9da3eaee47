"""One CUDA device: its memory, its streams, and how functions run on its arrays.

`call` is the one interface that work comes by. On the simulated device a function that has no kernel runs as
a *library call*: by the host's NumPy and BLAS over the device's own memory, seen through the simulator's
window.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rushlight._engine.core.device import device
from rushlight._engine.core.numpy_warnings import hush, restore
from rushlight._engine.devices.cuda import strict, words
from rushlight._engine.devices.cuda.allocator import Allocator, Handle
from rushlight._engine.devices.cuda.array import DeviceArray, row_strides
from rushlight._engine.devices.cuda.configuration import Card
from rushlight._engine.devices.cuda.memory import Memory
from rushlight._engine.devices.cuda.philox import Philox
from rushlight._engine.devices.cuda.streams import Stream, numbers
from rushlight._engine.names.absent_devices import AcceleratorError, OutOfMemoryError

Array = np.ndarray[Any, Any]
_NOTHING: dict[str, Any] = {}
# What a context takes of the memory, before any tensor.
CONTEXT = 256 << 20
# How many calls' geometries are kept.
_KEPT = 1 << 14
# A call whose geometry depends on the numbers: it is never late.
_SOON = object()


class _Current(threading.local):
    """The stream that a thread's work goes to; None: the default stream."""

    stream: Stream | None = None


class Device:
    """A simulated device of a platform; `where` is its torch.device."""

    def __init__(self, platform: Any, index: int, card: Card, check: bool) -> None:
        self.platform, self.index, self.card = platform, index, card
        self.where = device("cuda", index)
        self.check = strict.Checker() if check else None
        self.memory = Memory(card.memory, min(CONTEXT, card.memory // 8))
        self.allocator = Allocator(card.memory, self.memory.reserve, self.memory.release, self.synchronize)
        if self.check is not None:
            self.allocator.on_free = self.check.freed
        self.default = Stream(self, 0)
        self.streams: list[Stream] = [self.default]
        self._current = _Current()
        self.error: str | None = None
        self.philox = Philox(self)
        self.philox.manual_seed(platform.seed)
        # What calls gave: a description of their results by function and operands' geometry.
        self._known: dict[Any, Any] = {}

    # --- streams --------------------------------------------------------------------------------

    @property
    def stream(self) -> Stream:
        """The stream that this thread's work goes to."""
        return self._current.stream or self.default

    def use(self, stream: Stream | None) -> None:
        """Let this thread's work go to a stream; None: to the default stream."""
        self._current.stream = None if stream is self.default else stream

    def new_stream(self, priority: int = 0) -> Stream:
        """Another stream."""
        self.streams.append(Stream(self, next(numbers), priority))
        return self.streams[-1]

    def synchronize(self) -> None:
        """Do all work of all streams."""
        self.alive()
        for stream in list(self.streams):
            stream.run()
        self.alive()

    def alive(self) -> None:
        """AcceleratorError after a kernel has failed: the context is dead until the process ends."""
        if self.error is not None:
            raise AcceleratorError(self.error)
        if self.platform.forked:
            raise RuntimeError(words.FORKED)
        if self.check is not None and self.check.found is not None:
            found, self.check.found = self.check.found, None
            raise AcceleratorError(found)

    def fail(self, error: BaseException, what: str, place: str) -> None:
        """A kernel has failed: every later call says so."""
        if self.error is None:
            self.error = words.device_assert(error, what, place)

    def _submit(
        self, work: Callable[[], Any], what: str, uses: Sequence[Any] = (), writes: Sequence[Any] = ()
    ) -> None:
        """Queue work for this thread's stream, which reads and writes these arrays."""
        stream = self.stream
        place = words.place() if self.check is not None or self.platform.blocking else ""
        if self.check is not None:
            self.check.submitted(stream, what, place, uses, writes)

        def run() -> None:
            if self.error is not None:
                return
            token = hush()
            try:
                work()
            except Exception as error:
                self.fail(error, what, place)
            finally:
                restore(token)

        stream.submit(run)
        if self.platform.blocking:
            stream.run()
            self.alive()

    # --- memory ---------------------------------------------------------------------------------

    def allocate(self, size: int, stream: Stream | None = None) -> Handle | None:
        """Memory of `size` bytes, None for none; torch.OutOfMemoryError where there is no more."""
        self.alive()
        if not size:
            return None
        return self.allocator.allocate(
            size, stream or self.stream, lambda want: OutOfMemoryError(words.out_of_memory(self, size))
        )

    def empty(
        self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None, poison: bool = True
    ) -> DeviceArray:
        """New memory; poisoned, so that a read of what nobody wrote shows: NaN, or -1, or True.

        strides: in bytes, of a dense order of the dims; row by row if None.
        """
        dtype = np.dtype(dtype)
        strides = row_strides(shape, dtype.itemsize) if strides is None else strides
        size = (
            0
            if 0 in shape
            else dtype.itemsize + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        )
        handle = self.allocate(size)
        made = DeviceArray(self, handle, handle.address if handle else 0, shape, strides, dtype)
        if self.check is not None and handle is not None:
            self.check.born(handle.address)
        if poison and handle is not None:
            room = self.memory.seen(handle.address, (size,), (1,), np.dtype(np.uint8))
            value = 1 if dtype.kind == "b" else 0xFF
            self._submit(lambda: room.fill(value), "empty")
        return made

    def outline(self, a: DeviceArray) -> Array:
        """The window on an array. Its elements may be read where the stream's work is done."""
        return self.memory.seen(a.address, a.shape, a.strides, a.dtype)

    def view(self, a: DeviceArray, seen: Any) -> Any:
        """A view of `a`, from what NumPy made of its outline."""
        if not isinstance(seen, np.ndarray):
            return seen
        address = self.memory.address_of(seen) if seen.size else a.address
        if address is None:
            raise TypeError("no view of the device's memory")
        return DeviceArray(
            self, a.handle, address, seen.shape, seen.strides, seen.dtype, a if a.base is None else a.base
        )

    def geometry(self, function: Callable[..., Any], args: Any, named: Any = _NOTHING) -> Any:
        """A function of NumPy's that looks at no elements."""
        operands: list[DeviceArray] = []
        found = function(*self._seen(args, operands), **self._seen(named, operands))
        return self._views(found, operands)

    def _views(self, found: Any, operands: list[DeviceArray]) -> Any:
        if isinstance(found, np.ndarray):
            return self.view(_owner(self.memory.address_of(found), operands), found)
        if isinstance(found, (tuple, list)):
            return type(found)(self._views(f, operands) for f in found)
        return found

    def _seen(self, value: Any, operands: list[DeviceArray], copied: bool = False) -> Any:
        """Arguments with windows in the place of arrays, which `operands` collects.

        copied: whether host arrays are copied, as work that is late must see what they hold now.
        """
        cls = value.__class__
        if cls is DeviceArray:
            if value.device is not self:
                raise words.two_devices(self.where, value.device.where)
            operands.append(value)
            return self.memory.seen(value.address, value.shape, value.strides, value.dtype)
        if cls is list or cls is tuple:
            return cls([self._seen(v, operands, copied) for v in value])
        if cls is dict:
            return {name: self._seen(v, operands, copied) for name, v in value.items()}
        if copied and cls is np.ndarray:
            return value.copy("K")
        return value

    # --- work -----------------------------------------------------------------------------------

    def call(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        named: Any = _NOTHING,
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
        if known is not None and known is not _SOON:
            return self._late(function, args, named, known, what)
        stream, operands = self.stream, list[DeviceArray]()
        given, more = self._seen(list(args), operands), self._seen(named, operands)
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
            described = self._described(found)
            self._known[key] = _SOON if described is None else described
        return self.adopt(found, operands)

    def never_late(self, key: Any) -> None:
        """Calls of this kind give what depends on numbers."""
        self._known[key] = _SOON

    def _late(self, function: Any, args: Any, named: Any, known: Any, what: str) -> Any:
        operands: list[DeviceArray] = []
        given, more = self._seen(list(args), operands, True), self._seen(named, operands, True)
        outs: list[DeviceArray] = []
        result = self._room(known, outs)
        rooms = [self.outline(out) for out in outs]

        def work() -> None:
            found = function(*given, **more)
            for room, f in zip(rooms, _leaves(found), strict=True):
                if f.shape != room.shape:
                    raise RuntimeError(
                        f"{what}: the result's shape {f.shape} depends on numbers, and was "
                        f"taken "
                        f"to be {room.shape}"
                    )
                room[...] = f

        self._submit(work, what, operands, outs)
        return result

    def _described(self, found: Any) -> Any:
        """What is needed to make room for such results; None where they hold anything but new arrays."""
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

    def _room(self, known: Any, outs: list[DeviceArray]) -> Any:
        if len(known) == 3:
            outs.append(self.empty(known[0], known[2], known[1], poison=False))
            return outs[-1]
        cls, parts = known
        return _as(cls, [self._room(p, outs) for p in parts])

    def adopt(self, found: Any, operands: list[DeviceArray]) -> Any:
        """A call's results: arrays become the device's; the stream's work is done."""
        if isinstance(found, np.generic):
            found = np.asarray(found)
        if isinstance(found, np.ndarray):
            address = self.memory.address_of(found) if found.size else None
            if address is not None:
                return self.view(_owner(address, operands), found)
            made = self.empty(found.shape, found.dtype, _dense_strides(found), poison=False)
            if found.size:
                self.stream.run()
                self.outline(made)[...] = found
            return made
        if isinstance(found, (tuple, list)):
            return _as(type(found), [self.adopt(f, operands) for f in found])
        return found

    def write(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        named: Any = _NOTHING,
        targets: Sequence[Any] | None = None,
        what: str = "",
        key: Any = None,
    ) -> None:
        """function(*args, **named), which writes into arrays of this device and gives nothing.

        targets: those that are written to; the first argument if None.  key: what tells calls apart whose
        operands have other geometries, these if None.
        """
        what = what or getattr(function, "__name__", "write").strip("_")
        self.alive()
        key = geometry_of((function, *args, *named.items())) if key is None else key
        operands: list[DeviceArray] = []
        given, more = self._seen(list(args), operands, True), self._seen(named, operands, True)
        targets = args[:1] if targets is None else targets
        self._submit(lambda: function(*given, **more), what, operands, targets)
        if key is None or key not in self._known:
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
        if self.check is not None:
            self.check.submitted(self.stream, "a read by the host", words.place(), (a,), ())
        self.stream.run()
        self.alive()
        return self.outline(a)


def geometry_of(value: Any) -> Any:
    """What tells calls with such arguments apart, or None where nothing does: geometries, and other
    values.
    """
    cls = value.__class__
    if cls is DeviceArray:
        return DeviceArray, value.shape, value.strides, value.dtype
    if cls is np.ndarray:
        return value.shape, value.strides, value.dtype
    if cls is tuple or cls is list:
        parts = tuple([geometry_of(v) for v in value])
        return None if None in parts else (cls, parts)
    if cls is slice:
        return slice, value.start, value.stop, value.step
    if cls is float:
        return cls, repr(value)
    try:
        hash(value)
    except TypeError:
        return None
    return cls, value


def _owner(address: int | None, operands: list[DeviceArray]) -> DeviceArray:
    """The operand whose memory holds an address."""
    for a in operands:
        if (
            a.handle is not None
            and address is not None
            and (a.handle.address <= address <= a.handle.address + a.handle.size)
        ):
            return a
    return operands[0]


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
