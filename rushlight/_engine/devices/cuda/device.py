"""What every CUDA device is, real or simulated: its allocator, its current stream, geometry of its arrays.

A kind of device adds how work is done: `launch` a kernel, `call` a function that gives new arrays, `write` by
one that fills arrays, `read` and `copy` for the host.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from rushlight._engine.core.callers import warn
from rushlight._engine.core.device import device
from rushlight._engine.devices.cuda import words
from rushlight._engine.devices.cuda.accounts import tracing
from rushlight._engine.devices.cuda.allocator import Allocator, Handle, segment_size, wanted
from rushlight._engine.devices.cuda.array import DeviceArray, row_strides
from rushlight._engine.devices.cuda.configuration import Card
from rushlight._engine.devices.cuda.philox import Philox
from rushlight._engine.names.absent_devices import AcceleratorError, OutOfMemoryError

Array = np.ndarray[Any, Any]
NOTHING: dict[str, Any] = {}
# How many of the host's arrays a device keeps for its kernels.
MOST_KEPT = 256
# How many streams there are of a priority.
RING = 32


class Products(Protocol):
    """Matrix products by a library."""

    def product(self, a: DeviceArray, b: DeviceArray, bias: DeviceArray | None = None) -> DeviceArray:
        """a @ b (+ bias), of matrices or batches of them."""


class Memory(Protocol):
    """Where a device's arrays lie: `total` bytes, of which tensors have `used`."""

    total: int
    used: int

    @property
    def own(self) -> int:
        """Bytes that are not the allocator's: the driver's own, and other processes'."""

    def reserve(self, size: int) -> int:
        """The address of so many bytes more; MemoryError where there are none."""

    def release(self, address: int, size: int) -> None:
        """Give bytes back."""

    def seen(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> Array:
        """A NumPy array of this geometry, which stands for memory at an address."""

    def address_of(self, seen: Array) -> int | None:
        """The address that such an array stands for."""


class _Current(threading.local):
    """The stream that a thread's work goes to (None: the default one), what notes it (prepared.py), and where
    its memory comes from (graphs.Pool), if not from all; pools: those that it was to come from since, each
    with the capture that was under way. quiet: whether the program does not hear of the host's waiting.
    """

    stream: Any = None
    recording: Any = None
    quiet = False
    pool: Any = None
    pools: tuple[tuple[Any, Any], ...] = ()


class Device(ABC):
    """A device of a platform; `where` is its torch.device."""

    # The strict mode's checker, where there is one.
    check: Any = None
    # Whether its kernels serve calls; whether what they do not serve is computed by the host.
    kernels = simulated = False
    # Whether pointwise work is put off, to be fused (kernels/fusing.py).
    fuses = False

    def __init__(self, platform: Any, index: int, card: Card, memory: Memory) -> None:
        self.platform, self.index, self.card, self.memory = platform, index, card, memory
        self.where = device("cuda", index)
        self.allocator = Allocator(card.memory, memory.reserve, memory.release, self.settle)
        self.default = self.make_stream(0, 0)
        self.streams: list[Any] = [self.default]
        self._rings: dict[int, list[Any]] = {}  # by priority, the one that was handed out last at the end
        self._own: dict[int, Any] = {}  # those that a program has made and ends itself, by handle
        self.current = _Current()
        self.error: str | None = None
        self.philox = Philox(self)
        self.philox.manual_seed(platform.seed)
        # Streams of this device whose work is captured, and into which graphs (graphs.Capture).
        self.captures: dict[Any, Any] = {}
        # NumPy's dtypes -> the kinds of this device's tensors (wrap() in tensors/tensor.py).
        self.kinds: dict[Any, Any] = {}
        # What calls of rows came to, by their kinds (prepared.py).
        self.prepared: dict[Any, Any] = {}
        # How pointwise kernels serve geometries that were met (kernels/launches.py).
        self.plans: dict[Any, Any] = {}
        self._kept: dict[Any, DeviceArray] = {}

    # --- what a kind of device adds ---------------------------------------------------------------

    @abstractmethod
    def make_stream(self, number: int | None, priority: int) -> Any:
        """A stream; number: 0 for the default one."""

    @abstractmethod
    def call(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        named: Any = NOTHING,
        key: Any = None,
        what: str = "",
    ) -> Any:
        """function(*args, **named) on arrays of this device; its arrays are new memory of the device.

        key: what tells calls apart whose results have the same geometry, None if nothing does.
        """

    @abstractmethod
    def write(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        named: Any = NOTHING,
        targets: Sequence[Any] | None = None,
        what: str = "",
        key: Any = None,
    ) -> None:
        """function(*args, **named), which writes into arrays of this device and gives nothing.

        targets: those that are written to; the first argument if None.  key: what tells calls apart whose
        operands have other geometries, these if None.
        """

    @abstractmethod
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
        """Queue a kernel: (blocks, threads of a block), the arrays it reads and writes, its numbers.

        written: addresses of operands that it writes to, too.
        """

    @abstractmethod
    def read(self, a: DeviceArray) -> Array:
        """The elements of an array, for the host, which waits for this stream's work."""

    @abstractmethod
    def copy(self, target: Any, source: Any, non_blocking: bool, pinned: bool) -> None:
        """target[...] = source, of one dtype and shape; one of them is an array of another device or the
        host's. pinned: whether the host's memory is page-locked.
        """

    @abstractmethod
    def fill_late(self, made: DeviceArray, draw: Callable[[Array], Array], what: str, uses: Any = ()) -> None:
        """made[...] = draw(a host's array laid out so), when the stream gets there."""

    @abstractmethod
    def grid(self, count: int) -> tuple[int, int]:
        """(blocks, threads of a block) for so many pieces of work."""

    @abstractmethod
    def blocks(self, count: int, n: int) -> tuple[int, int]:
        """(blocks, threads of a block) for so many blocks' work, each of which has `n` elements."""

    @abstractmethod
    def sleep(self, cycles: int) -> None:
        """Queue so many cycles of the device's clock in which the stream does nothing."""

    @property
    @abstractmethod
    def failed(self) -> int:
        """The address that kernels write to that meet a wrong index."""

    @property
    def blas(self) -> Products:
        """The device's matrix products, of a library.

        RuntimeError on a simulated device, and where cuBLAS is not installed.
        """
        raise RuntimeError(f"{self.where} is simulated: it has no cuBLAS, the host computes its products")

    @property
    def recording(self) -> Any:
        """What notes this thread's work, None if nothing does."""
        return self.current.recording

    @recording.setter
    def recording(self, value: Any) -> None:
        self.current.recording = value

    # --- streams --------------------------------------------------------------------------------

    @property
    def stream(self) -> Any:
        """The stream that this thread's work goes to."""
        return self.current.stream or self.default

    @property
    def capture(self) -> Any:
        """What this thread's work is captured into: the graph of its stream; None where there is none."""
        captures = self.captures
        return captures.get(self.current.stream) if captures else None

    def branch(self, stream: Any) -> tuple[Any, dict[Any, int]] | None:
        """A place in the capture of a stream: (the capture, what comes before); None where there is none."""
        captures = self.captures
        capture = captures.get(stream) if captures else None
        return None if capture is None else (capture, dict(capture.branches[stream]))

    def joins(self, stream: Any, branch: tuple[Any, dict[Any, int]] | None) -> bool:
        """Let a stream go on behind another one's place, None if that is not captured; whether this is a
        matter of a capture, which the stream then belongs to. AcceleratorError where it cannot.
        """
        capture = self.captures.get(stream)
        if branch is None:
            if capture is not None:
                raise capture.failed("StreamCaptureIsolation")
            return False
        other, before = branch
        if other.over:
            raise other.failed("CapturedEvent")
        if stream is stream.device.default:
            raise other.failed("StreamCaptureImplicit")
        if capture is not None and capture is not other:
            raise other.failed("StreamCaptureMerge", capture)
        other.joins(stream, before)
        return True

    def questioned(self, what: str) -> None:
        """AcceleratorError for what waits for all of a device, or asks for it, while a stream is captured."""
        captures = list(self.captures.values())
        if captures:
            raise captures[0].failed("StreamCaptureUnsupported", *captures[1:], what=what)

    def waited(self, stream: Any = None) -> None:
        """The host waits for a stream, this thread's if None: others hear of it, and programs that want to
        (torch.cuda.set_sync_debug_mode).
        """
        mode = self.platform.sync_mode
        if mode and not self.current.quiet:
            if mode == 2:
                raise RuntimeError("called a synchronizing CUDA operation")
            warn("called a synchronizing CUDA operation")
        tracing.tell(tracing.STREAM_SYNCHRONIZATION, (stream or self.stream).number)

    def settle(self) -> None:
        """Wait for all work, where that spoils no capture."""
        if not self.captures:
            self.synchronize()

    def use(self, stream: Any) -> None:
        """Let this thread's work go to a stream; None: to the default stream."""
        self.flush()
        self.current.stream = None if stream is self.default else stream

    def new_stream(self, priority: int = 0) -> Any:
        """The next stream of a priority: as in PyTorch there are 32 of each, handed out in turn."""
        ring = self._rings.setdefault(priority, [])
        if len(ring) < RING:
            ring.append(self.make_stream(None, priority))
            self.streams.append(ring[-1])
            return ring[-1]
        ring.append(ring.pop(0))
        return ring[-1]

    def own_stream(self) -> Any:
        """A stream beside those that are handed out in turn, until end_stream()."""
        made = self.make_stream(None, 0)
        self.streams.append(made)
        self._own[made.number] = made
        return made

    def end_stream(self, handle: int) -> bool:
        """Let a stream of own_stream() go, by its handle, once its work is done; whether there is one."""
        found = self._own.pop(handle, None)
        if found is None:
            return False
        found.run()
        self.streams.remove(found)
        return True

    def stream_of(self, handle: int) -> Any:
        """The stream of a handle; None where there is none."""
        return next((q for q in self.streams if q.number == handle), None)

    def foreign_stream(self, handle: int) -> Any:
        """A stream by the driver's handle, another library's too; RuntimeError where a simulated device has
        none of this handle.
        """
        found = self.stream_of(handle)
        if found is None:
            raise RuntimeError(
                "torch.cuda.ExternalStream: a simulated device has no streams of other libraries; use "
                "torch.cuda.Stream()"
            )
        return found

    def synchronize(self) -> None:
        """Do all work of all streams."""
        self.alive()
        self.questioned("synchronize()")
        for stream in list(self.streams):
            stream.run()
        self.alive()

    def alive(self) -> None:
        """AcceleratorError after a kernel has failed: the context is dead until the process ends."""
        if self.error is not None:
            raise AcceleratorError(self.error)
        if self.platform.forked:
            raise RuntimeError(words.FORKED)

    def fail(self, error: BaseException, what: str, place: str) -> None:
        """A kernel has failed: every later call says so."""
        if self.error is None:
            self.error = words.device_assert(error, what, place)

    # --- memory ---------------------------------------------------------------------------------

    def allocate(self, size: int, stream: Any = None) -> Handle | None:
        """Memory of `size` bytes, None for none; torch.OutOfMemoryError where there is no more."""
        self.alive()
        if not size:
            return None
        if stream is None:
            pool = self.current.pool
            if self.capture is not None and (pool is None or self.current.pools[-1][1] is not self.capture):
                pool = self.capture.pool  # which began later
            stream = self.stream if pool is None else pool.of(self.stream)
        return self.allocator.allocate(size, stream, self._exhausted)

    def _exhausted(self, size: int) -> OutOfMemoryError:
        """The error where there is no memory of `size` bytes; observers hear of it first."""
        free = self.memory.total - self.memory.own - self.memory.used
        for observer in self.platform.observers:
            observer(self.index, size, segment_size(wanted(size)), free)
        return OutOfMemoryError(words.out_of_memory(self, size))

    def empty(
        self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None, poison: bool = True
    ) -> DeviceArray:
        """New memory; poison: whether a simulated device fills it, so that reads of it show.

        strides: in bytes, of a dense order of the dims; row by row if None.
        """
        dtype = np.dtype(dtype)
        strides = row_strides(shape, dtype.itemsize) if strides is None else strides
        size = 0
        if 0 not in shape:
            size = dtype.itemsize + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        handle = self.allocate(size)
        return DeviceArray(self, handle, handle.address if handle else 0, shape, strides, dtype)

    def relieve(self, pool: Any = None) -> None:
        """Give memory back that nobody uses, all or a pool's: called at any time."""
        self.allocator.relieve(pool)

    def flush(self) -> None:
        """Queue what was put off."""

    def brought(self, found: Array) -> DeviceArray:
        """A host's array copied to new memory of the device."""
        made = self.empty(found.shape, found.dtype, poison=False)
        if found.size:
            self.copy(made, found, False, False)
        return made

    def number(self, value: Any, of: Any) -> DeviceArray:
        """A number of the host's in a dtype, which is copied there once: nobody waits for it again."""
        found = np.asarray(value).astype(of)
        return self.kept(("number", found.dtype, found.tobytes()), lambda: found)

    def kept(self, key: Any, make: Callable[[], Array]) -> DeviceArray:
        """A host's array on the device, which is copied there once for its key."""
        found = self._kept.get(key)
        if self.capture is not None:
            if found is None:  # it is there when the graph has run, so others must not find it
                self.unkept()
                return self.brought(make())
            self.capture.kept.append(found)
        if found is None:
            if len(self._kept) > MOST_KEPT:
                self._kept.clear()
            with self.aside():
                found = self._kept[key] = self.brought(make())
        return found

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A `with` block that makes what later calls use, too: no part of a call that is recorded, nor in a
        pool of the program's.
        """
        current = self.current
        before = current.recording, current.pool, current.quiet
        current.recording, current.pool, current.quiet = None, None, True
        try:
            yield
        finally:
            current.recording, current.pool, current.quiet = before

    def unkept(self) -> None:
        """What is being done depends on more than geometry: no call like it is prepared."""

    def outline(self, a: DeviceArray) -> Array:
        """The window on an array. Its elements may be read where the stream's work is done."""
        return self.memory.seen(a.address, a.shape, a.strides, a.dtype)

    def duplicate(self, target: DeviceArray, source: Any) -> None:
        """target[...] = source, an array of this device's of the same dtype and shape."""
        target[...] = source

    def view(self, a: DeviceArray, seen: Array) -> DeviceArray:
        """A view of `a`, from what NumPy made of its outline."""
        address = self.memory.address_of(seen) if seen.size else a.address
        if address is None:
            raise TypeError("no view of the device's memory")
        return DeviceArray(
            self, a.handle, address, seen.shape, seen.strides, seen.dtype, a if a.base is None else a.base
        )

    def geometry(self, function: Callable[..., Any], args: Any, named: Any = NOTHING) -> Any:
        """A function of NumPy's that looks at no elements."""
        operands: list[DeviceArray] = []
        found = function(*self._seen(args, operands), **self._seen(named, operands))
        return self._views(found, operands)

    def _views(self, found: Any, operands: list[DeviceArray]) -> Any:
        if isinstance(found, np.ndarray):
            return self.view(owner_of(self.memory.address_of(found), operands), found)
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


def owner_of(address: int | None, operands: list[DeviceArray]) -> DeviceArray:
    """The operand whose memory holds an address."""
    for a in operands:
        if (
            a.handle is not None
            and address is not None
            and (a.handle.address <= address <= a.handle.address + a.handle.size)
        ):
            return a
    return operands[0]


class NotServed(Exception):
    """No kernel of the device computes this: `why` says what is missing."""
