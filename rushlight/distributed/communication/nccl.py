"""A process group's operations on real CUDA devices, by NCCL.

`Nccl` is what one group has of it: a communicator for each device and, for single transfers, for each pair of
ranks, made when they are first needed; the unique ids go through the group's store. An operation with
`async_op` goes to a stream of its own, which waits for what is queued now; one without goes to the current
stream. Tensors are dense and contiguous; errors are PyTorch's.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any

import rushlight
from rushlight._engine.core import accelerator
from rushlight._engine.devices.cuda.driver import nccl
from rushlight._engine.tensors.tensor import Tensor
from rushlight.distributed.communication.nccl_work import Begun, NcclWork, hold, used, watchdog
from rushlight.distributed.communication.reductions import PremulSum, RedOpType
from rushlight.distributed.communication.tensor_wire import TensorWire
from rushlight.distributed.communication.work import Work
from rushlight.distributed.errors import DistBackendError

# Queues an operation on a stream; gives what is to be done when all operations of its batch are queued.
Issue = Callable[[nccl.Communicator, Any], Callable[[], None] | None]
_OPS = {
    RedOpType.SUM: nccl.SUM,
    RedOpType.AVG: nccl.AVG,
    RedOpType.PRODUCT: nccl.PROD,
    RedOpType.MIN: nccl.MIN,
    RedOpType.MAX: nccl.MAX,
}
_SCALED = (rushlight.float16, rushlight.float32, rushlight.bfloat16, rushlight.float64)
_CXX = {"int16": "Short", "uint16": "UInt16", "complex64": "ComplexFloat", "complex128": "ComplexDouble"}


def _rank_order(of: tuple[tuple[int, str], Any]) -> tuple[list[int], int]:
    """The place of a communicator among those of a group that all ranks sort them in."""
    (device, pair), _ = of
    return [int(rank) for rank in pair.split(":") if rank], device


class _Batch:
    """Operations that are queued together: what they write, and what is to be done afterwards."""

    def __init__(self, communicator: nccl.Communicator, queue: Any) -> None:
        self.communicator, self.queue = communicator, queue
        self.tensors: list[Tensor] = []
        self.after: list[Callable[[], None]] = []

    def add(self, issue: Issue, tensors: Sequence[Tensor]) -> None:
        """One more operation."""
        after = issue(self.communicator, self.queue)
        self.after += [] if after is None else [after]
        self.tensors += tensors


def hand_out(parts: Any, tensors: Sequence[Tensor], *kept: Tensor) -> None:
    """Put the rows of `parts`, or tensors, into the tensors. kept: what NCCL reads until this is called."""
    for tensor, part in zip(tensors, parts, strict=True):
        if part is not tensor:
            tensor.detach().copy_(part.view(tensor.shape))


def straight(tensor: Tensor) -> Tensor:
    """A tensor to write to whose elements lie in their order: itself, or a new one for channels_last."""
    if tensor.is_contiguous():
        return tensor
    return rushlight.empty_like(tensor.detach(), memory_format=rushlight.contiguous_format)


def _raised(error: nccl.NcclError) -> DistBackendError:
    return DistBackendError(str(error))


class Nccl:
    """NCCL for a process group. `error`: what went wrong with it, after which nothing goes on."""

    name = "NCCL"

    def __init__(self, group: Any) -> None:
        nccl.library()
        self.group = group
        self.error: BaseException | None = None
        self.under_way: deque[Begun] = deque()
        self._communicators: dict[tuple[int, str], nccl.Communicator] = {}
        self._queues: dict[tuple[int, str], Any] = {}
        self._made = Counter[str]()  # how many communicators of everybody, or of a pair, there were
        self._batch: _Batch | None = None

    # --- communicators ------------------------------------------------------------------------------

    def device(self, index: int | None = None) -> Any:
        """A device, the current one if None."""
        platform: Any = accelerator.platform()
        return platform.device(index)

    def communicator(self, device: Any, pair: str = "") -> nccl.Communicator:
        """The one of a device; pair: of the two ranks of a transfer, "low:high"."""
        key = device.index, pair
        found = self._communicators.get(key)
        if found is None:
            found = self._join(device, pair)
            self._adopt(key, found)
        return found

    def _adopt(self, key: tuple[int, str], made: nccl.Communicator) -> None:
        self._communicators[key] = made
        self._queues[key] = made.device.new_stream()
        if made.size > 1:
            watchdog.add(self)

    def _join(self, device: Any, pair: str) -> nccl.Communicator:
        from rushlight.distributed.groups import _patiently  # it imports this file

        rank, size = self.group.rank(), self.group.size()
        if pair:
            rank, size = int(rank > min(map(int, pair.split(":")))), len(set(pair.split(":")))
        key = f"{pair}/{self._made[pair]}" if pair else str(self._made[pair])
        self._made[pair] += 1
        try:
            if rank == 0:
                unique = nccl.unique_id()
                self.group.store.set(f"nccl/{key}", unique.hex())
            else:
                unique = self._received(key)
            return _patiently(
                lambda: nccl.Communicator.joined(device, unique, rank, size),
                f"ncclCommInitRank of group {self.group.group_name!r}",
            )
        except nccl.NcclError as error:
            raise _raised(error) from None

    def _received(self, key: str) -> bytes:
        store = self.group.store
        try:
            store.wait([f"nccl/{key}"], self.group.timeout)
            return bytes.fromhex(store.get(f"nccl/{key}").decode())
        except Exception as error:
            raise DistBackendError(
                f"[{self.group.rank()}] is setting up NCCL communicator and retrieving ncclUniqueId from [0] "
                f"via c10d key-value store by key '{key}', but store->get('{key}') got error: {error}"
            ) from None

    def split(self, color: int, rank: int, size: int) -> nccl.Communicator | None:
        """This rank's part of the communicator that all ranks have made, None where there is none yet, or
        for a rank in no part (nccl.NO_COLOR). All ranks call it.
        """
        whole = next((made for (_, pair), made in self._communicators.items() if not pair), None)
        if whole is not None:
            whole.device.synchronize()  # no operation may be under way
        try:
            return None if whole is None else whole.split(color, rank, size)
        except nccl.NcclError as error:
            raise _raised(error) from None

    def take(self, made: nccl.Communicator | None) -> None:
        """Use a part of another group's communicator."""
        if made is not None:
            self._adopt((made.device.index, ""), made)

    def alive(self) -> None:
        """Raise what went wrong with the group."""
        if self.error is not None:
            raise self.error

    def look(self) -> None:
        """What the watchdog does: see whether all is well, and end everything where it is not."""
        if self.error is not None:
            self.under_way.clear()
            return
        try:
            self._pass_over()
            for made in list(self._communicators.values()):
                if (failure := made.failure()) is not None:
                    raise _raised(failure)
            watch = self.group.queue.watch
            if watch.failed is not None:
                watch.check(self.under_way[0].name if self.under_way else self.group.queue.last, "", 0, [])
            if self.under_way:
                self._look_at(self.under_way[0])
        except (DistBackendError, nccl.NcclError) as error:
            self.abort(error)
        except Exception as error:  # the driver's; where a graph is captured it refuses, and is asked again
            if not any(made.device.captures for made in list(self._communicators.values())):
                self.abort(error)

    def _pass_over(self) -> None:
        """Forget operations that are done; what is asked spoils no capture that a thread has begun."""
        while self.under_way:
            mark = self.under_way[0].mark
            with mark.stream.device.uncaptured(True):
                if not mark.advance():
                    return
            self.under_way.popleft()

    def _look_at(self, work: Begun) -> None:
        import time  # the watchdog's alone

        watch = self.group.queue.watch
        if watch.news:
            watch.check(work.name, self.group.group_name, work.number, self.group.ranks)
        if (ran := time.monotonic() - work.begun) > work.limit:
            raise DistBackendError(
                f"[rank {self.group.rank()}] Watchdog caught collective operation timeout: {work.name} in "
                f"group {self.group.group_name!r}, Timeout(ms)={work.limit * 1000:.0f}, ran for "
                f"{ran * 1000:.0f} milliseconds before timing out."
            )

    def abort(self, error: BaseException) -> None:
        """Give up all operations, and those of other groups on the same devices, which may be queued behind
        them. What they wrote is worth nothing, so the devices raise from now on, too.
        """
        ending = self.given_up(error)
        for owner in watchdog.owners():
            if owner.error is None and owner.devices() & self.devices():
                ending += owner.given_up(error)
        for made in ending:
            made.device.error = made.device.error or str(error)
        with suppress(Exception), nccl.grouped():  # one after the other they would wait for each other
            for made in ending:
                with suppress(Exception):  # the others are to end, too
                    made.abort()

    def devices(self) -> set[Any]:
        """The devices that have communicators."""
        return {made.device for made in list(self._communicators.values())}

    def given_up(self, error: BaseException) -> list[nccl.Communicator]:
        """The communicators, which are to be aborted."""
        self.error = error
        return list(self._communicators.values())

    def settle(self) -> None:
        """Wait for all that the devices have to do."""
        if self.error is None:
            for device in self.devices():
                device.synchronize()

    def close(self) -> None:
        """End the communicators, when their operations are done."""
        self.settle()
        for _, made in sorted(self._communicators.items(), key=_rank_order):  # as all ranks do
            if self.error is None:
                made.close()
        self._communicators.clear()

    # --- operations ---------------------------------------------------------------------------------

    def _run(
        self,
        name: str,
        tensors: Sequence[Tensor],
        results: list[Any],
        issue: Issue,
        async_op: bool,
        pair: str = "",
        timeout: timedelta | None = None,
    ) -> NcclWork | None:
        """Queue an operation that reads and writes `tensors`; its Work if it is to go on beside others."""
        self.alive()
        if self._batch is not None:
            self._batch.add(issue, tensors)
            return None
        device: Any = self.device(tensors[0].device.index)
        communicator = self.communicator(device, pair)
        queue = self._queues[device.index, pair] if async_op else device.stream
        self._ready(device, queue)
        number = self._count(name, not pair)
        try:
            with used(device, queue):
                after = issue(communicator, queue)
                if after is not None:
                    after()
        except nccl.NcclError as error:
            raise _raised(error) from None
        return self._work(communicator, name, number, tensors, results, queue, async_op, timeout)

    def _count(self, name: str, everybody: bool) -> int:
        """Number an operation: one of everybody as the group's other ones, by which it is known in which ones
        a rank took part that has left; one of some ranks has 0.
        """
        operations = self.group.queue if everybody else self.group.transfers
        operations.number += 1
        operations.last = f"{name} #{operations.number}"
        return int(operations.number) if everybody else 0

    def _ready(self, device: Any, queue: Any) -> None:
        device.alive()
        if device.fuses:  # compile() replays no collectives
            raise device.capture.refused("a collective")
        device.enter()
        device.flush()
        if queue is not device.stream:
            queue.wait_for(device.stream.mark())

    def _work(
        self,
        communicator: nccl.Communicator,
        name: str,
        number: int,
        tensors: Sequence[Tensor],
        results: list[Any],
        queue: Any,
        async_op: bool,
        timeout: timedelta | None,
    ) -> NcclWork | None:
        device = queue.device
        limit = (timeout or self.group.timeout).total_seconds()
        work = NcclWork(self, name, number, queue, results, limit)
        if device.capture is not None:
            device.capture.uses(communicator)
        elif self.group.size() > 1:
            self.under_way.append(Begun(work.mark, str(work), number, work.begun, limit))
        if not async_op:
            return None
        hold(device, tensors, queue)
        return work

    @contextmanager
    def batch(self, device: Any, async_op: bool, everybody: bool) -> Iterator[list[Work]]:
        """A `with` block whose operations on a device are queued together, as one; the list has its Work
        afterwards. everybody: whether all ranks of the group have such a block.
        """
        self.alive()
        works: list[Work] = []
        communicator = self.communicator(device)
        queue = self._queues[device.index, ""] if async_op else device.stream
        self._ready(device, queue)
        number = self._count("coalesced", everybody)
        batch = self._batch = _Batch(communicator, queue)
        try:
            with used(device, queue):
                with nccl.grouped():
                    yield works
                for after in batch.after:
                    after()
        except nccl.NcclError as error:
            raise _raised(error) from None
        finally:
            self._batch = None
        written = batch.tensors
        work = self._work(communicator, "coalesced", number, written, list(written), queue, async_op, None)
        works += [] if work is None else [work]

    # --- reductions -----------------------------------------------------------------------------------

    def all_reduce(self, tensor: Tensor, op: Any, async_op: bool) -> Work | None:
        """`tensor` becomes the reduction of all ranks'."""
        return self.all_reduce_coalesced([tensor], op, async_op, "all_reduce")

    def all_reduce_coalesced(
        self, tensors: Sequence[Tensor], op: Any, async_op: bool, name: str = "all_reduce_coalesced"
    ) -> Work | None:
        """The tensors become the reductions of all ranks', as one operation."""
        arrays = [reduced(name, t, op) for t in tensors]

        def issue(made: nccl.Communicator, queue: Any) -> None:
            with operation(made, op, tensors[0]) as number, several(arrays):
                for array in arrays:
                    made.all_reduce(array, array, number, queue)

        return self._run(name, tensors, list(tensors), issue, async_op)

    def reduce(self, tensor: Tensor, op: Any, root: int, async_op: bool) -> Work | None:
        """The root's `tensor` becomes the reduction of all ranks'."""
        array = reduced("reduce", tensor, op)

        def issue(made: nccl.Communicator, queue: Any) -> None:
            with operation(made, op, tensor) as number:
                made.reduce(array, array, number, root, queue)

        return self._run("reduce", [tensor], [tensor], issue, async_op)

    def reduce_scatter_tensor(self, output: Tensor, input: Tensor, op: Any, async_op: bool) -> Work | None:
        """`output` becomes part `rank` of the reduction of all ranks' `input`."""
        if input.dtype != output.dtype:
            raise TypeError("input tensor must be the same type as the output tensor.")
        if input.numel() != output.numel() * self.group.size():
            raise ValueError("input tensor must be the same size as output size times world size")
        source, into = (reduced("reduce_scatter_tensor", t, op) for t in (input, output))

        def issue(made: nccl.Communicator, queue: Any) -> None:
            with operation(made, op, input) as number:
                made.reduce_scatter(source, into, number, queue)

        return self._run("reduce_scatter_tensor", [input, output], [output], issue, async_op)

    def reduce_scatter(self, output: Tensor, inputs: list[Tensor], op: Any, async_op: bool) -> Work | None:
        """`output` becomes the reduction of all ranks' inputs[rank]; sizes may differ."""
        for t in inputs:
            reduced("reduce_scatter", t, op)
        reduced("reduce_scatter", output, op)

        def issue(made: nccl.Communicator, queue: Any) -> Callable[[], None]:
            found = straight(output)
            into = moved(found)
            with operation(made, op, output) as number:
                if all(t.shape == output.shape for t in inputs):
                    given = [rushlight.cat([t.detach().reshape(-1) for t in inputs])]
                    made.reduce_scatter(moved(given[0]), into, number, queue)
                else:
                    given = [t.detach().contiguous() for t in inputs]
                    with nccl.grouped():
                        for root, source in enumerate(map(moved, given)):
                            made.reduce(source, into if root == made.rank else source, number, root, queue)
            return partial(hand_out, [found], [output], *given)

        return self._run("reduce_scatter", [output, *inputs], [output], issue, async_op)

    # --- moving -----------------------------------------------------------------------------------------

    def broadcast(self, tensor: Tensor, root: int, async_op: bool) -> Work | None:
        """`tensor` becomes the root's on all ranks."""
        array = moved(tensor)
        return self._run(
            "broadcast", [tensor], [tensor], lambda made, q: made.broadcast(array, array, root, q), async_op
        )

    def all_gather_into_tensor(self, output: Tensor, input: Tensor, async_op: bool) -> Work | None:
        """`output` becomes all ranks' `input`, one after the other."""
        if input.dtype != output.dtype:
            raise TypeError("output tensor must have the same type as input tensor")
        if input.numel() * self.group.size() != output.numel():
            raise ValueError("output tensor size must be equal to world_size times input tensor size")
        source, into = moved(input), moved(output)
        return self._run(
            "all_gather_into_tensor",
            [input, output],
            [output],
            lambda made, q: made.all_gather(source, into, q),
            async_op,
        )

    def all_gather(self, outputs: list[Tensor], input: Tensor, async_op: bool) -> Work | None:
        """outputs[r] becomes the rank r's `input`; sizes may differ."""
        for t in (input, *outputs):
            moved(t)  # raises

        def issue(made: nccl.Communicator, queue: Any) -> Callable[[], None]:
            given = input.detach().contiguous()
            source = moved(given)
            if any(t.numel() != input.numel() for t in outputs):
                parts = [straight(t) for t in outputs]
                with nccl.grouped():
                    for root, array in enumerate(map(moved, parts)):
                        made.broadcast(source if root == made.rank else array, array, root, queue)
                return partial(hand_out, parts, outputs, given)
            whole = rushlight.empty(len(outputs), input.numel(), dtype=input.dtype, device=input.device)
            made.all_gather(source, moved(whole), queue)
            return partial(hand_out, whole, outputs, given)

        return self._run("all_gather", [input, *outputs], outputs, issue, async_op)

    def exchange(
        self,
        name: str,
        sent: dict[int, Tensor],
        received: dict[int, Tensor],
        results: list[Any],
        async_op: bool,
    ) -> Work | None:
        """Send a tensor to each of some ranks, and receive one from each of some, as one operation."""
        giving = {rank: moved(t) for rank, t in sent.items() if t.numel()}
        taking = {rank: moved(t) for rank, t in received.items() if t.numel()}

        def issue(made: nccl.Communicator, queue: Any) -> None:
            with nccl.grouped():
                for rank, array in giving.items():
                    made.send(array, rank, queue)
                for rank, array in taking.items():
                    made.receive(array, rank, queue)

        return self._run(name, [*sent.values(), *received.values()], results, issue, async_op)

    def transfer(
        self, name: str, tensor: Tensor, peer: int, tag: int = 0, async_op: bool = True
    ) -> Work | None:
        """Send a tensor to a rank ("isend"), or receive one from it ("irecv"); NCCL knows no tags."""
        array, rank = moved(tensor), self.group.rank()
        pair = "" if self._batch is not None else f"{min(rank, peer)}:{max(rank, peer)}"
        other = int(peer > rank) if pair else peer

        def issue(made: nccl.Communicator, queue: Any) -> None:
            (made.send if name.endswith("send") else made.receive)(array, other, queue)

        return self._run(name, [tensor], [tensor], issue, async_op, pair)

    def barrier(self, device_ids: Any, async_op: bool, timeout: timedelta | None = None) -> Work | None:
        """Wait until all ranks have come here: the program waits, too."""
        device = self.device(device_ids[0] if device_ids else None)
        one = rushlight.zeros(1, device=device.where)
        array = moved(one)
        work = self._run(
            "barrier",
            [one],
            [],
            lambda made, q: made.all_reduce(array, array, nccl.SUM, q),
            True,
            timeout=timeout,
        )
        if work is None or async_op:
            return work
        work.finish()
        return None


@contextmanager
def operation(made: nccl.Communicator, op: Any, tensor: Tensor) -> Iterator[int]:
    """NCCL's number of a reduction of a tensor; ValueError, TypeError for those that it does not have."""
    kind = getattr(op, "op", op)
    if kind == RedOpType.PREMUL_SUM:
        with made.scaled_sum(op.factor, tensor.detach()._array.dtype) as number:
            yield number
        return
    yield nccl.MAX if tensor.dtype == rushlight.bool and kind == RedOpType.SUM else _OPS[kind]


@contextmanager
def several(arrays: Sequence[Any]) -> Iterator[None]:
    """A `with` block whose operations are one, where there are several."""
    with ExitStack() as stack:
        if len(arrays) > 1:
            stack.enter_context(nccl.grouped())
        yield


def check_tensor(tensor: Tensor) -> None:
    """ValueError for a tensor that NCCL does not take."""
    if not tensor.is_cuda or tensor.layout != rushlight.strided:
        raise ValueError("Tensors must be CUDA and dense")
    last = tensor.dim() == 4 and tensor.is_contiguous(memory_format=rushlight.channels_last)
    if not (tensor.is_contiguous() or last) or tensor.is_conj() or tensor.is_neg():
        raise ValueError("Tensors must be contiguous")


def moved(tensor: Tensor) -> Any:
    """The tensor's array, as NCCL moves it. ValueError, TypeError for what it does not take."""
    check_tensor(tensor)
    plain = tensor.detach()
    if plain.is_complex():
        plain = rushlight.view_as_real(plain)
    name = str(plain.dtype).rpartition(".")[2]
    if name == "bool" or (name.startswith("float8") and nccl.version() < nccl.FLOAT8_SINCE):
        plain = plain.view(rushlight.uint8)
    elif name not in nccl.TYPES:
        raise TypeError(
            f"Input tensor data type is not supported for NCCL process group: {_CXX.get(name, name)}"
        )
    return plain._array


def reduced(name: str, tensor: Tensor, op: Any) -> Any:
    """The tensor's array, as NCCL reduces it. Errors as of `moved`, and for operations that it has not."""
    kind = getattr(op, "op", op)
    if not isinstance(kind, RedOpType):
        raise TypeError(
            f"{name}(): incompatible function arguments. Expected op to be a torch.distributed."
            f"ReduceOp, got {op!r}"
        )
    if kind in (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR):
        raise ValueError(f"Cannot use ReduceOp.{kind.name} with NCCL")
    if tensor.is_complex() and kind not in (RedOpType.SUM, RedOpType.AVG, RedOpType.PREMUL_SUM):
        raise ValueError(f"{name} does not support {kind} on complex tensors")
    if kind == RedOpType.PREMUL_SUM and not (isinstance(op, PremulSum) and tensor.dtype in _SCALED):
        raise ValueError("PreMulSum Data type must be half, float, bfloat16 or double")
    if tensor.dtype == rushlight.bool and kind == RedOpType.AVG:
        raise TypeError("Cannot use ReduceOp.AVG with Boolean inputs")
    if str(tensor.dtype).startswith("torch.float8") and nccl.version() < nccl.FLOAT8_SINCE:
        raise RuntimeError("Float8 dtypes are not currently supported for NCCL reductions")
    return moved(tensor)


class NcclWire(TensorWire):
    """The wire of a group that NCCL alone serves: what the host sends goes through the current device."""

    owner: Nccl
