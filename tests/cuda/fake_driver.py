"""An imitation of libcuda: its functions as Python's, over the simulator's memory and kernels.

It counts calls, checks handles and their order, knows what was not given back, and answers errors that a test
plants. It is as strict as the driver: arguments go through ctypes, contexts are a thread's own, devices are
handles and not their numbers, memory begins as nonsense, a capture is spoilt by what may not be in it. Work is
done when it is queued, but what is captured into a graph waits for the graph's launches.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any

import ml_dtypes
import numpy as np

from rushlight._engine.devices.cuda.allocator import DriverOutOfMemory
from rushlight._engine.devices.cuda.driver import blas, dnn
from rushlight._engine.devices.cuda.driver.blas import Override
from rushlight._engine.devices.cuda.driver.library import ATTRIBUTES, FUNCTIONS, Library
from rushlight._engine.devices.cuda.driver.modules import ENTRIES
from rushlight._engine.devices.cuda.driver.real import THREADS
from rushlight._engine.devices.cuda.kernels import simulator
from rushlight._engine.devices.cuda.memory import Memory

Work = Callable[[], None]
INVALID_VALUE, INVALID_CONTEXT, INVALID_HANDLE, CAPTURING = 1, 201, 400, 900
SPOILT, CAPTURED_EVENT = 901, 907
# A device's handle is its number and this.
DEVICE = 70
# Of a kernel: bytes of parameters, blocks, threads of a block (of which any kernel's registers are there).
MOST_PARAMETERS, MOST_BLOCKS, MOST_THREADS = 4096, (1 << 31) - 1, THREADS
# Not allowed while any stream is captured, unless the thread has said that it knows (relaxed mode).
UNSAFE = {
    "cuEventQuery",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemHostRegister_v2",
    "cuMemHostUnregister",
    "cuModuleLoadData",
}
RELAXED = 2
NON_BLOCKING = 1  # of a stream: it does not wait for the default one, nor that for it
_TOLD = {
    1: b"invalid argument",
    2: b"out of memory",
    100: b"no CUDA-capable device is detected",
    101: b"invalid device ordinal",
    201: b"invalid device context",
    218: b"a PTX JIT compilation failed",
    400: b"invalid resource handle",
    700: b"an illegal memory access was encountered",
    710: b"device-side assert triggered",
    900: b"operation not permitted when stream is capturing",
    901: b"operation failed due to a previous error during capture",
    906: b"operation would make the legacy stream depend on a capturing blocking stream",
    907: b"operation not permitted on an event last recorded in a capturing stream",
}
_PROPERTIES = {
    "major": 9,
    "minor": 0,
    "processors": 4,
    "l2": 50 << 20,
    "shared_memory_per_block": 49152,
    "shared_memory_per_block_optin": 232448,
    "shared_memory_per_multiprocessor": 233472,
    "max_threads_per_multi_processor": 2048,
    "regs_per_multiprocessor": 65536,
}


def _put(place: Any, value: Any) -> None:
    """Fill in what a byref() points to."""
    place._obj.value = value


def taken(types: Any, args: Any) -> None:
    """What ctypes does with arguments of these types: TypeError or ArgumentError for what it does not take."""
    if len(types) != len(args):
        raise TypeError(f"{len(args)} arguments for {len(types)} parameters")
    for of, given in zip(types, args, strict=True):
        of.from_param(given)


class _Thread(threading.local):
    """What each thread has of the driver: its context, and how it is about captures."""

    context = 0
    mode = 0


class FakeDriver:
    """libcuda for `devices` devices of `memory` bytes. `calls` counts; `log` has the names in their order."""

    def __init__(self, devices: int = 2, memory: int = 1 << 30, version: int = 13000) -> None:
        self.version = version
        self.memories = [Memory(memory, 0) for _ in range(devices)]
        self.calls: Counter[str] = Counter()
        self.log: list[str] = []
        self.launched: list[str] = []  # the kernels that ran, by name
        # Errors that are planted: function -> the numbers it answers next.
        self.planted: dict[str, list[int]] = {}
        self.sticky = 0
        self.live: dict[int, tuple[str, Any]] = {}  # handle -> (kind, what it is)
        self._thread = _Thread()
        self._handles = itertools.count(0x1000, 16)
        self.captures: dict[int, list[Work]] = {}  # stream -> what is captured
        self.spoilt: set[int] = set()  # captures, by identity, that something was in that may not be

    def __getattr__(self, name: str) -> Callable[..., int]:
        """A function of the driver, counted."""
        if not name.startswith("cu"):
            raise AttributeError(name)
        body = getattr(type(self), "_" + name, None)
        if body is None:
            raise AttributeError(name)

        def call(*args: Any) -> int:
            taken(FUNCTIONS[name], args)
            self.calls[name] += 1
            self.log.append(name)
            waiting = self.planted.get(name)
            if waiting:
                code = waiting.pop(0)
                self.sticky = code if 700 <= code < 720 else self.sticky
                return code
            if self.sticky and name not in ("cuGetErrorString", "cuGetErrorName"):
                return self.sticky
            if name in UNSAFE and (code := self.unsafe()):
                return code
            return body(self, *args) or 0

        self.__dict__[name] = call
        return call

    @property
    def context(self) -> int:
        """The context of this thread."""
        return self._thread.context

    def _spoil(self, *streams: int) -> int:
        """What may not be in a capture was in the one of these streams, or in all."""
        self.spoilt.update([id(works) for s, works in self.captures.items() if s in streams or not streams])
        return CAPTURING

    def unsafe(self) -> int:
        """What a library does that allocates or waits for the device: the number that it answers, or 0."""
        return self._spoil() if self.captures and self._thread.mode != RELAXED else 0

    def kinds(self) -> Counter[str]:
        """How many handles of each kind were not given back."""
        return Counter(kind for kind, _ in self.live.values())

    def _new(self, kind: str, what: Any = None) -> int:
        handle = next(self._handles)
        self.live[handle] = kind, what
        return handle

    def _is(self, handle: int, kind: str) -> bool:
        return self.live.get(handle, ("", None))[0] == kind

    # --- devices and contexts ---------------------------------------------------------------------

    def _cuInit(self, flags: int) -> int:
        return 0 if self.memories else 100

    def _cuDriverGetVersion(self, place: Any) -> None:
        _put(place, self.version)

    def _cuGetErrorString(self, code: int, place: Any) -> int:
        _put(place, _TOLD.get(code))
        return 0 if code in _TOLD else 1

    def _cuDeviceGetCount(self, place: Any) -> None:
        _put(place, len(self.memories))

    def _cuDeviceGet(self, place: Any, index: int) -> int:
        _put(place, DEVICE + index)
        return 0 if 0 <= index < len(self.memories) else 101

    def _known(self, device: int) -> bool:
        return 0 <= device - DEVICE < len(self.memories)

    def _cuDeviceGetName(self, room: Any, size: int, device: int) -> int:
        room.value = b"Fake H100"
        return 0 if self._known(device) else 101

    def _cuDeviceTotalMem_v2(self, place: Any, device: int) -> int:
        if not self._known(device):
            return 101
        _put(place, self.memories[device - DEVICE].total)
        return 0

    def _cuDeviceGetAttribute(self, place: Any, number: int, device: int) -> int:
        name = next(n for n, k in ATTRIBUTES.items() if k == number)
        _put(place, _PROPERTIES.get(name, 0))
        return 0 if self._known(device) else 101

    def _cuDeviceGetUuid_v2(self, room: Any, device: int) -> int:
        room[:] = range(device - DEVICE, device - DEVICE + 16)
        return 0 if self._known(device) else 101

    def _cuDeviceCanAccessPeer(self, place: Any, one: int, two: int) -> int:
        _put(place, one != two)
        return 0 if self._known(one) and self._known(two) else 101

    def _cuDevicePrimaryCtxRetain(self, place: Any, device: int) -> int:
        _put(place, 1 + device - DEVICE)
        return 0 if self._known(device) else 101

    def _cuCtxSetCurrent(self, context: int) -> int:
        if not 1 <= context <= len(self.memories):
            return INVALID_CONTEXT
        self._thread.context = context
        return 0

    def _cuCtxSynchronize(self) -> int:
        return self._waiting()

    def _waiting(self, stream: int | None = None) -> int:
        if not self.context:
            return INVALID_CONTEXT
        if self.captures and (stream is None or stream in self.captures):
            return self._spoil(*([] if stream is None else [stream]))
        return 0

    # --- memory -----------------------------------------------------------------------------------

    @property
    def _memory(self) -> Memory:
        return self.memories[self.context - 1]

    def place(self, address: int, size: int = 1) -> int:
        """Where the bytes at a device's or the host's address lie; sticky error 700 if they are nobody's."""
        for memory in self.memories:
            inside = 0 <= address - memory.base < memory.window.size
            if inside and any(a <= address and address + size <= a + n for a, n in self._segments()):
                return address + memory.shift
            if inside:
                self.sticky = 700
                raise _Illegal
        return address

    def _segments(self) -> list[tuple[int, int]]:
        return [(h, what) for h, (kind, what) in self.live.items() if kind == "memory"]

    def _cuMemGetInfo_v2(self, free: Any, total: Any) -> None:
        _put(free, self._memory.total - self._memory.used)
        _put(total, self._memory.total)

    def _cuMemAlloc_v2(self, place: Any, size: int) -> int:
        if not self.context:
            return INVALID_CONTEXT
        try:
            address = self._memory.reserve(size)
        except DriverOutOfMemory:
            return 2
        ctypes.memset(address + self._memory.shift, 0xFF, size)  # nan, -1
        self.live[address] = "memory", size
        _put(place, address)
        return 0

    def _cuMemFree_v2(self, address: int) -> int:
        if not self.context:
            return INVALID_CONTEXT
        if not self._is(address, "memory"):
            return INVALID_VALUE
        _, size = self.live.pop(address)
        for memory in self.memories:
            if 0 <= address - memory.base < memory.window.size:
                memory.release(address, size)
        return 0

    def _cuMemHostAlloc(self, place: Any, size: int, flags: int) -> int:
        if not self.context:
            return INVALID_CONTEXT
        room = ctypes.create_string_buffer(size + 64)
        address = -(-ctypes.addressof(room) // 64) * 64
        self.live[address] = "host memory", room
        _put(place, address)
        return 0

    def _cuMemFreeHost(self, address: int) -> int:
        if not self.context:
            return INVALID_CONTEXT
        return 0 if self.live.pop(address, None) else INVALID_VALUE

    def _cuMemHostRegister_v2(self, address: int, size: int, flags: int) -> int:
        if not self.context:
            return INVALID_CONTEXT
        self.live[address] = "host memory", (ctypes.c_uint8 * size).from_address(address)
        return 0

    _cuMemHostUnregister = _cuMemFreeHost

    def _page_locked(self, address: int, size: int) -> bool:
        rooms = [(a, len(what)) for a, (kind, what) in self.live.items() if kind == "host memory"]
        return any(a <= address and address + size <= a + n for a, n in rooms)

    def _copied(self, target: int, source: int, size: int, stream: Any, host: int = 0) -> int:
        """Queue a copy; host: the address of the host's, which has to be page-locked in a capture."""
        if host and (stream or 0) in self.captures and not self._page_locked(host, size):
            return self._spoil(stream or 0)

        def work() -> None:
            ctypes.memmove(self.place(target, size), self.place(source, size), size)

        return self._queued(stream, work)

    def _cuMemcpyHtoDAsync_v2(self, target: int, source: int, size: int, stream: Any) -> int:
        return self._copied(target, source, size, stream, source)

    def _cuMemcpyDtoHAsync_v2(self, target: Any, source: int, size: int, stream: Any) -> int:
        return self._copied(target, source, size, stream, target)

    def _cuMemcpyDtoDAsync_v2(self, target: int, source: int, size: int, stream: Any) -> int:
        return self._copied(target, source, size, stream)

    def _cuMemcpyPeerAsync(self, target: int, one: int, source: int, two: int, size: int, stream: Any) -> int:
        return self._copied(target, source, size, stream)

    def _cuMemsetD8Async(self, target: int, value: int, size: int, stream: Any) -> int:
        return self._queued(stream, lambda: ctypes.memset(self.place(target, size), value, size) and None)

    # --- streams, events --------------------------------------------------------------------------

    def _queued(self, stream: Any, work: Work) -> int:
        stream = stream or 0
        if not self.context:
            return INVALID_CONTEXT
        if stream and not self._here(stream, "stream"):
            return INVALID_HANDLE
        if stream in self.captures:
            self.captures[stream].append(work)
            return 0
        if not stream and any([not self.live[s][1]["flags"] & NON_BLOCKING for s in self.captures]):
            return 906  # the default stream would wait for the captured one
        try:
            work()
        except _Illegal:
            return 0  # the next call tells
        return 0

    def _here(self, handle: int, kind: str) -> bool:
        """Whether it is a handle of this kind, of this thread's context."""
        found = self.live.get(handle)
        return found is not None and found[0] == kind and found[1].get("context") == self.context

    def _cuStreamCreateWithPriority(self, place: Any, flags: int, priority: int) -> int:
        if not self.context:
            return INVALID_CONTEXT
        _put(place, self._new("stream", {"context": self.context, "flags": flags}))
        return 0

    def _cuStreamDestroy_v2(self, stream: int) -> int:
        if not self.context:
            return INVALID_CONTEXT
        return 0 if self.live.pop(stream, ("",))[0] == "stream" else INVALID_HANDLE

    def _cuStreamSynchronize(self, stream: Any) -> int:
        return self._waiting(stream or 0)

    def _cuStreamQuery(self, stream: Any) -> int:
        return 0

    def _cuStreamWaitEvent(self, stream: Any, event: int, flags: int) -> int:
        if not self.context:
            return INVALID_CONTEXT
        if not self._is(event, "event") or (stream and not self._here(stream, "stream")):
            return INVALID_HANDLE
        works = self.live[event][1].get("captured")
        if flags:
            return 0 if stream in self.captures else INVALID_VALUE
        if works is not None:  # the stream joins the capture
            if not any(w is works for w in self.captures.values()):
                return CAPTURED_EVENT
            if not stream:
                return 906
            self.captures[stream] = works
        return 0

    def _cuEventCreate(self, place: Any, flags: int) -> int:
        if not self.context:
            return INVALID_CONTEXT
        _put(place, self._new("event", {"context": self.context, "flags": flags}))
        return 0

    def _cuEventRecord(self, event: int, stream: Any) -> int:
        if not self.context:
            return INVALID_CONTEXT
        if not self._here(event, "event") or (stream and not self._here(stream, "stream")):
            return INVALID_HANDLE
        self.live[event][1].update(time=time.perf_counter(), captured=self.captures.get(stream or 0))
        return 0

    def _cuEventRecordWithFlags(self, event: int, stream: Any, flags: int) -> int:
        works = self.captures.get(stream or 0)
        if not flags or not self.context:
            return self._cuEventRecord(event, stream)
        if works is None:
            return INVALID_VALUE  # external nodes are of captures alone
        if not self._here(event, "event"):
            return INVALID_HANDLE
        works.append(lambda: self.live[event][1].update(time=time.perf_counter(), captured=None))
        return 0

    def _cuEventQuery(self, event: int) -> int:
        if not self.context:
            return INVALID_CONTEXT
        if not self._is(event, "event"):
            return INVALID_HANDLE
        return 0 if self.live[event][1].get("captured") is None else self._of_captured()

    _cuEventSynchronize = _cuEventQuery

    def _of_captured(self) -> int:
        self._spoil()
        return CAPTURED_EVENT

    def _cuEventElapsedTime(self, place: Any, start: int, end: int) -> int:
        if not self.context:
            return INVALID_CONTEXT
        one, two = (self.live[e][1].get("time") for e in (start, end))
        if one is None or two is None or any(self.live[e][1]["flags"] & 2 for e in (start, end)):
            return INVALID_HANDLE
        _put(place, (two - one) * 1000)
        return 0

    def _cuEventDestroy_v2(self, event: int) -> int:
        if not self.context:
            return INVALID_CONTEXT
        return 0 if self.live.pop(event, ("",))[0] == "event" else INVALID_HANDLE

    # --- modules ----------------------------------------------------------------------------------

    def _cuLinkCreate_v2(self, count: int, options: Any, values: Any, place: Any) -> None:
        log = ctypes.cast(values[0], ctypes.POINTER(ctypes.c_char))
        _put(place, self._new("link", {"log": log}))

    def _cuLinkAddData_v2(
        self, state: Any, kind: int, data: bytes, size: int, name: bytes, *more: Any
    ) -> int:
        """Takes any PTX with an entry."""
        if not self._is(state.value, "link") or b".entry" not in data or len(data) != size:
            return 218
        self.live[state.value][1]["code"] = ctypes.create_string_buffer(data[:-1], size)
        return 0

    def _cuLinkComplete(self, state: Any, code: Any, size: Any) -> None:
        room = self.live[state.value][1]["code"]
        _put(code, ctypes.addressof(room))
        _put(size, len(room))

    def _cuLinkDestroy(self, state: Any) -> int:
        return 0 if self.live.pop(state.value, None) else INVALID_HANDLE

    def _cuModuleLoadData(self, place: Any, image: bytes) -> int:
        if not self.context:
            return INVALID_CONTEXT
        if b".entry" not in image:
            return 200
        _put(place, self._new("module", image))
        return 0

    def _cuModuleUnload(self, module: int) -> int:
        return 0 if self.live.pop(module, None) else INVALID_HANDLE

    def _cuModuleGetFunction(self, place: Any, module: int, name: bytes) -> int:
        if name not in self.live[module][1]:
            return 500
        source = ENTRIES[name.decode()]
        what = {"context": self.context, "made": (name.decode(), source, simulator.compiled(source))}
        _put(place, self._new("function", what))
        return 0

    def _cuLaunchKernel(self, function: int, *given: Any) -> int:
        blocks, _, _, threads, _, _, _, stream, places, _ = given
        if not self._here(function, "function"):
            return INVALID_HANDLE
        name, source, kernel = self.live[function][1]["made"]
        count = source.pointers + source.numbers
        if not (1 <= threads <= MOST_THREADS and 1 <= blocks <= MOST_BLOCKS and 8 * count <= MOST_PARAMETERS):
            return INVALID_VALUE
        values = [ctypes.c_uint64.from_address(places[k]).value for k in range(count)]

        def work() -> None:
            self.launched.append(name)
            pointers = [self.place(p) if p else 0 for p in values[: source.pointers]]
            kernel.run(min(blocks, 8), min(threads, 64), pointers, values[source.pointers :])

        return self._queued(stream, work)

    # --- graphs -----------------------------------------------------------------------------------

    def _cuThreadExchangeStreamCaptureMode(self, place: Any) -> None:
        before, self._thread.mode = self._thread.mode, place._obj.value
        _put(place, before)

    def _cuStreamBeginCapture_v2(self, stream: Any, mode: int) -> int:
        if not stream or stream in self.captures:
            return CAPTURING
        if not self._here(stream, "stream"):
            return INVALID_HANDLE
        self.captures[stream] = []
        return 0

    def _cuStreamEndCapture(self, stream: Any, place: Any) -> int:
        works = self.captures.get(stream)
        if works is None:
            return 901
        self.captures = {s: w for s, w in self.captures.items() if w is not works}
        if id(works) in self.spoilt:
            self.spoilt.discard(id(works))
            return SPOILT
        _put(place, self._new("graph", works))
        return 0

    def _cuGraphGetNodes(self, graph: int, nodes: Any, count: Any) -> None:
        _put(count, len(self.live[graph][1]))

    def _cuGraphInstantiateWithFlags(self, place: Any, graph: int, flags: int) -> None:
        _put(place, self._new("executable graph", list(self.live[graph][1])))

    def _cuGraphLaunch(self, graph: int, stream: Any) -> int:
        if not self._is(graph, "executable graph"):
            return INVALID_HANDLE
        works = self.live[graph][1]
        return self._queued(stream, lambda: [work() for work in works] and None)

    def _cuGraphExecDestroy(self, graph: int) -> int:
        return 0 if self.live.pop(graph, ("",))[0] == "executable graph" else INVALID_HANDLE

    def _cuGraphDestroy(self, graph: int) -> int:
        return 0 if self.live.pop(graph, ("",))[0] == "graph" else INVALID_HANDLE


def _nothing(*_: Any) -> bool:
    return False


def _typed(types: Any, body: Callable[..., int], *args: Any) -> int:
    taken(types, args)
    return body(*args)


class FakeBlas:
    """cuBLASLt over a FakeDriver's memory: products by NumPy. `calls` counts; `products` has their sizes."""

    _TYPES = {0: "f4", 1: "f8", 2: "f2", 4: "c8", 5: "c16", 14: "bfloat16"}

    def __init__(self, driver: FakeDriver) -> None:
        self.driver, self.calls = driver, Counter[str]()
        self.products: list[tuple[int, int, int, int]] = []
        # Which products it has no algorithm for: a function of the description and of the least alignment.
        self.refuses: Callable[[dict[int, Any], int], bool] = _nothing
        self.things: dict[int, dict[int, Any]] = {}
        self._handles = itertools.count(1 << 20)

        for name, types in blas._FUNCTIONS.items():  # arguments go through ctypes
            body = getattr(self, name, None)
            if body is not None:
                setattr(self, name, partial(_typed, types, body))

    def _new(self, place: Any, **what: Any) -> int:
        handle = next(self._handles)
        self.things[handle] = dict(what)
        _put(place, handle)
        return 0

    def cublasLtCreate(self, place: Any) -> int:
        return 1 if self.driver.unsafe() else self._new(place)

    def cublasLtMatmulDescCreate(self, place: Any, compute: int, scale: int) -> int:
        return self._new(place, compute=compute, scale=scale)

    def cublasLtMatrixLayoutCreate(self, place: Any, kind: int, rows: int, columns: int, ld: int) -> int:
        if ld < rows:
            return 7
        return self._new(place, kind=kind, rows=rows, columns=columns, ld=ld)

    def cublasLtMatmulPreferenceCreate(self, place: Any) -> int:
        return self._new(place)

    def _set(self, handle: int, attribute: int, value: Any, size: int) -> int:
        self.things[handle][attribute] = value._obj.value
        return 0 if ctypes.sizeof(value._obj) == size else 7

    cublasLtMatmulDescSetAttribute = cublasLtMatrixLayoutSetAttribute = _set

    def cublasLtMatmulPreferenceSetAttribute(self, handle: int, attribute: int, value: Any, size: int) -> int:
        return self._set(handle, attribute, value, size) if attribute in (0, 1, 2, 5, 6, 7, 8) else 7

    def cublasLtMatmulPreferenceDestroy(self, handle: int) -> int:
        return 0 if self.things.pop(handle, None) is not None else 7

    def cublasLtMatmulAlgoGetHeuristic(
        self, handle: int, desc: int, a: int, b: int, c: int, d: int, search: int, most: int, found: Any, count: Any
    ) -> int:  # fmt: skip
        how, given = self.things[desc], self.things[search]
        alignments = how["aligned"] = [given.get(k, 256) for k in (5, 6, 7, 8)]
        how["most"] = given.get(1, 0)
        if self.things[d]["kind"] in (4, 5) and how.get(7, 1) != 1:
            return 15  # complex numbers have no epilogues
        _put(count, int(not self.refuses(how, min(alignments))))
        return 0

    def _matrix(self, address: int, layout: int) -> Any:
        """A batch of matrices, which lie column by column."""
        what = self.things[layout]
        name = self._TYPES[what["kind"]]
        of = np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)
        batches, step = what.get(5, 1), what.get(6, 0)
        rows, columns, ld = what["rows"], what["columns"], what["ld"]
        span = (batches - 1) * step + (columns - 1) * ld + rows
        place = self.driver.place(address, span * of.itemsize)
        room = np.frombuffer((ctypes.c_uint8 * (span * of.itemsize)).from_address(place), of)
        shape, steps = (batches, rows, columns), (step, 1, ld)
        return np.lib.stride_tricks.as_strided(room, shape, [s * of.itemsize for s in steps])

    def cublasLtMatmul(self, handle: int, desc: int, alpha: Any, a: int, la: int, b: int, lb: int, beta: Any,
                       c: int, lc: int, d: int, ld: int, algorithm: Any, room: int, size: int, stream: Any) -> int:  # fmt: skip
        self.calls["cublasLtMatmul"] += 1
        how = self.things[desc]
        bias = how.get(8) if how.get(7) == 4 else None
        if any(at % size for at, size in zip((a, b, c, d), how["aligned"], strict=True)) or room % 256:
            return 7
        if size > how["most"] or (how.get(7) == 4 and not bias):
            return 7
        self.driver.place(room, size)

        def work() -> None:
            one, two, out = self._matrix(a, la), self._matrix(b, lb), self._matrix(d, ld)
            one = one.swapaxes(1, 2) if how.get(3) else one
            two = two.swapaxes(1, 2) if how.get(4) else two
            self.products.append((len(out), out.shape[2], out.shape[1], one.shape[2]))
            wide = np.float32 if out.dtype.itemsize == 2 else out.dtype
            found = np.matmul(one.astype(wide), two.astype(wide))
            if bias:
                place = self.driver.place(bias, out.shape[1] * out.itemsize)
                kept = (ctypes.c_uint8 * (out.shape[1] * out.itemsize)).from_address(place)
                found = found + np.frombuffer(kept, out.dtype).astype(wide)[None, :, None]
            out[...] = found.astype(out.dtype)

        return self.driver._queued(stream, work)


class _Illegal(Exception):
    """An address that is nobody's."""


_FILE = "<rushlight's imitation of a driver>"


def _renamed(code: CodeType) -> CodeType:
    """Code that is the package's to who looks at what a program does (trace/effects/purity.py), as libcuda's is none
    of Python's.
    """
    inner = tuple(_renamed(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=_FILE, co_consts=inner)


for _cls in (FakeDriver, FakeBlas):
    for _function in vars(_cls).values():
        if hasattr(_function, "__code__"):
            _function.__code__ = _renamed(_function.__code__)
for _function in (_put, taken, _typed, _nothing):
    _function.__code__ = _renamed(_function.__code__)


def install(driver: Any) -> None:
    """Let the process's libcuda be this one; None: the real one again."""
    Library.stand_in, Library.made = driver, None
    Override.library = None if driver is None else FakeBlas(driver)
    dnn.Override.off = driver is not None  # one that is installed cannot work on this memory
