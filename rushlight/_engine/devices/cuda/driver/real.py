"""A real device, by NVIDIA's driver: memory, streams, kernels' launches, copies.

Rows are served by the device's kernels and by cuBLAS; what neither serves is refused by name.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from rushlight._engine.core.callers import warn
from rushlight._engine.core.layout import pointer
from rushlight._engine.devices.cuda import prepared
from rushlight._engine.devices.cuda.array import DeviceArray, row_strides
from rushlight._engine.devices.cuda.configuration import Card
from rushlight._engine.devices.cuda.device import NOTHING, NotServed
from rushlight._engine.devices.cuda.driver import pinned, quick
from rushlight._engine.devices.cuda.driver.library import ATTRIBUTES, NoDriver, driver as the_driver
from rushlight._engine.devices.cuda.driver.modules import Modules
from rushlight._engine.devices.cuda.driver.nvidia_libraries import NotInstalled
from rushlight._engine.devices.cuda.driver.queues import Queue
from rushlight._engine.devices.cuda.kernels import launches, waiting
from rushlight._engine.devices.cuda.rows import Rows
from rushlight._engine.names.absent_devices import AcceleratorError
from rushlight._engine.ops.table import Row

Array = np.ndarray[Any, Any]
# A block's threads, and how many blocks of a grid there are for each multiprocessor at most.
THREADS, WAVES = 256, 8
# The outline of device memory: an array over all addresses, which nobody reads.
_FIRST = 4096
_window: Any = None


def cards() -> tuple[Card, ...]:
    """The driver's devices. NoDriver where there are none."""
    driver = the_driver()
    return tuple(
        Card(
            driver.name(i),
            driver.memory(i),
            (driver.attribute(i, "major"), driver.attribute(i, "minor")),
            driver.attribute(i, "processors"),
            driver.attribute(i, "l2"),
        )
        for i in range(driver.count())
    )


def attributes(index: int) -> dict[str, Any]:
    """What the driver tells of a device, by the names that get_device_properties has."""
    driver = the_driver()
    renamed = ("processors", "l2")  # which a Card has under other names
    found: dict[str, Any] = {n: driver.attribute(index, n) for n in ATTRIBUTES if n not in renamed}
    return {**found, "uuid": driver.uuid(index)}


class _Entered(threading.local):
    """The device whose context is this thread's."""

    device: Any = None


_entered = _Entered()


class Memory:
    """A device's memory, by the driver."""

    def __init__(self, device: Real, total: int) -> None:
        global _window
        self.device, self.total, self.used = device, total, 0
        if _window is None:
            everything = (ctypes.c_uint8 * (1 << 56)).from_address(_FIRST)
            _window = np.ctypeslib.as_array(everything)

    @property
    def own(self) -> int:
        """Bytes that neither are free nor the allocator's: the context's, and other processes'."""
        return self.total - self.used - self._free()

    def _free(self) -> int:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.device.enter()
        self.device.driver("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def reserve(self, size: int) -> int:
        """The address of `size` bytes; DriverOutOfMemory where the device has no more."""
        with self.device.uncaptured(True):  # another thread may begin to capture meanwhile
            found = ctypes.c_uint64()
            self.device.driver("cuMemAlloc_v2", ctypes.byref(found), size)
        self.used += size
        return found.value

    def release(self, address: int, size: int) -> None:
        """Give memory back."""
        with self.device.uncaptured(True):
            self.device.driver("cuMemFree_v2", address)
        self.used -= size

    def seen(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> Array:
        """An array of such a geometry at the device's address; whoever reads it ends the process."""
        return np.ndarray(shape, dtype, _window, address - _FIRST if address else 0, strides)

    def address_of(self, array: Array) -> int | None:
        """The device's address of an array that `seen` or a view of it gave, None for other arrays."""
        if array is _window or array.base is _window:
            return pointer(array)
        return None


class Real(Rows):
    """A device of the driver's."""

    kernels = True

    def __init__(self, platform: Any, index: int, card: Card) -> None:
        self.driver = the_driver()
        self.context = self.driver.handle("cuDevicePrimaryCtxRetain", self.driver.device(index))
        self.entered = _entered
        self.enter()
        super().__init__(platform, index, card, Memory(self, card.memory))
        self.driver.reliefs.append(self.relieve)
        self.modules = Modules(self.driver, card.capability)
        # What kernels write to that met a wrong index, in page-locked memory that both sides see.
        with self.uncaptured():
            self.failures = ctypes.c_int64.from_address(pinned.of(self.driver).take(8))
        self.failures.value = 0
        self._blas: Any = None
        self._solver: Any = None
        self._dnn: Any = None  # False where it is not installed
        # Host's memory that copies still read.
        self._flying: deque[tuple[Any, Any]] = deque()

    # --- contexts, streams ------------------------------------------------------------------------

    def relieve(self, pool: Any = None) -> None:
        """The context is then again that of who asks, another device perhaps."""
        with self.visited():
            super().relieve(pool)
            if pool is None:
                self.empty_host_cache()

    def empty_host_cache(self) -> None:
        """Give the driver all page-locked memory back that nobody uses."""
        with self.uncaptured(True):
            pinned.of(self.driver).empty()

    def enter(self) -> None:
        """Make the device's context this thread's."""
        if _entered.device is not self:
            self.driver("cuCtxSetCurrent", self.context)
            _entered.device = self

    def visited(self) -> _Visit:
        """A `with` block in which the device's context is this thread's, and then the one that was before:
        for what happens when memory is freed, in the middle of another device's work.
        """
        return _Visit(self)

    def uncaptured(self, always: bool = False) -> _Uncaptured:
        """A `with` block whose calls are no part of a graph that is being captured; always: nor of one that
        another thread begins meanwhile.
        """
        self.enter()
        return _Uncaptured(self, always)

    def make_stream(self, number: int | None, priority: int) -> Queue:
        return Queue(self, number, priority)

    def foreign_stream(self, handle: int) -> Queue:
        found: Queue | None = self.stream_of(handle)
        if found is None:
            found = Queue(self, handle, 0)
            self.streams.append(found)
        return found

    def synchronize(self) -> None:
        """Wait for all work of all streams; what failed in it is raised."""
        self.alive()
        self.questioned("synchronize()")
        self.enter()
        self.driver("cuCtxSynchronize")
        self.alive()

    def alive(self) -> None:
        if self.error is None and getattr(self, "failures", None) is not None and self.failures.value:
            self.fail(IndexError("index out of bounds"), "an index kernel", "")
        super().alive()
        if self.driver.dead is not None:
            raise AcceleratorError(
                f"CUDA error: the context of {self.where} is lost, {self.driver.dead}; start the process anew"
            )

    def sleep(self, cycles: int) -> None:
        waiting.sleep(self, cycles)

    @property
    def failed(self) -> int:
        """The address that kernels write to that meet a wrong index."""
        return ctypes.addressof(self.failures)

    # --- work -----------------------------------------------------------------------------------

    def empty(
        self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None, poison: bool = True
    ) -> DeviceArray:
        made = super().empty(shape, dtype, strides)
        recording = self.current.recording
        if recording is not None and made.handle is not None:
            recording.workspace(made.handle)
        return made

    def unkept(self) -> None:
        """What is being done depends on more than geometry: no call like it is prepared."""
        recording = self.current.recording
        if recording is not None:
            recording.spoil()

    @property
    def fuses(self) -> bool:  # type: ignore[override]
        """Whether pointwise work is put off: a call of compile()'s is captured."""
        capture = self.capture
        return capture is not None and capture.fuses

    def flush(self) -> None:
        capture = self.capture
        if capture is not None and capture.groups is not None:
            capture.groups.all()

    def flush_before(self, read: Sequence[DeviceArray], written: Sequence[DeviceArray]) -> None:
        """Queue what was put off, if other work that reads and writes these arrays must come after it."""
        capture = self.capture
        if capture is not None and capture.groups is not None:
            capture.groups.before(read, written)

    def grid(self, count: int) -> tuple[int, int]:
        """(blocks, threads) for so many pieces of work, which a grid's threads stride over."""
        return max(min(-(-count // THREADS), self.card.processors * WAVES), 1), THREADS

    def blocks(self, count: int, n: int) -> tuple[int, int]:
        """(blocks, threads) for so many blocks' work, each of which has `n` elements."""
        return max(min(count, self.card.processors * WAVES), 1), min(-(-n // 32) * 32, THREADS)

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
        self.alive()
        self.enter()
        if written or not results:
            self.flush()
        else:
            self.flush_before(operands, results)
        function = self.modules.loaded.get(source)
        if function is None:
            with self.uncaptured(True):
                function = self.modules.function(source)
        current = self.current
        if current.recording is not None:
            current.recording.launch(function, grid, (*operands, *results), numbers)
        arguments = [*[a.address for a in (*operands, *results)], *numbers]
        function.launch(grid, (current.stream or self.default).handle, arguments)
        if self.platform.blocking:
            self._waited(function.told(grid, self.stream.handle, arguments), what)

    def _waited(self, launch: tuple[Any, ...], what: str) -> None:
        """Wait for a launch, which an error then names (CUDA_LAUNCH_BLOCKING=1)."""
        try:
            self.stream.run()
        except AcceleratorError as error:
            error.add_note(f"The kernel was of {what!r}: {', '.join(map(str, launch))}")
            raise
        self.alive()

    def launcher(self, launch: Any) -> Any:
        return launch if self.platform.blocking else quick.launcher(self, launch)

    def call(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        named: Any = NOTHING,
        key: Any = None,
        what: str = "",
    ) -> Any:
        # kernels load with the first work on a device
        from rushlight._engine.devices.cuda import served

        def served_call(device: Any, *given: Any) -> Any:
            given, more = given[: len(args)], given[len(args) :]
            return served.call(device, function, given, dict(zip(named, more, strict=True)))

        try:
            return prepared.call(self, (function, *named), served_call, (*args, *named.values()))
        except NotServed as error:
            raise self.refused(what or getattr(function, "__name__", "call"), error) from None

    def write(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        named: Any = NOTHING,
        targets: Sequence[Any] | None = None,
        what: str = "",
        key: Any = None,
    ) -> None:
        # kernels load with the first work on a device
        from rushlight._engine.devices.cuda import served

        def served_write(device: Any, *given: Any) -> None:
            given, more = given[: len(args)], given[len(args) :]
            served.write(device, function, given, dict(zip(named, more, strict=True)))

        try:
            prepared.call(self, (function, *named), served_write, (*args, *named.values()))
        except NotServed as error:
            raise self.refused(what or getattr(function, "__name__", "write").strip("_"), error) from None

    def refused(self, what: str, error: Exception | str) -> NotImplementedError:
        """The error for what no kernel serves."""
        return NotImplementedError(
            f"Could not run '{what}' on {self.where}: the real CUDA device has no kernel for it yet "
            f"({error}). Move the operands to the host with .cpu(), or run under RUSHLIGHT_CUDA=simulated, "
            "which serves every op; docs/cuda.md tells which rows have kernels"
        )

    def unserved(self, what: str, error: Exception) -> None:
        raise self.refused(what, error) from None

    def library_row(self, row: Row, body: Callable[..., Any], values: Sequence[Any], why: str) -> Any:
        if row.kind == "composite":
            return NotImplemented  # by its rows
        raise self.refused(row.name, why)

    def library_read(self, a: DeviceArray, indices: Sequence[Any], why: str) -> Any:
        raise self.refused("index", why)

    # --- the host -------------------------------------------------------------------------------

    def read(self, a: DeviceArray) -> Array:
        self.alive()
        self.unkept()
        self.waited()
        made = np.empty(a.shape, a.dtype)
        self._to_host(made, a, True)
        return made

    def duplicate(self, target: DeviceArray, source: Any) -> None:
        if (
            source.device is not self
            or target.strides != source.strides
            or not (target.dense and source.dense)
        ):
            target[...] = source
        elif target.size:
            self.alive()
            self.enter()
            self.flush()
            self.driver(
                "cuMemcpyDtoDAsync_v2", target.address, source.address, target.nbytes, self.stream.handle
            )

    def _to_host(self, target: Array, source: DeviceArray, wait: bool) -> None:
        """target[...] = source; the host's array is contiguous."""
        if self.capture is not None and wait:
            raise self.capture.refused("a read by the host")
        given = launches.contiguous(self, source)
        self.enter()
        self.flush()
        if source.size:
            place = target.ctypes.data
            self.driver("cuMemcpyDtoHAsync_v2", place, given.address, target.nbytes, self.stream.handle)
        if wait:
            self.stream.run()
            self.alive()
        elif source.size:
            self._hold(target)

    def _to_device(self, target: DeviceArray, source: Array, wait: bool) -> None:
        if not target.size:
            return
        if not target.flags.c_contiguous:
            buffer = self.empty(target.shape, target.dtype)
            self._to_device(buffer, source, wait)
            launches.convert(self, target, buffer)
            return
        given = np.ascontiguousarray(np.broadcast_to(source, target.shape))
        if self.capture is not None and (wait or given.ctypes.data != source.ctypes.data):
            raise self.capture.refused("a copy from the host that is waited for")
        self.enter()
        self.flush()
        self.driver(
            "cuMemcpyHtoDAsync_v2", target.address, given.ctypes.data, given.nbytes, self.stream.handle
        )
        if wait:
            self.stream.run()
        else:
            self._hold(given)

    def page_locked(self, array: Array) -> Array:
        """A copy of a dense host's array in page-locked memory, which is freed with it."""
        with self.uncaptured(True):  # a DataLoader's thread pins while another one captures
            address = pinned.of(self.driver).take(array.nbytes)
        memory = (ctypes.c_uint8 * array.nbytes).from_address(address)
        weakref.finalize(memory, _freed, self, address, array.nbytes).atexit = False
        made: Array = np.ndarray(array.shape, array.dtype, memoryview(memory), 0, array.strides)
        made[...] = array
        return made

    def host_registered(self, name: str, *args: int) -> int:
        """What a function of the driver answers that page-locks the host's memory, or ends that."""
        with self.uncaptured(True):
            return self.driver.raw(name)(*args)

    def _hold(self, array: Array) -> None:
        """Keep a host's array until the copies from it or to it that are queued now are done; those in a
        graph, as long as the graph.
        """
        if self.capture is not None:
            self.capture.kept.append(array)
        else:
            self.hold(array, self.stream)

    def hold(self, what: Any, stream: Queue) -> None:
        """Keep what is the host's until a stream's work so far is done; what waited for work that is done
        goes. Other threads and a collector come in between.
        """
        flying = self._flying
        while flying:
            try:
                first = flying.popleft()
            except IndexError:  # another thread has taken the last one
                break
            if not first[0].done():
                flying.appendleft(first)
                break
        flying.append((stream.mark(), what))

    def copy(self, target: Any, source: Any, non_blocking: bool, pinned: bool) -> None:
        self.alive()
        self.unkept()
        late = non_blocking and pinned
        if not non_blocking and np.ndarray in (source.__class__, target.__class__):
            self.waited()
        if source.__class__ is np.ndarray:
            self._to_device(target, source, not late)
        elif target.__class__ is np.ndarray:
            buffer = target if target.flags.c_contiguous else np.empty(target.shape, target.dtype)
            self._to_host(buffer, source, not late or buffer is not target)
            if buffer is not target:
                target[...] = buffer
        else:
            self._across(target, source)

    def _across(self, target: DeviceArray, source: DeviceArray) -> None:
        """From one device to another: the streams of both wait for each other."""
        there: Any = source.device  # another real one
        given = launches.contiguous(there, source)
        there.flush()
        self.flush()
        buffer = target if target.flags.c_contiguous else self.empty(target.shape, target.dtype)
        self.stream.wait_for(there.stream.mark())
        self.enter()
        self.driver(
            "cuMemcpyPeerAsync",
            buffer.address,
            self.context,
            given.address,
            there.context,
            given.nbytes,
            self.stream.handle,
        )
        there.stream.wait_for(self.stream.mark())
        if buffer is not target:
            launches.convert(self, target, buffer)

    def fill_late(self, made: DeviceArray, draw: Callable[[Array], Array], what: str, uses: Any = ()) -> None:
        self.unkept()
        if uses:
            raise self.refused(what, "numbers that depend on a device's array are drawn by the simulator")
        if self.capture is not None:
            raise self.capture.refused(what)
        flat = np.empty(made.size * made.itemsize, np.uint8)
        dense = made.strides if made.dense else row_strides(made.shape, made.itemsize)
        buffer = np.ndarray(made.shape, made.dtype, flat, 0, dense)
        buffer[...] = draw(buffer)
        if made.size:
            self._to_device(
                made.relaid((made.size * made.itemsize,), (1,), 0, np.dtype(np.uint8)), flat, True
            )

    def brought(self, found: Array) -> DeviceArray:
        self.unkept()
        made = self.empty(found.shape, found.dtype)
        self.flush()
        if self.capture is None or not found.size:
            return super().brought(found) if found.size else made
        with self.uncaptured():
            kept = self.page_locked(np.array(found, order="C"))
        self.capture.kept.append(kept)  # which replays read
        self.driver("cuMemcpyHtoDAsync_v2", made.address, kept.ctypes.data, kept.nbytes, self.stream.handle)
        return made

    def replay(self, graph: int, numbers: Sequence[tuple[DeviceArray, Any]]) -> None:
        """Launch an executable graph on the current stream, which reads these numbers."""
        for array, given in numbers:
            self._to_device(array, np.asarray(given, array.dtype), False)
        self.enter()
        self.driver("cuGraphLaunch", graph, self.stream.handle)
        if self.platform.blocking:
            self.stream.run()
            self.alive()

    @property
    def blas(self) -> Any:
        """The device's matrix products: cuBLAS's, or its own kernels' where that is not installed, which a
        warning tells.
        """
        if self._blas is None:
            # cuBLAS loads with the first product
            from rushlight._engine.devices.cuda.driver.blas import Products
            from rushlight._engine.devices.cuda.served import multiplying

            try:
                with self.uncaptured():
                    self._blas = Products(self)
            except NotInstalled as error:
                self._blas = multiplying.Products(self, str(error))
                warn(f"{error}. Until then products go by slower kernels")
        return self._blas

    @property
    def dnn(self) -> Any:
        """The device's convolutions by cuDNN. NotServed where it is not installed."""
        if self._dnn is None:
            from rushlight._engine.devices.cuda.driver.dnn import Convolutions  # few programs need it

            try:
                with self.uncaptured():
                    self._dnn = Convolutions(self)
            except NotServed:
                self._dnn = False
        if self._dnn is False:
            raise NotServed("cuDNN is not installed")
        return self._dnn

    @property
    def solver(self) -> Any:
        """The device's linear algebra. NotInstalled where there is no cuSOLVER."""
        if self._solver is None:
            from rushlight._engine.devices.cuda.driver.solver import Solver  # few programs need it

            with self.uncaptured():
                self._solver = Solver(self)
        return self._solver


def _freed(device: Real, address: int, size: int) -> None:
    if not device.platform.forked:  # else it is the parent's
        pinned.of(device.driver).give(address, size)


class _Visit:
    """A device's context is the thread's for a while."""

    __slots__ = ("before", "device")

    def __init__(self, device: Real) -> None:
        self.device, self.before = device, _entered.device

    def __enter__(self) -> None:
        self.device.enter()

    def __exit__(self, *raised: object) -> None:
        if self.before is not None:
            self.before.enter()


class _Uncaptured:
    """Calls that allocate are allowed while a stream of any device is captured, and are no part of it."""

    _RELAXED = 2

    def __init__(self, device: Real, always: bool) -> None:
        self.driver = device.driver
        self.on = always or any([d.captures for d in device.platform.devices()])
        self.mode = ctypes.c_int(self._RELAXED)

    def __enter__(self) -> None:
        if self.on:
            self.driver("cuThreadExchangeStreamCaptureMode", ctypes.byref(self.mode))

    def __exit__(self, *raised: object) -> None:
        if self.on:
            self.driver("cuThreadExchangeStreamCaptureMode", ctypes.byref(self.mode))


__all__ = ["NoDriver", "Real", "cards"]
