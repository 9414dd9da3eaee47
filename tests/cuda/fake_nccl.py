"""An imitation of NCCL over a FakeDriver's memory, among processes: a store of the first rank's carries the bytes.

Written from NVIDIA's header and manual: arguments go through ctypes, operations between ncclGroupStart and
ncclGroupEnd are one, all ranks must queue the same ones, and reductions go in the order of the ranks.
"""

from __future__ import annotations

import ctypes
import itertools
import pickle
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from rushlight._engine.devices.cuda.driver import nccl
from rushlight.distributed.stores import TCPStore
from tests.cuda.fake_driver import FakeDriver, taken

UNHANDLED_CUDA_ERROR, INVALID_ARGUMENT, INVALID_USAGE = 1, 4, 5
_NAMES = {number: name for name, number in nccl.TYPES.items()}
_SUMS: dict[int, Callable[[Any, Any], Any]] = {
    nccl.SUM: np.add,
    nccl.AVG: np.add,
    nccl.PROD: np.multiply,
    nccl.MAX: np.maximum,
    nccl.MIN: np.minimum,
}


def dtype_of(kind: int) -> Any:
    """NumPy's dtype of ncclDataType_t."""
    name = _NAMES[kind]
    return np.dtype(getattr(ml_dtypes, name) if name.startswith(("bfloat", "float8")) else name)


def _noted(hears: list[Callable[[], None]], tell: Callable[[], Callable[[], None]]) -> None:
    hears.append(tell())


class _Gone(Exception):
    """The communicator was aborted."""


class _Communicator:
    """What a handle stands for. `sent`: how often each key was used."""

    def __init__(self, store: TCPStore, name: str, rank: int, size: int, context: int) -> None:
        self.store, self.name, self.rank, self.size, self.context = store, name, rank, size, context
        self.sent: Counter[str] = Counter()
        self.factors: dict[int, float] = {}
        self.aborted = False

    def key(self, what: str, of: str = "") -> str:
        """The next key of a kind of operation; of: whose count it is, where this rank is at both ends."""
        self.sent[what + of] += 1
        return f"{self.name}/{what}/{self.sent[what + of]}"

    def put(self, key: str, value: Any) -> None:
        """Tell the others."""
        self.store.set(key, pickle.dumps(value))

    def get(self, key: str) -> Any:
        """What another told; _Gone where nobody waits any more."""
        while not self.store.check([key]):
            if self.aborted:
                raise _Gone
            time.sleep(0.002)
        return pickle.loads(self.store.get(key))

    def shared(self, what: str, value: Any) -> list[Any]:
        """What every rank told, this one `value`."""
        key = self.key(what)
        self.put(f"{key}/{self.rank}", value)
        return [self.get(f"{key}/{rank}") for rank in range(self.size)]


class _Thread(threading.local):
    """The group of calls that a thread is in."""

    depth = 0
    queue: list[tuple[_Communicator, int, Callable[[], Callable[[], None]]]] | None = None


class FakeNccl:
    """NCCL's functions. `calls` counts; `refuses`: what functions answer instead of success, and the last error.

    asynchronous: what ncclCommGetAsyncError tells. release: of which the version is.
    """

    def __init__(self, driver: FakeDriver, release: int = 22703) -> None:
        self.driver, self.release = driver, release
        self.calls, self.refuses = Counter[str](), dict[str, tuple[int, str]]()
        self.asynchronous = 0
        self.live: dict[int, _Communicator] = {}
        self._last = ""
        self._handles = itertools.count(1 << 28, 16)
        self._operators = itertools.count(5)
        self._stores: list[TCPStore] = []
        self._thread = _Thread()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        body = getattr(type(self), "_" + name, None)
        if body is None:
            raise AttributeError(name)
        types = {**nccl.FUNCTIONS, **nccl.NEWER, **nccl.TEXTS}[name]

        def call(*args: Any) -> Any:
            taken(types, args)
            self.calls[name] += 1
            if name in self.refuses:
                code, self._last = self.refuses[name]
                return code
            found = body(self, *args)
            return 0 if found is None else found

        return call

    def _ncclGetVersion(self, place: Any) -> None:
        place._obj.value = self.release

    def _ncclGetErrorString(self, code: int) -> bytes:
        return {4: b"invalid argument", 5: b"invalid usage", 6: b"remote error"}.get(
            code, b"unknown result code"
        )

    def _ncclGetLastError(self, communicator: Any) -> bytes:
        return self._last.encode()

    # --- communicators ------------------------------------------------------------------------------

    def _ncclGetUniqueId(self, place: Any) -> None:
        store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        self._stores.append(store)
        place._obj.internal = f"{store.port}".encode()

    def _new(self, place: Any, store: TCPStore, name: str, rank: int, size: int) -> None:
        handle = next(self._handles)
        self.live[handle] = _Communicator(store, name, rank, size, self.driver.context)
        place._obj.value = handle

    def _ncclCommInitRank(self, place: Any, size: int, unique: nccl.UniqueId, rank: int) -> int:
        if not self.driver.context or not 0 <= rank < size:
            return INVALID_ARGUMENT
        if self.driver.unsafe():
            return UNHANDLED_CUDA_ERROR
        port = int(unique.internal)
        own = next((s for s in self._stores if s.port == port), None)
        self._new(place, own or TCPStore("127.0.0.1", port), "all", rank, size)
        self.live[place._obj.value].shared("init", size)
        return 0

    def _ncclCommSplit(self, handle: int, color: int, key: int, place: Any, config: Any) -> int:
        whole = self.live[handle]
        if self.driver.unsafe():
            return UNHANDLED_CUDA_ERROR
        told = whole.shared("split", (color, key))
        if color == nccl.NO_COLOR:
            place._obj.value = None
            return 0
        part = sorted((k, rank) for rank, (c, k) in enumerate(told) if c == color)
        name = f"{whole.name}/{whole.sent['split']}/{color}"
        self._new(place, whole.store, name, [rank for _, rank in part].index(whole.rank), len(part))
        return 0

    def _ended(self, handle: int) -> int:
        found = self.live.pop(handle, None)
        if found is None or self.driver.context != found.context:
            return INVALID_ARGUMENT
        found.aborted = True
        return UNHANDLED_CUDA_ERROR if self.driver.unsafe() else 0

    _ncclCommDestroy = _ncclCommAbort = _ended

    def _ncclCommGetAsyncError(self, handle: int, place: Any) -> int:
        place._obj.value = self.asynchronous
        return 0 if handle in self.live else INVALID_ARGUMENT

    def _ncclRedOpCreatePreMulSum(self, place: Any, scalar: int, kind: int, where: int, handle: int) -> int:
        of = dtype_of(kind)
        place._obj.value = next(self._operators)
        held = (ctypes.c_uint8 * of.itemsize).from_address(scalar)
        self.live[handle].factors[place._obj.value] = float(np.frombuffer(held, of)[0])
        return 0 if where == nccl.HOST_SCALAR else INVALID_ARGUMENT

    def _ncclRedOpDestroy(self, op: int, handle: int) -> int:
        return 0 if op in self.live[handle].factors else INVALID_ARGUMENT

    # --- groups of calls ------------------------------------------------------------------------------

    def _ncclGroupStart(self) -> None:
        self._thread.depth += 1

    def _ncclGroupEnd(self) -> int:
        if not self._thread.depth:
            return INVALID_USAGE
        self._thread.depth -= 1
        return 0 if self._thread.depth else self._flush()

    def _flush(self) -> int:
        """Queue what was called: all that is told, then all that is heard."""
        waiting, self._thread.queue = self._thread.queue or [], None
        hears: list[Callable[[], None]] = []
        for communicator, stream, tell in waiting:
            if self.driver.context != communicator.context:
                return INVALID_USAGE
            if code := self.driver._queued(stream, partial(_noted, hears, tell)):
                return code

        def heard() -> None:
            for hear in hears:
                hear()
            hears.clear()

        for _, stream, _ in waiting[:1]:
            if code := self.driver._queued(stream, heard):
                return code
        return 0

    def _called(self, handle: int, stream: int, tell: Callable[[_Communicator], Callable[[], None]]) -> int:
        found = self.live.get(handle)
        if found is None:
            return INVALID_ARGUMENT

        def guarded() -> Callable[[], None]:
            hear = tell(found)

            def heard() -> None:
                with suppress(_Gone):
                    hear()

            return heard

        self._thread.queue = [*(self._thread.queue or []), (found, stream, guarded)]
        return 0 if self._thread.depth else self._flush()

    def _room(self, address: int, count: int, kind: int) -> Any:
        of = dtype_of(kind)
        if not count:
            return np.empty(0, of)
        place = self.driver.place(address, count * of.itemsize)
        return np.frombuffer((ctypes.c_uint8 * (count * of.itemsize)).from_address(place), of)

    # --- operations -----------------------------------------------------------------------------------

    def _all_tell(
        self,
        name: str,
        handle: int,
        stream: int,
        source: Callable[[], Any],
        say: Any,
        hear: Callable[[Any, int], None],
    ) -> int:
        """An operation of all ranks: each tells its source, `hear(all sources, rank)` writes the result."""

        def tell(made: _Communicator) -> Callable[[], None]:
            key = made.key("all")
            made.put(f"{key}/{made.rank}", ((name, say), source()))

            def heard() -> None:
                told = [made.get(f"{key}/{rank}") for rank in range(made.size)]
                assert all(what == (name, say) for what, _ in told), [what for what, _ in told]
                hear([array for _, array in told], made.rank)

            return heard

        return self._called(handle, stream, tell)

    def _reduced(self, arrays: list[Any], op: int) -> Any:
        of = arrays[0].dtype
        wide = np.float32 if of.itemsize < 4 and of.kind not in "iu" else of
        total = arrays[0].astype(wide)
        for array in arrays[1:]:
            total = _SUMS[min(op, nccl.SUM if op > nccl.AVG else op)](total, array.astype(wide))
        if op == nccl.AVG:
            total = total // len(arrays) if of.kind in "iu" else total / len(arrays)
        return total.astype(of)

    def _given(self, handle: int, source: int, count: int, kind: int, op: int) -> Callable[[], Any]:
        def read() -> Any:
            array = self._room(source, count, kind).copy()
            factor = self.live[handle].factors.get(op)
            return array if factor is None else (array.astype(np.float64) * factor).astype(array.dtype)

        return read

    def _ncclAllReduce(
        self, source: int, into: int, count: int, kind: int, op: int, handle: int, stream: int
    ) -> int:
        def hear(arrays: Any, rank: int) -> None:
            self._room(into, count, kind)[:] = self._reduced(arrays, op)

        given = self._given(handle, source, count, kind, op)
        return self._all_tell("AllReduce", handle, stream, given, (count, kind, min(op, 5)), hear)

    def _ncclReduce(
        self, source: int, into: int, count: int, kind: int, op: int, root: int, handle: int, stream: int
    ) -> int:
        def hear(arrays: Any, rank: int) -> None:
            if rank == root:
                self._room(into, count, kind)[:] = self._reduced(arrays, op)

        given = self._given(handle, source, count, kind, op)
        return self._all_tell("Reduce", handle, stream, given, (count, kind, min(op, 5), root), hear)

    def _ncclReduceScatter(
        self, source: int, into: int, count: int, kind: int, op: int, handle: int, stream: int
    ) -> int:
        def hear(arrays: Any, rank: int) -> None:
            self._room(into, count, kind)[:] = self._reduced(arrays, op)[rank * count :][:count]

        given = self._given(handle, source, count * self.live[handle].size, kind, op)
        return self._all_tell("ReduceScatter", handle, stream, given, (count, kind, min(op, 5)), hear)

    def _ncclBroadcast(
        self, source: int, into: int, count: int, kind: int, root: int, handle: int, stream: int
    ) -> int:
        def hear(arrays: Any, rank: int) -> None:
            self._room(into, count, kind)[:] = arrays[root]

        given = self._given(handle, source, count, kind, 0)
        return self._all_tell("Broadcast", handle, stream, given, (count, kind, root), hear)

    def _ncclAllGather(self, source: int, into: int, count: int, kind: int, handle: int, stream: int) -> int:
        def hear(arrays: Any, rank: int) -> None:
            self._room(into, count * len(arrays), kind)[:] = np.concatenate(arrays)

        given = self._given(handle, source, count, kind, 0)
        return self._all_tell("AllGather", handle, stream, given, (count, kind), hear)

    def _ncclSend(self, source: int, count: int, kind: int, peer: int, handle: int, stream: int) -> int:
        def tell(made: _Communicator) -> Callable[[], None]:
            made.put(made.key(f"{made.rank}>{peer}"), self._room(source, count, kind).copy())
            return lambda: None

        return self._called(handle, stream, tell)

    def _ncclRecv(self, into: int, count: int, kind: int, peer: int, handle: int, stream: int) -> int:
        def tell(made: _Communicator) -> Callable[[], None]:
            key = made.key(f"{peer}>{made.rank}", "heard")

            def hear() -> None:
                self._room(into, count, kind)[:] = made.get(key)

            return hear

        return self._called(handle, stream, tell)
