"""NCCL by ctypes: communicators of devices, and their operations on streams.

A `Communicator` is one device's part of a group of ranks. Its operations are queued on a stream, and nobody
waits for them here; all ranks queue the same ones in the same order. Calls between `grouped()`'s begin and
end are one operation.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.devices.cuda.driver import nvidia_libraries

_INT, _PTR, _SIZE, _TEXT = ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
_VERSIONS = ("2",)


class UniqueId(ctypes.Structure):
    """What the ranks of a communicator find each other by."""

    _fields_ = [("internal", ctypes.c_char * 128)]


FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "ncclGetVersion": (_PTR,),
    "ncclGetUniqueId": (_PTR,),
    "ncclCommInitRank": (_PTR, _INT, UniqueId, _INT),
    "ncclCommDestroy": (_PTR,),
    "ncclCommAbort": (_PTR,),
    "ncclCommGetAsyncError": (_PTR, _PTR),
    "ncclAllReduce": (_PTR, _PTR, _SIZE, _INT, _INT, _PTR, _PTR),
    "ncclBroadcast": (_PTR, _PTR, _SIZE, _INT, _INT, _PTR, _PTR),
    "ncclReduce": (_PTR, _PTR, _SIZE, _INT, _INT, _INT, _PTR, _PTR),
    "ncclAllGather": (_PTR, _PTR, _SIZE, _INT, _PTR, _PTR),
    "ncclReduceScatter": (_PTR, _PTR, _SIZE, _INT, _INT, _PTR, _PTR),
    "ncclSend": (_PTR, _SIZE, _INT, _INT, _PTR, _PTR),
    "ncclRecv": (_PTR, _SIZE, _INT, _INT, _PTR, _PTR),
    "ncclGroupStart": (),
    "ncclGroupEnd": (),
    "ncclRedOpCreatePreMulSum": (_PTR, _PTR, _INT, _INT, _PTR),
    "ncclRedOpDestroy": (_INT, _PTR),
}
# What came with NCCL 2.18, and is looked up when it is asked for.
NEWER: dict[str, tuple[Any, ...]] = {"ncclCommSplit": (_PTR, _INT, _INT, _PTR, _PTR)}
# Functions that answer a text.
TEXTS: dict[str, tuple[Any, ...]] = {"ncclGetErrorString": (_INT,), "ncclGetLastError": (_PTR,)}
# ncclDataType_t of NumPy's dtypes. float8 came with NCCL 2.24.
TYPES = {
    "int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5, "float16": 6, "float32": 7,
    "float64": 8, "bfloat16": 9, "float8_e4m3fn": 10, "float8_e5m2": 11,
}  # fmt: skip
FLOAT8_SINCE = 22400
# ncclRedOp_t.
SUM, PROD, MAX, MIN, AVG = range(5)
# ncclResult_t, and what PyTorch says of each.
UNHANDLED_CUDA_ERROR, IN_PROGRESS = 1, 7
RESULTS = {
    1: ("ncclUnhandledCudaError", "Call to CUDA function failed."),
    2: (
        "ncclSystemError",
        "System call (e.g. socket, malloc) or external library call failed or device error. ",
    ),
    3: ("ncclInternalError", "Internal check failed."),
    4: ("ncclInvalidArgument", "Invalid value for an argument."),
    5: ("ncclInvalidUsage", "This usually reflects invalid usage of NCCL library."),
    6: (
        "ncclRemoteError",
        "A call failed possibly due to a network error or a remote process exiting prematurely.",
    ),
}
# Of a scalar that an operation multiplies by: it is read while the operation is made.
HOST_SCALAR = 1
# A rank's colour that is in no part of a communicator that is split.
NO_COLOR = -1


class NcclError(RuntimeError):
    """What a function of NCCL answers: `code` is its number."""

    code = 0


class Override:
    """Which library is used, NCCL if None: tests put an imitation here."""

    library: Any = None


@cache
def _installed() -> tuple[Any, str]:
    library, reason = nvidia_libraries.loaded(nvidia_libraries.places("nccl", _VERSIONS), FUNCTIONS)
    if library is not None:
        for name, types in TEXTS.items():
            function = getattr(library, name)
            function.argtypes, function.restype = types, _TEXT
    return library, reason


def installed() -> bool:
    """Whether there is an NCCL."""
    return Override.library is not None or _installed()[0] is not None


def library() -> Any:
    """NCCL. RuntimeError where it is not installed."""
    found, reason = (Override.library, "") if Override.library is not None else _installed()
    if found is None:
        raise RuntimeError(
            "Distributed package doesn't have NCCL built in: NVIDIA's NCCL is not installed, pip install "
            f"'rushlight[nccl]' brings it ({reason})"
        )
    return found


def _function(name: str) -> Any:
    """A function of the library; NcclError where it is too old."""
    found = getattr(library(), name, None)
    if found is None:
        raise NcclError(f"NCCL {text_of(version())} has no {name}")
    if name in NEWER and isinstance(library(), ctypes.CDLL):
        found.argtypes, found.restype = NEWER[name], _INT
    return found


def version() -> int:
    """The library's version, 22304 for 2.23.4."""
    found = ctypes.c_int()
    library().ncclGetVersion(ctypes.byref(found))
    return found.value


def text_of(number: int) -> str:
    """A version as it is written: "2.23.4"."""
    step = 10000 if number >= 10000 else 1000
    return f"{number // step}.{number % step // 100}.{number % 100}"


def error_of(name: str, code: int) -> NcclError:
    """The error for what a function answers, in PyTorch's words."""
    told = library().ncclGetErrorString(code).decode()
    last = library().ncclGetLastError(None).decode()
    result, meaning = RESULTS.get(code, ("", "Unknown NCCL error!"))
    error = NcclError(
        f"NCCL error in: {name}, {told}, NCCL version {text_of(version())}\n"
        f"{f'{result}: ' if result else ''}{meaning}\nLast error:\n{last}"
    )
    error.code = code
    return error


def call(name: str, *args: Any) -> None:
    """Call a function; what it answers but success is raised. NcclError."""
    code = _function(name)(*args)
    if code not in (0, IN_PROGRESS):
        raise error_of(name, code)


def unique_id() -> bytes:
    """What the ranks of a new communicator find each other by, made by one of them."""
    made = UniqueId()
    call("ncclGetUniqueId", ctypes.byref(made))
    return bytes(made)


@contextmanager
def grouped() -> Iterator[None]:
    """A `with` block whose operations are queued together, as one."""
    call("ncclGroupStart")
    try:
        yield
    except BaseException:  # which is raised, whatever the group's end answers
        _function("ncclGroupEnd")()
        raise
    call("ncclGroupEnd")


class Communicator:
    """A device's part of a group of ranks, which all make it with one unique id. NcclError."""

    def __init__(self, device: Any, handle: int, rank: int, size: int) -> None:
        self.device, self.handle, self.rank, self.size = device, handle, rank, size
        self.over = self.due = False
        self.graphs = 0  # that have operations of it
        self._lock = threading.Lock()

    @classmethod
    def joined(cls, device: Any, unique: bytes, rank: int, size: int) -> Communicator:
        """The one of an id; it waits for all ranks."""
        made = _PTR()
        with device.visited(), device.uncaptured():
            call("ncclCommInitRank", ctypes.byref(made), size, UniqueId.from_buffer_copy(unique), rank)
        return cls(device, made.value or 0, rank, size)

    def split(self, color: int, rank: int, size: int) -> Communicator | None:
        """The part of those ranks that give the same colour, in the order of `rank`; None for NO_COLOR. All
        ranks call it.
        """
        made = _PTR()
        with self.device.visited(), self.device.uncaptured():
            call("ncclCommSplit", self.handle, color, rank, ctypes.byref(made), None)
        return None if color == NO_COLOR else Communicator(self.device, made.value or 0, rank, size)

    def failure(self) -> NcclError | None:
        """What has gone wrong since, on a network or another rank."""
        found = ctypes.c_int()
        with self._lock:
            if self.over:
                return None
            call("ncclCommGetAsyncError", self.handle, ctypes.byref(found))
        return error_of("ncclCommGetAsyncError", found.value) if found.value not in (0, IN_PROGRESS) else None

    def held(self) -> None:
        """A graph has operations of it: until `released`, NCCL would wait for the graph's end."""
        self.graphs += 1

    def released(self) -> None:
        """A graph with operations of it is gone; what was to be closed is closed when all are."""
        self.graphs -= 1
        if self.due and not self.graphs:
            self.close()

    def close(self, name: str = "ncclCommDestroy") -> None:
        """End it, when its operations are done, and no graph has it any more."""
        if self.graphs and name == "ncclCommDestroy":
            self.due = True
            return
        with self._lock:
            over, self.over = self.over, True
        if not over:  # without the lock: it may wait for other ranks, and nobody is to wait for it
            with self.device.visited(), self.device.uncaptured(True):
                call(name, self.handle)

    def abort(self) -> None:
        """End it now: operations that wait for other ranks give up."""
        self.close("ncclCommAbort")

    # --- operations on arrays of the device, whose elements lie without gaps ----------------------------

    def all_reduce(self, source: Any, into: Any, op: int, queue: Any) -> None:
        """`into` becomes the reduction of all ranks' `source`."""
        self._queued("AllReduce", source.address, into.address, source.size, kind(source), op, queue)

    def reduce(self, source: Any, into: Any, op: int, root: int, queue: Any) -> None:
        """The root's `into` becomes the reduction of all ranks' `source`."""
        self._queued("Reduce", source.address, into.address, source.size, kind(source), op, root, queue)

    def broadcast(self, source: Any, into: Any, root: int, queue: Any) -> None:
        """`into` becomes the root's `source`."""
        self._queued("Broadcast", source.address, into.address, source.size, kind(source), root, queue)

    def all_gather(self, source: Any, into: Any, queue: Any) -> None:
        """`into` becomes all ranks' `source`, one after the other."""
        self._queued("AllGather", source.address, into.address, source.size, kind(source), queue)

    def reduce_scatter(self, source: Any, into: Any, op: int, queue: Any) -> None:
        """`into` becomes part `rank` of the reduction of all ranks' `source`."""
        self._queued("ReduceScatter", source.address, into.address, into.size, kind(source), op, queue)

    def send(self, source: Any, to: int, queue: Any) -> None:
        """Send to a rank."""
        self._queued("Send", source.address, source.size, kind(source), to, queue)

    def receive(self, into: Any, source: int, queue: Any) -> None:
        """Receive from a rank."""
        self._queued("Recv", into.address, into.size, kind(into), source, queue)

    def _queued(self, name: str, *args: Any) -> None:
        *given, queue = args
        if self.over:
            raise NcclError(f"NCCL communicator was aborted on rank {self.rank}.")
        call(f"nccl{name}", *given, self.handle, queue.handle)

    @contextmanager
    def scaled_sum(self, factor: float, of: Any) -> Iterator[int]:
        """An operation that sums what each rank has multiplied by a factor; of: NumPy's dtype of arrays."""
        made, scalar = ctypes.c_int(), np.array([factor], of)
        call(
            *("ncclRedOpCreatePreMulSum", ctypes.byref(made), scalar.ctypes.data, TYPES[of.name]),
            *(HOST_SCALAR, self.handle),
        )
        try:
            yield made.value
        finally:
            call("ncclRedOpDestroy", made.value, self.handle)


def kind(array: Any) -> int:
    """NCCL's number of an array's dtype."""
    return TYPES[array.dtype.name]
