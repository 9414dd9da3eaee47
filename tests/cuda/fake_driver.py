"""An imitation of libcuda: its functions as Python's, over the simulator's memory and kernels.

It counts calls, checks handles and their order, knows what was not given back, and answers errors that a test
plants. Work is done when it is queued, but what is captured into a graph waits for the graph's launches.
"""

from __future__ import annotations

import ctypes
import itertools
import time
from collections import Counter
from collections.abc import Callable
from types import CodeType
from typing import Any

import ml_dtypes
import numpy as np

from rushlight._engine.devices.cuda.allocator import DriverOutOfMemory
from rushlight._engine.devices.cuda.driver.blas import Override
from rushlight._engine.devices.cuda.driver.library import ATTRIBUTES, Library
from rushlight._engine.devices.cuda.driver.modules import ENTRIES
from rushlight._engine.devices.cuda.kernels import simulator
from rushlight._engine.devices.cuda.memory import Memory

Work = Callable[[], None]
INVALID_VALUE, INVALID_CONTEXT, INVALID_HANDLE, CAPTURING = 1, 201, 400, 900
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
        self.context = 0
        self._handles = itertools.count(0x1000, 16)
        self.captures: dict[int, list[Work]] = {}  # stream -> what is captured

    def __getattr__(self, name: str) -> Callable[..., int]:
        """A function of the driver, counted."""
        if not name.startswith("cu"):
            raise AttributeError(name)
        body = getattr(type(self), "_" + name, None)
        if body is None:
            raise AttributeError(name)

        def call(*args: Any) -> int:
            self.calls[name] += 1
            self.log.append(name)
            waiting = self.planted.get(name)
            if waiting:
                code = waiting.pop(0)
                self.sticky = code if 700 <= code < 720 else self.sticky
                return code
            if self.sticky and name not in ("cuGetErrorString", "cuGetErrorName"):
                return self.sticky
            return body(self, *args) or 0

        self.__dict__[name] = call
        return call

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

    def _cuDeviceGetName(self, room: Any, size: int, index: int) -> None:
        room.value = b"Fake H100"

    def _cuDeviceTotalMem_v2(self, place: Any, index: int) -> None:
        _put(place, self.memories[index].total)

    def _cuDeviceGetAttribute(self, place: Any, number: int, index: int) -> int:
        name = next(n for n, k in ATTRIBUTES.items() if k == number)
        _put(place, _PROPERTIES.get(name, 0))
        return 0 if index < len(self.memories) else 101

    def _cuDeviceGetUuid_v2(self, room: Any, index: int) -> None:
        room[:] = range(index, index + 16)

    def _cuDeviceCanAccessPeer(self, place: Any, one: int, two: int) -> None:
        _put(place, one != two)

    def _cuDevicePrimaryCtxRetain(self, place: Any, index: int) -> None:
        _put(place, 1 + index)

    def _cuCtxSetCurrent(self, context: int) -> int:
        self.context = context
        return 0 if 1 <= context <= len(self.memories) else 201

    def _cuCtxSynchronize(self) -> int:
        return self._waiting()

    def _waiting(self, stream: int | None = None) -> int:
        if not self.context:
            return INVALID_CONTEXT
        return CAPTURING if self.captures and (stream is None or stream in self.captures) else 0

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
        self.live[address] = "memory", size
        _put(place, address)
        return 0

    def _cuMemFree_v2(self, address: int) -> int:
        if not self._is(address, "memory"):
            return INVALID_VALUE
        _, size = self.live.pop(address)
        for memory in self.memories:
            if 0 <= address - memory.base < memory.window.size:
                memory.release(address, size)
        return 0

    def _cuMemHostAlloc(self, place: Any, size: int, flags: int) -> None:
        room = ctypes.create_string_buffer(size + 64)
        address = -(-ctypes.addressof(room) // 64) * 64
        self.live[address] = "host memory", room
        _put(place, address)

    def _cuMemFreeHost(self, address: int) -> int:
        return 0 if self.live.pop(address, None) else INVALID_VALUE

    def _cuMemHostRegister_v2(self, address: int, size: int, flags: int) -> None:
        self.live[address] = "registered memory", size

    def _cuMemHostUnregister(self, address: int) -> int:
        return 0 if self.live.pop(address, None) else INVALID_VALUE

    def _copied(self, target: int, source: int, size: int, stream: Any) -> int:
        def work() -> None:
            ctypes.memmove(self.place(target, size), self.place(source, size), size)

        return self._queued(stream, work)

    def _cuMemcpyHtoDAsync_v2(self, target: int, source: int, size: int, stream: Any) -> int:
        return self._copied(target, source, size, stream)

    def _cuMemcpyDtoHAsync_v2(self, target: Any, source: int, size: int, stream: Any) -> int:
        return self._copied(target, source, size, stream)

    def _cuMemcpyDtoDAsync_v2(self, target: int, source: int, size: int, stream: Any) -> int:
        return self._copied(target, source, size, stream)

    def _cuMemcpyPeerAsync(self, target: int, one: int, source: int, two: int, size: int, stream: Any) -> int:
        return self._copied(target, source, size, stream)

    def _cuMemsetD8Async(self, target: int, value: int, size: int, stream: Any) -> int:
        return self._queued(stream, lambda: ctypes.memset(self.place(target, size), value, size) and None)

    # --- streams, events --------------------------------------------------------------------------

    def _queued(self, stream: Any, work: Work) -> int:
        stream = stream or 0
        if stream and not self._is(stream, "stream"):
            return INVALID_HANDLE
        if not self.context:
            return INVALID_CONTEXT
        if stream in self.captures:
            self.captures[stream].append(work)
            return 0
        if self.captures and not stream:
            return 906  # the default stream would wait for the captured one
        try:
            work()
        except _Illegal:
            return 0  # the next call tells
        return 0

    def _cuStreamCreateWithPriority(self, place: Any, flags: int, priority: int) -> None:
        _put(place, self._new("stream"))

    def _cuStreamDestroy_v2(self, stream: int) -> int:
        return 0 if self.live.pop(stream, ("",))[0] == "stream" else INVALID_HANDLE

    def _cuStreamSynchronize(self, stream: Any) -> int:
        return self._waiting(stream or 0)

    def _cuStreamQuery(self, stream: Any) -> int:
        return 0

    def _cuStreamWaitEvent(self, stream: Any, event: int, flags: int) -> int:
        if not self._is(event, "event"):
            return INVALID_HANDLE
        source = self.live[event][1].get("captured")
        if source is not None:  # the stream joins the capture
            self.captures[stream or 0] = self.captures[source]
        return 0

    def _cuEventCreate(self, place: Any, flags: int) -> None:
        _put(place, self._new("event", {}))

    def _cuEventRecord(self, event: int, stream: Any) -> int:
        if not self._is(event, "event"):
            return INVALID_HANDLE
        what = self.live[event][1]
        what.update(
            time=time.perf_counter(), captured=(stream or 0) if (stream or 0) in self.captures else None
        )
        return 0

    def _cuEventQuery(self, event: int) -> int:
        return 0 if self._is(event, "event") else INVALID_HANDLE

    _cuEventSynchronize = _cuEventQuery

    def _cuEventElapsedTime(self, place: Any, start: int, end: int) -> int:
        one, two = (self.live[e][1].get("time") for e in (start, end))
        if one is None or two is None:
            return INVALID_HANDLE
        _put(place, (two - one) * 1000)
        return 0

    def _cuEventDestroy_v2(self, event: int) -> int:
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
        _put(place, self._new("function", (name.decode(), source, simulator.compiled(source))))
        return 0

    def _cuLaunchKernel(self, function: int, *given: Any) -> int:
        blocks, _, _, threads, _, _, _, stream, places, _ = given
        if not self._is(function, "function") or not 1 <= threads <= 1024 or blocks < 1:
            return INVALID_VALUE
        name, source, kernel = self.live[function][1]
        count = source.pointers + source.numbers
        values = [ctypes.c_uint64.from_address(places[k]).value for k in range(count)]

        def work() -> None:
            self.launched.append(name)
            pointers = [self.place(p) if p else 0 for p in values[: source.pointers]]
            kernel.run(min(blocks, 8), min(threads, 64), pointers, values[source.pointers :])

        return self._queued(stream, work)

    # --- graphs -----------------------------------------------------------------------------------

    def _cuThreadExchangeStreamCaptureMode(self, place: Any) -> None:
        _put(place, 2 - place._obj.value)

    def _cuStreamBeginCapture_v2(self, stream: Any, mode: int) -> int:
        if not stream or stream in self.captures:
            return CAPTURING
        self.captures[stream] = []
        return 0

    def _cuStreamEndCapture(self, stream: Any, place: Any) -> int:
        works = self.captures.get(stream)
        if works is None:
            return 901
        self.captures = {s: w for s, w in self.captures.items() if w is not works}
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


class FakeBlas:
    """cuBLASLt over a FakeDriver's memory: products by NumPy. `calls` counts; `products` has their sizes."""

    _TYPES = {0: "f4", 1: "f8", 2: "f2", 4: "c8", 5: "c16", 14: "bfloat16"}

    def __init__(self, driver: FakeDriver) -> None:
        self.driver, self.calls = driver, Counter[str]()
        self.products: list[tuple[int, int, int, int]] = []
        self.things: dict[int, dict[int, Any]] = {}
        self._handles = itertools.count(1 << 20)

    def _new(self, place: Any, **what: Any) -> int:
        handle = next(self._handles)
        self.things[handle] = dict(what)
        _put(place, handle)
        return 0

    def cublasLtCreate(self, place: Any) -> int:
        return self._new(place)

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

    def cublasLtMatmulAlgoGetHeuristic(self, *args: Any) -> int:
        _put(args[-1], 1)
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
    """Code that is the package's to who looks at what a program does (trace/purity.py), as libcuda's is none
    of Python's.
    """
    inner = tuple(_renamed(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=_FILE, co_consts=inner)


for _cls in (FakeDriver, FakeBlas):
    for _function in vars(_cls).values():
        if hasattr(_function, "__code__"):
            _function.__code__ = _renamed(_function.__code__)
_put.__code__ = _renamed(_put.__code__)


def install(driver: Any) -> None:
    """Let the process's libcuda be this one; None: the real one again."""
    Library.stand_in, Library.made = driver, None
    Override.library = None if driver is None else FakeBlas(driver)
