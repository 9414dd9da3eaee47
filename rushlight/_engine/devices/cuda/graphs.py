"""torch.cuda where there is a device: CUDA graphs. Work is captured once and queued again as one piece.

On a real device the driver captures a stream and launches what it captured; on a simulated one the work that
would be queued is kept, and a replay is one piece of the stream's work. Memory that is allocated meanwhile is
the graph's own pool's: it is handed out again within the capture only. Random numbers go on from replay to
replay, as the generator's offset is looked up when a replay begins.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from rushlight._engine.core.callers import warn
from rushlight._engine.core.services import service
from rushlight._engine.devices.cuda import words
from rushlight._engine.devices.cuda.api import backend, index_of, platform
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.memory_api import memory_snapshot
from rushlight._engine.devices.cuda.stream_api import Stream, StreamContext
from rushlight._engine.devices.cuda.strict import Touched
from rushlight._engine.names.absent_devices import AcceleratorError

Work = Callable[[], None]
_MODES = ("global", "thread_local", "relaxed")
_numbers = itertools.count(1)


class Pool:
    """Memory of its own, for graphs or a program, which keeps it until all of its users are through with it.

    graphs: how many of them are graphs.
    """

    def __init__(self, handle: tuple[int, int]) -> None:
        self.handle, self.users, self.graphs = handle, 0, 0
        self.streams: dict[Any, PoolStream] = {}

    def taken(self, graph: bool = False) -> None:
        """It has one more user."""
        _pools[self.handle] = self
        self.users, self.graphs = self.users + 1, self.graphs + graph

    def given(self, graph: bool = False) -> None:
        """It has one less; without any, its name stands for new memory."""
        self.users, self.graphs = self.users - 1, self.graphs - graph
        if not self.users and _pools.get(self.handle) is self:
            del _pools[self.handle]

    def of(self, stream: Any) -> PoolStream:
        """What the allocator takes for a stream while a graph is captured."""
        found = self.streams.get(stream)
        if found is None:
            found = self.streams[stream] = PoolStream(self, stream)
        return found


class PoolStream:
    """A stream as the allocator sees it within a pool: its free blocks are the pool's."""

    def __init__(self, pool: Pool, stream: Any) -> None:
        self.pool, self.stream, self.number = pool, stream, stream.number

    def mark(self) -> Any:
        """The present end of the stream's queue."""
        return self.stream.mark()

    def knows(self, stream: Any, place: Any) -> bool:
        """Whether work queued here now runs after another stream's up to a place."""
        return stream is self.stream or bool(self.stream.knows(stream, place))


_pools: dict[tuple[int, int], Pool] = {}  # those that are in use


def graph_pool_handle() -> tuple[int, int]:
    """A name for memory that several graphs share."""
    return (0, next(_numbers))


def pool_of(handle: Any) -> Pool:
    """The memory that a name stands for."""
    name: Any = tuple(handle)
    return _pools.get(name) or Pool(name)


class MemPool:
    """Memory of its own: what is allocated in a `use_mem_pool` block comes from it, and goes back to it.

    MemPool(allocator=None, use_on_oom=False, no_split=False); RuntimeError for other than these.
    """

    _pool: Any = None

    def __init__(self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        if allocator is not None or use_on_oom or no_split:
            raise RuntimeError(
                "torch.cuda.MemPool(): allocator, use_on_oom and no_split are not there: a pool's memory is "
                "allocated as all is"
            )
        self._pool = pool_of(graph_pool_handle())
        self._pool.taken()

    @property
    def id(self) -> tuple[int, int]:
        """Its name, which graphs take as `pool`, too."""
        name: tuple[int, int] = self._pool.handle
        return name

    def use_count(self) -> int:
        """How many use it: this object, blocks of `use_mem_pool`, and graphs."""
        return int(self._pool.users)

    def snapshot(self, include_traces: bool = True) -> list[dict[str, Any]]:
        """Its segments and blocks, on all devices."""
        return memory_snapshot(self.id, include_traces)

    def __del__(self) -> None:
        if self._pool is None:
            return
        self._pool.given()
        if self._pool.users or platform().forked:
            return
        with suppress(AcceleratorError):  # of a device that has failed: others have heard of it
            for device in platform().devices():
                device.relieve(self._pool)


@contextmanager
def use_mem_pool(pool: MemPool, device: Any = None) -> Iterator[None]:
    """A `with` block in which this thread's memory on a device, the current one if None, is a pool's."""
    where = index_of(device)
    _cuda_beginAllocateCurrentThreadToPool(where, pool.id)
    try:
        yield
    finally:
        _cuda_endAllocateToPool(where, pool.id)
        _cuda_releasePool(where, pool.id)


def _cuda_beginAllocateCurrentThreadToPool(device: int, mempool_id: tuple[int, int]) -> None:
    """Take this thread's memory on a device from a pool, from now on."""
    where, pool = backend(device), pool_of(mempool_id)
    pool.taken()
    current = where.current
    current.pool, current.pools = pool, (*current.pools, (pool, where.capture))


def _cuda_endAllocateToPool(device: int, mempool_id: tuple[int, int]) -> None:
    """Take it from where it came from before."""
    current, name = backend(device).current, tuple(mempool_id)
    begun = [k for k, (pool, _) in enumerate(current.pools) if pool.handle == name]
    if not begun:
        raise RuntimeError("endAllocatePool: not currently recording to mempool_id")
    current.pools = current.pools[: begun[-1]] + current.pools[begun[-1] + 1 :]
    current.pool = current.pools[-1][0] if current.pools else None


def _cuda_releasePool(device: int, mempool_id: tuple[int, int]) -> None:
    """The pool has one user less, who began to take memory from it."""
    pool = _pools.get((mempool_id[0], mempool_id[1]))
    if pool is None:
        raise RuntimeError(f"there is no memory pool {mempool_id!r}")
    pool.given()


def _cuda_checkPoolLiveAllocations(device: int, mempool_id: tuple[int, int], expected: set[int]) -> bool:
    """Whether the addresses of what is in use in a pool's memory are these."""
    segments = memory_snapshot(mempool_id)
    blocks = [block for s in segments if s["device"] == device for block in s["blocks"]]
    return {b["address"] for b in blocks if b["state"] == "active_allocated"} == set(expected)


class Draws:
    """The random numbers of a graph: how many each generator gives in a replay, and where one begins."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.used: dict[Any, int] = {}
        self.begins: dict[Any, int] = {}
        # For kernels: (the key's two words, where a replay begins) of each generator, on the device.
        self.places: dict[Any, Any] = {}

    def memory(self, engine: Any) -> Any:
        """The device's array that tells kernels where a generator's numbers begin."""
        found = self.places.get(engine)
        if found is None:
            found = self.places[engine] = apart(self.device, 3, np.int64)
        return found

    def place(self, engine: Any, begin: int) -> Any:
        """What `memory` holds in a replay that begins there."""
        seed = engine.initial_seed
        return np.array([seed & 0xFFFFFFFF, seed >> 32, begin // 4], np.int64)

    def take(self, engine: Any, count: int) -> Place:
        """`count` numbers of a thread, of a multiple of four."""
        at = self.used.get(engine, 0)
        self.used[engine] = at + count
        self.begins.setdefault(engine, engine.offset)
        return Place(self, engine, at)

    def advanced(self) -> dict[Any, int]:
        """Where a replay's numbers begin, which the generators then go on from."""
        found = {engine: engine.offset for engine in self.used}
        for engine, count in self.used.items():
            engine.offset += count
        return found


def apart(device: Any, count: int, of: Any) -> Any:
    """Memory that replays put numbers into: not of the graph's own, which its work writes over in turn."""
    kind = np.dtype(of)
    handle = device.allocate(count * kind.itemsize, device.stream)
    return DeviceArray(device, handle, handle.address, (count,), (kind.itemsize,), kind)


class Place:
    """(seed, offset) of numbers in a graph, as they are when a replay is under way."""

    def __init__(self, draws: Draws, engine: Any, at: int) -> None:
        self.draws, self.engine, self.at = draws, engine, at

    def __iter__(self) -> Any:
        yield self.engine.initial_seed
        yield self.draws.begins[self.engine] + self.at


class Capture:
    """What is captured of a stream, and of those that wait for it: `works` of a simulated device, a graph of
    the driver's.

    mode: what others may not do meanwhile, as in CUDA.
    """

    def __init__(self, device: Any, pool: Pool, mode: str) -> None:
        self.device, self.stream, self.pool = device, device.stream, pool
        self.mode, self.thread, self.over = mode, threading.get_ident(), False
        # Its streams: how much each has, and how much of each other one it comes after.
        self.branches: dict[Any, dict[Any, int]] = {self.stream: {self.stream: 0}}
        self.works: list[tuple[Work, str]] = []
        # In strict mode, what a replay reads and writes.
        self.reads: list[Touched] = []
        self.writes: list[Touched] = []
        self.draws = Draws(device)
        self.kept: list[Any] = []  # what the work reads of the host's
        # Numbers that each replay has of its own: (where they are, what gives them).
        self.refreshed: list[tuple[Any, Callable[[], list[float]]]] = []
        # What libraries work in, by streams: the pool's again when the capture ends.
        self.workspaces: dict[Any, Any] = {}
        self.spoilt = False
        self.communicators: list[Any] = []  # of NCCL's operations in it
        # Of a simulated device: the external events that its work records, and that it waits for.
        self.recorded: list[Any] = []
        self.awaited: list[Any] = []
        # Of a compiled call: pointwise work that is put off, to be fused with what follows
        # (kernels/fusing.py).
        self.fuses, self.groups = False, None
        # Whether what the captured work takes for granted is so still.
        self.same: list[Callable[[], bool]] = []
        self.live = False  # whether a compiled call is captured: each replay looks up options anew
        if not device.simulated:
            device.enter()
            device.driver("cuStreamBeginCapture_v2", self.stream.handle, _MODES.index(mode))
        device.captures[self.stream] = self

    def joins(self, stream: Any, before: dict[Any, int]) -> None:
        """A stream goes on behind a place in the capture, and is a part of it."""
        mine = self.branches.get(stream)
        if mine is None:
            mine = self.branches[stream] = {stream: 1}
            stream.device.captures[stream] = self
        for other, count in before.items():
            mine[other] = max(mine.get(other, 0), count)

    def forbids(self) -> bool:
        """Whether this thread may not ask for events meanwhile."""
        return self.mode == "global" or (self.mode == "thread_local" and self.thread == threading.get_ident())

    def _left(self) -> None:
        """Its streams are captured no more."""
        self.over = True
        for stream in self.branches:
            stream.device.captures.pop(stream, None)

    def _whole(self) -> bool:
        """Whether its first stream has waited for all the others."""
        known = self.branches[self.stream]
        return all([known.get(s, 0) >= branch[s] for s, branch in self.branches.items()])

    def uses(self, communicator: Any) -> None:
        """The graph has an operation of NCCL's."""
        if communicator not in self.communicators:
            self.communicators.append(communicator)
            communicator.held()

    def forget(self) -> None:
        """The graph is gone."""
        communicators, self.communicators = self.communicators, []
        for communicator in communicators:
            communicator.released()

    def numbers(self, count: int, again: Callable[[], list[float]]) -> Any:
        """An array of doubles that each replay fills with what `again` gives."""
        made = apart(self.device, count, np.float64)
        self.refreshed.append((made, again))
        return made

    def add(self, work: Work, what: str, uses: Sequence[Any], writes: Sequence[Any]) -> None:
        """Work of a simulated device, which reads and writes these arrays."""
        self.works.append((work, what))
        stream = self.device.stream
        if stream in self.branches:
            self.branches[stream][stream] += 1
        if self.device.check is not None:
            self.reads += [Touched(a) for a in uses if a.handle is not None]
            self.writes += [Touched(a) for a in writes if getattr(a, "handle", None) is not None]

    def node(self, stream: Any, work: Work, what: str) -> None:
        """Work of a simulated device's stream that touches no memory."""
        self.works.append((work, what))
        self.branches[stream][stream] += 1

    def refused(self, what: str) -> RuntimeError:
        """The error for what waits for the device, or needs its numbers, while a graph is captured."""
        return self.failed("StreamCaptureUnsupported", what=what)

    def failed(self, name: str, *others: Capture, what: str = "") -> RuntimeError:
        """CUDA's error of this name, which spoils this capture, and others."""
        for capture in (self, *others):
            capture.spoilt = True
        return AcceleratorError(words.capturing(what) if what else words.of_cuda(name))

    def ended(self) -> tuple[int, int]:
        """(the executable graph, how many pieces of work it has); AcceleratorError where it was spoilt."""
        device, handle, count = self.device, 0, len(self.works)
        self.workspaces.clear()
        try:
            device.flush()
        except BaseException:
            self.spoilt = True
            raise
        finally:
            self._left()
            if not device.simulated:
                handle, count = self._of_driver()
        if self.spoilt:
            raise AcceleratorError(words.SPOILT)
        if device.simulated and not self._whole():
            raise AcceleratorError(words.of_cuda("StreamCaptureUnjoined"))
        if not count and not self.live:
            warn(
                "The CUDA Graph is empty. This usually means that the graph was attempted to be captured on "
                "wrong device or stream."
            )
        return handle, count

    def _of_driver(self) -> tuple[int, int]:
        """End the driver's capture: (the executable graph, how many nodes it has), none of what is spoilt."""
        driver, graph, size = self.device.driver, ctypes.c_void_p(), ctypes.c_size_t()
        self.device.enter()
        try:
            driver("cuStreamEndCapture", self.stream.handle, ctypes.byref(graph))
            if self.spoilt:
                return 0, 0
            driver("cuGraphGetNodes", graph.value, None, ctypes.byref(size))
            return driver.handle("cuGraphInstantiateWithFlags", graph.value, 0), size.value
        finally:
            if graph.value:
                driver("cuGraphDestroy", graph.value)


class CUDAGraph:
    """A captured graph. CUDAGraph(keep_graph=False)."""

    _pool: Pool  # the memory that the captured work has, from capture_begin() on

    def __init__(self, keep_graph: bool = False) -> None:
        self._capture: Capture | None = None
        self._done: Capture | None = None
        self._handle, self._count = 0, 0
        self._streams: set[Any] = set()  # where it was replayed, if it reads the host's memory

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Capture the current stream's work from now on. pool: memory to share, a graph_pool_handle() or
        another graph's pool().
        """
        if capture_error_mode not in _MODES:
            raise RuntimeError(
                f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got "
                f"{capture_error_mode}"
            )
        device = backend()
        if self._done is not None:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new "
                "instance."
            )
        if device.capture is not None:
            raise RuntimeError("a graph of this stream is being captured already")
        if device.stream is device.default:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to "
                "replay them on the default stream.)"
            )
        device.alive()
        if device.simulated:
            device.stream.run()
        self._pool = pool_of(graph_pool_handle() if pool is None else pool)
        self._capture = Capture(device, self._pool, capture_error_mode)
        self._pool.taken(graph=True)

    def register_generator_state(self, generator: Any) -> None:
        """Nothing: a capture knows the states that its numbers are drawn from."""

    def capture_end(self) -> None:
        """End it; AcceleratorError where something in it cannot be captured."""
        capture = self._capture
        if capture is None:
            raise RuntimeError("capture_end() without capture_begin()")
        if capture.device.stream is not capture.stream:
            raise RuntimeError("Capture must end on the same stream it began on.")
        if capture.mode != "relaxed" and capture.thread != threading.get_ident():
            raise AcceleratorError(words.of_cuda("StreamCaptureWrongThread"))
        self._ended(capture)

    def _ended(self, capture: Capture) -> None:
        self._capture = None
        try:
            self._handle, self._count = capture.ended()
        except BaseException:
            self._pool.given(graph=True)
            capture.forget()
            raise
        self._done = capture

    def instantiate(self) -> None:
        """Nothing: a graph is ready when its capture has ended."""

    def replay(self) -> None:
        """Queue the captured work on the current stream, as one piece."""
        done = self._done
        if done is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        device, begins = done.device, done.draws.advanced()
        device.alive()
        places = [(done.draws.memory(g), done.draws.place(g, begins[g])) for g in done.draws.places]
        places += [(where, again()) for where, again in done.refreshed]
        if not device.simulated:
            if done.kept:
                self._streams.add(device.stream)
            device.replay(self._handle, places)
            return

        def work() -> None:
            done.draws.begins.update(begins)
            for where, numbers in places:
                if where.__class__ is DeviceArray:
                    device.outline(where)[...] = numbers
                else:
                    where[:] = numbers
            for each, _ in done.works:
                each()

        for event in done.awaited:
            if event not in done.recorded:
                event.hold(device.stream)
        device._submit(work, "a graph's replay", done.reads, done.writes, done)
        for event in done.recorded:
            event.follow(device.stream)

    def holds(self) -> bool:
        """Whether a replay does what the captured call would do now."""
        return self._done is not None and all([same() for same in self._done.same])

    def reset(self) -> None:
        """Forget the graph; its memory may be handed out again."""
        done, self._done = self._done, None
        if done is None:
            return
        self._pool.given(graph=True)
        if done.device.platform.forked:
            return  # the parent's to end
        if self._handle:
            done.device.enter()
            done.device.driver("cuGraphExecDestroy", self._handle)
            self._handle = 0
        while self._streams:  # a replay may be under way
            done.device.hold(done.kept, self._streams.pop())
        done.forget()

    def pool(self) -> tuple[int, int]:
        """The name of the graph's memory, for graphs that share it."""
        if self._done is None and self._capture is None:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return self._pool.handle

    def enable_debug_mode(self) -> None:
        """Nothing: what a graph has can always be dumped."""

    def debug_dump(self, debug_path: str) -> None:
        """Write what the graph does to a file, a line for each piece; of a real device's graph, how many."""
        lines = [what for _, what in self._done.works] if self._done is not None else []
        with open(debug_path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines or [f"{self._count} nodes"]) + "\n")

    def __del__(self) -> None:
        if self._capture is not None and not self._capture.device.platform.forked:  # nobody can end it
            with suppress(Exception):
                self._ended(self._capture)
        self.reset()


class graph:
    """Capture what a `with` block queues, on a stream of its own.

    graph(cuda_graph, pool=None, stream=None, capture_error_mode="global")
    """

    default_capture_stream: Any = None

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: Any = None,
        stream: Any = None,
        capture_error_mode: str = "global",
    ) -> None:
        cls = type(self)
        kept = cls.default_capture_stream
        if stream is None and (kept is None or kept._queue.device is not backend()):
            kept = cls.default_capture_stream = Stream()
        self.capture_stream = kept if stream is None else stream
        self.cuda_graph, self.pool, self.capture_error_mode = cuda_graph, pool, capture_error_mode
        self.stream_ctx = StreamContext(self.capture_stream)

    def __enter__(self) -> None:
        backend().synchronize()
        if service("whether captures collect garbage first")():
            gc.collect()
        backend().allocator.empty()
        self.stream_ctx.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool, self.capture_error_mode)
        except BaseException:
            self.stream_ctx.__exit__()
            raise

    def __exit__(self, *raised: object) -> None:
        try:
            self.cuda_graph.capture_end()
        except RuntimeError:
            if not raised or raised[0] is None:
                raise
        finally:
            self.stream_ctx.__exit__()
