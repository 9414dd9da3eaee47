"""Moving and reducing arrays between the ranks of a group: by MPI, or alone.

A wire's methods begin an operation on contiguous NumPy arrays and return what `Test()` answers True of when
it is over; until then nobody may touch the arrays. Data that is only moved goes as bytes, so any dtype does.
`MPIWire` is one communicator of MPICH through mpi4py; `SoloWire` is a world of one rank and needs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from rushlight.distributed.hub.messages import Connection

INSTALL = (
    "torch.distributed with more than one rank needs MPICH and mpi4py: pip install 'rushlight[dist]' "
    "(mpi4py>=4.1.1,<5 and mpich>=5.0.2,<6)"
)
ANYBODY = -1  # a sender that is not known beforehand
Array = np.ndarray[Any, Any]


class Request(Protocol):
    """An operation under way."""

    def Test(self, status: Any = None) -> bool:
        """Whether it is over; also moves it on."""


class _Communicator(Protocol):
    """What the wire asks of mpi4py's MPI.Comm; a buffer is [array, count, kind] or [array, kind]."""

    def Get_rank(self) -> int: ...
    def Get_size(self) -> int: ...
    def Get_attr(self, keyval: int) -> Any: ...
    def Get_group(self) -> Any: ...
    def Create_group(self, group: Any, tag: int) -> _Communicator: ...
    def Set_errhandler(self, errhandler: Any) -> None: ...
    def bcast(self, obj: Any, root: int = 0) -> Any: ...
    def Iprobe(self) -> bool: ...
    def Ibarrier(self) -> Request: ...
    def Ibcast(self, buf: Any, root: int) -> Request: ...
    def Iallreduce(self, sendbuf: Any, recvbuf: Any, op: Any) -> Request: ...
    def Ireduce(self, sendbuf: Any, recvbuf: Any, op: Any, root: int) -> Request: ...
    def Iallgather(self, sendbuf: Any, recvbuf: Any) -> Request: ...
    def Igather(self, sendbuf: Any, recvbuf: Any, root: int) -> Request: ...
    def Iscatter(self, sendbuf: Any, recvbuf: Any, root: int) -> Request: ...
    def Ireduce_scatter(self, sendbuf: Any, recvbuf: Any, recvcounts: list[int], op: Any) -> Request: ...
    def Isend(self, buf: Any, dest: int, tag: int) -> Request: ...
    def Irecv(self, buf: Any, source: int, tag: int) -> Request: ...


class Done:
    """An operation that is over."""

    def Test(self, status: Any = None) -> bool:
        """True."""
        return True


class Found:
    """A request to receive from anybody; `source` is who it was."""

    def __init__(self, request: Request, status: Any) -> None:
        self._request, self._status = request, status
        self.source = ANYBODY

    def Test(self, status: Any = None) -> bool:
        """Whether something has come."""
        if not self._request.Test(self._status):
            return False
        self.source = self._status.Get_source()
        return True


class Several:
    """Requests that are over together."""

    def __init__(self, testall: Callable[[list[Request]], bool], requests: list[Request]) -> None:
        self._testall, self._requests = testall, requests

    def Test(self, status: Any = None) -> bool:
        """Whether all are over."""
        return self._testall(self._requests)


class SoloWire:
    """The wire of a group of one: what is sent arrives at once. The operations of any wire:

    allreduce(data, op), reduce(data, op, root): `data` becomes the reduction, on all ranks or on the root
    broadcast(data, root): `data` becomes the root's
    allgather(source, into), gather(source, into, root): `into` becomes all ranks' `source`, one by one
    scatter(source, into, root): `into` becomes this rank's part of the root's `source`
    reduce_scatter(source, into, counts, op): ... of the reduction of `source`; counts of each part's elements
    alltoall(source, into, sent, received): part r of `source` goes to rank r, its own to part r of `into`
    barrier(): over when all ranks have come
    send(data, to, tag), receive(data, source, tag): between two ranks; the source may be ANYBODY
    """

    size, rank = 1, 0

    @property
    def terms(self) -> int:
        """How many ranks a reduction is of."""
        return self.size

    adopted = False  # whether mpiexec has started it, which takes an end without finalize() for a failure

    def _nothing(self, *arguments: Any) -> Request:
        return Done()

    def _copy(self, source: Array, into: Array, *arguments: Any) -> Request:
        into.reshape(-1).view(np.uint8)[:] = source.reshape(-1).view(np.uint8)
        return Done()

    allreduce = reduce = broadcast = barrier = send = receive = _nothing
    allgather = gather = scatter = reduce_scatter = alltoall = _copy

    def poll(self) -> None:
        """Move on what others still read from here."""

    def finalize(self) -> None:
        """End MPI, when all ranks have come to their end."""

    def part(self, ranks: Sequence[int], tag: int) -> SoloWire:
        """The wire of some of the ranks, of which this is one."""
        return SoloWire()


class FakeWire(SoloWire):
    """The wire of a group of which this is the only process: results have the right sizes, and this rank's
    own numbers. What there is to try a program's shapes and memory with.
    """

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    def allgather(self, source: Array, into: Array) -> Request:
        """This rank's `source`, as often as there are ranks."""
        into.reshape(self.size, -1).view(np.uint8)[:] = source.reshape(1, -1).view(np.uint8)
        return Done()

    def reduce_scatter(self, source: Array, into: Array, counts: Sequence[int], op: str) -> Request:
        """This rank's part of its own `source`."""
        begin = sum(counts[: self.rank])
        into.reshape(-1)[:] = source.reshape(-1)[begin : begin + counts[self.rank]]
        return Done()

    terms = 1
    gather = scatter = alltoall = SoloWire._nothing  # type: ignore[assignment]

    def part(self, ranks: Sequence[int], tag: int) -> FakeWire:
        """The wire of some of the ranks, of which this is one."""
        return FakeWire(list(ranks).index(self.rank), len(ranks))


class MPIWire(SoloWire):
    """The wire of an MPI communicator."""

    def __init__(self, communicator: _Communicator) -> None:
        from mpi4py import MPI

        self._mpi: Any = MPI
        self._comm = communicator
        self.rank, self.size = communicator.Get_rank(), communicator.Get_size()

    def _numbers(self, data: Array) -> list[Any]:
        kinds = {
            "f": "FLOAT DOUBLE",
            "i": "INT8_T INT16_T INT32_T INT64_T",
            "u": "UINT8_T UINT16_T UINT32_T",
            "c": "C_FLOAT_COMPLEX C_DOUBLE_COMPLEX",
        }[data.dtype.kind].split()
        smallest = {"f": 4, "c": 8}.get(data.dtype.kind, 1)
        name = kinds[(data.dtype.itemsize // smallest).bit_length() - 1]
        return [data, data.size, getattr(self._mpi, name)]

    def _bytes(self, data: Array | None) -> Any:
        return None if data is None else [data.reshape(-1).view(np.uint8), self._mpi.BYTE]

    def allreduce(self, data: Array, op: str) -> Request:
        """Combine `data` of all ranks, in place on each, by `op`, MPI's name ("SUM")."""
        return self._comm.Iallreduce(self._mpi.IN_PLACE, self._numbers(data), getattr(self._mpi, op))

    def reduce(self, data: Array, op: str, root: int) -> Request:
        """Combine `data` of all ranks by `op`, into `root`'s."""
        if self.rank == root:
            return self._comm.Ireduce(self._mpi.IN_PLACE, self._numbers(data), getattr(self._mpi, op), root)
        return self._comm.Ireduce(self._numbers(data), None, getattr(self._mpi, op), root)

    def broadcast(self, data: Array, root: int) -> Request:
        """Fill `data` of all ranks with `root`'s."""
        return self._comm.Ibcast(self._bytes(data), root)

    def allgather(self, source: Array, into: Array) -> Request:
        """All ranks' `source`, one after the other, into `into` of each."""
        return self._comm.Iallgather(self._bytes(source), self._bytes(into))

    def gather(self, source: Array, into: Array | None, root: int) -> Request:
        """All ranks' `source`, one after the other, into `into` of `root`."""
        return self._comm.Igather(self._bytes(source), self._bytes(into), root)

    def scatter(self, source: Array | None, into: Array, root: int) -> Request:
        """The parts of `root`'s `source`, one into each rank's `into`."""
        return self._comm.Iscatter(self._bytes(source), self._bytes(into), root)

    def reduce_scatter(self, source: Array, into: Array, counts: Sequence[int], op: str) -> Request:
        """Combine `source` of all ranks by `op`; `counts[rank]` elements of it into each rank's `into`."""
        return self._comm.Ireduce_scatter(
            self._numbers(source), self._numbers(into), list(counts), getattr(self._mpi, op)
        )

    def alltoall(self, source: Array, into: Array, sent: Sequence[int], received: Sequence[int]) -> Request:
        """`sent[i]` elements of `source` to each rank i, and `received[i]` from it into `into`."""
        # Ialltoallv moves one piece each time that it is tested; messages of its own between any two do not.
        parts = (
            np.split(source.reshape(-1), np.cumsum(sent)[:-1]),
            np.split(into.reshape(-1), np.cumsum(received)[:-1]),
        )
        tag = self._comm.Get_attr(self._mpi.TAG_UB)
        requests = []
        for step in range(1, self.size):
            giver, taker = (self.rank - step) % self.size, (self.rank + step) % self.size
            requests += [self.receive(parts[1][giver], giver, tag), self.send(parts[0][taker], taker, tag)]
        parts[1][self.rank][:] = parts[0][self.rank]
        return Several(self._mpi.Request.Testall, requests)

    def barrier(self) -> Request:
        """Done when all ranks have called it."""
        return self._comm.Ibarrier()

    def send(self, data: Array, to: int, tag: int) -> Request:
        """Send `data` to a rank of this wire under a tag."""
        return self._comm.Isend(self._bytes(data), to, tag)

    def receive(self, data: Array, source: int, tag: int) -> Request:
        """Fill `data` with what a rank (or ANYBODY) sends under a tag."""
        if source == ANYBODY:
            return Found(self._comm.Irecv(self._bytes(data), self._mpi.ANY_SOURCE, tag), self._mpi.Status())
        return self._comm.Irecv(self._bytes(data), source, tag)

    def poll(self) -> None:
        """Let MPI move what is under way."""
        self._comm.Iprobe()

    def finalize(self) -> None:
        """End MPI in this process."""
        self._mpi.Finalize()

    def told_by_first(self, value: Any) -> Any:
        """Rank 0's value, on all ranks."""
        return self._comm.bcast(value)

    def part(self, ranks: Sequence[int], tag: int) -> MPIWire:
        """A wire of some ranks, which all of them ask for with the same tag."""
        members = self._comm.Get_group().Incl(list(ranks))
        made = self._comm.Create_group(members, tag)
        made.Set_errhandler(self._mpi.ERRORS_RETURN)
        return MPIWire(made)


_world: list[MPIWire] = []  # MPI starts once in a process


def installed() -> bool:
    """Whether MPI's packages are there."""
    from importlib.util import find_spec

    return find_spec("mpi4py") is not None


def start_mpi(host: str, port: int, job: str, rank: int, size: int) -> MPIWire:
    """The wire of all ranks. The hub at host:port, where all of the job wait, is MPI's process manager.

    MPI lives as long as the process; asked again, it must be for the same world, else RuntimeError.
    """
    if _world:
        if (_world[0].rank, _world[0].size) != (rank, size):
            raise RuntimeError(
                f"MPI has been started in this process as rank {_world[0].rank} of "
                f"{_world[0].size}, and cannot be again as rank {rank} of {size}; "
                "use a new process, or new_group() within the world"
            )
        return _world[0]
    line = Connection(host, port)
    line.call("pmi", job, rank)
    # A bare descriptor: a Python socket would be closed before MPI is done with it.
    settings = {"PMI_FD": str(os.dup(line.socket.fileno())), "PMI_RANK": str(rank), "PMI_SIZE": str(size)}
    line.socket.close()
    # UCX may crash when its neighbour dies, libfabric says so.
    os.environ.setdefault("MPIR_CVAR_CH4_NETMOD", "ofi")
    os.environ.update(settings)
    try:
        _world.append(_initialize())
    finally:
        for name in settings:  # children of this process are no ranks
            del os.environ[name]
    if (_world[0].rank, _world[0].size) != (rank, size):
        raise RuntimeError(
            f"MPI has started as rank {_world[0].rank} of {_world[0].size}, not as {rank} of "
            f"{size}: it did not take this job's process manager; is it MPICH?"
        )
    return _world[0]


def adopt_mpi() -> MPIWire:
    """The wire of the ranks that `mpiexec` or `srun --mpi=pmi2` has started."""
    if not _world:
        os.environ.setdefault("MPIR_CVAR_CH4_NETMOD", "ofi")
        _world.append(_initialize())
        _world[0].adopted = True
    return _world[0]


def _initialize() -> MPIWire:
    import mpi4py

    mpi4py.rc.initialize = mpi4py.rc.finalize = False  # its end would wait for ranks that may have failed
    from mpi4py import MPI

    MPI.Init_thread(MPI.THREAD_MULTIPLE)
    MPI.COMM_WORLD.Set_errhandler(MPI.ERRORS_RETURN)
    MPI.COMM_WORLD.Barrier()
    _forget_shared_files()
    return MPIWire(MPI.COMM_WORLD)


def _forget_shared_files() -> None:
    """Remove the names of MPI's shared memory, which all ranks have mapped: nothing stays behind."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            names = {line.split()[-1] for line in maps if "/dev/shm/mpich_shm_" in line}
    except OSError:
        return
    for name in names:
        with suppress(OSError):
            os.unlink(name)
