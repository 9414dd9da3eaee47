"""The reducer of DistributedDataParallel: gradients are averaged in buckets while backward goes on.

Each parameter has a place in a bucket, a flat tensor of one dtype. When a gradient is complete, a hook writes
it there, divided; a bucket that is full is all-reduced asynchronously. Buckets go out in one order on all
ranks, whichever is full first. When the last one is out, the end of backward is asked to wait for them and to
give the averages back to the parameters. The first iteration has one bucket; then buckets are laid out in the
order in which rank 0 got its gradients, a small one first, so that communication begins early.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.autograd import hooks
from rushlight._engine.core.callers import warn
from rushlight._engine.tensors.tensor import Tensor
from rushlight.distributed.communication.common import words


def assign_buckets(tensors: Sequence[Tensor], limits: Sequence[float]) -> list[list[int]]:
    """The numbers of `tensors` in buckets of one dtype each: a bucket is closed when it has limits[i] bytes.

    The last limit serves all further buckets of a dtype. Buckets come in the order of their first tensors.
    """
    opened: dict[Any, list[Any]] = {}  # dtype: [which limit, bytes, numbers]
    done: list[list[int]] = []
    for number, t in enumerate(tensors):
        entry = opened.setdefault(t.dtype, [0, 0, []])
        entry[1] += t.numel() * t.element_size()
        entry[2].append(number)
        if entry[1] >= limits[min(entry[0], len(limits) - 1)]:
            done.append(entry[2])
            entry[:] = [entry[0] + 1, 0, []]
    done += [entry[2] for entry in opened.values() if entry[2]]
    return sorted(done)


class Bucket:
    """Some parameters' gradients, one behind the other in `flat`; views[i] has the shape of parameter i."""

    def __init__(self, params: list[Tensor], numbers: list[int]) -> None:
        self.params, self.numbers = params, numbers
        self.flat = torch.zeros(
            sum(p.numel() for p in params), dtype=params[0].dtype, device=params[0].device
        )
        self.views, offset = [], 0
        for p in params:
            # Laid out as the parameter lies, where that is dense, so that copies are straight.
            dense = p.is_contiguous() or (p.dim() == 4 and p.is_contiguous(memory_format=torch.channels_last))
            part = self.flat[offset : offset + p.numel()]
            self.views.append(part.as_strided(p.shape, p.stride(), offset) if dense else part.view(p.shape))
            offset += p.numel()
        self.pending = len(params)
        self.work: Any = None

    sparse = False


class SparseBucket(Bucket):
    """The bucket of one parameter whose gradient is sparse: `flat` is the gradient itself."""

    sparse = True

    def __init__(self, params: list[Tensor], numbers: list[int]) -> None:
        self.params, self.numbers, self.views = params, numbers, [params[0]]
        self.pending, self.work = 1, None
        self.clear()

    def clear(self) -> None:
        """Let it hold no values."""
        p = self.params[0]
        indices = torch.empty(1, 0, dtype=torch.int64, device=p.device)
        self.flat = torch.sparse_coo_tensor(indices, p.new_empty(0, *p.shape[1:]), p.shape)

    def fill(self, by: float) -> None:
        """Hold the parameter's gradient, divided."""
        grad = self.params[0].grad
        if grad is None:
            self.clear()
        else:
            self.flat = (grad.detach() / by) if by != 1.0 else grad.detach().clone()


class GradBucket:
    """What a communication hook gets: one bucket's gradients, not yet divided by the number of ranks."""

    def __init__(self, bucket: Bucket, index: int, last: bool) -> None:
        self._bucket, self._index, self._last, self._buffer = bucket, index, last, bucket.flat

    def index(self) -> int:
        """Which bucket it is; they come in the order of their numbers."""
        return self._index

    def buffer(self) -> Tensor:
        """All its gradients, flat."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Put another tensor in the buffer's place."""
        self._buffer = buffer

    def gradients(self) -> list[Tensor]:
        """Views of the buffer, in the parameters' shapes; none of a sparse one."""
        return [] if self._bucket.sparse else list(self._bucket.views)

    def parameters(self) -> list[Tensor]:
        """The parameters that the gradients are of."""
        return list(self._bucket.params)

    def is_last(self) -> bool:
        """Whether it is the last bucket of this backward."""
        return self._last


class Reducer:
    """Averages the gradients of `params` over `group`.

    caps: bytes of the first bucket and of the others. find_unused: parameters that a backward does not reach
    count as zero, and keep their `.grad` if no rank reached them. as_view: `.grad` is memory of the bucket.
    static: the first iteration tells how often each parameter gets a gradient. skip: a bucket without any
    gradient is not sent, as it is without one on all ranks. sparse: the numbers of parameters whose gradients
    are; each has a bucket of its own.
    """

    # Of a backward that is reduced: how often each gradient came, and which are not to be waited for.
    seen: list[int]
    marked: list[bool]

    def __init__(
        self,
        params: list[Tensor],
        names: list[str],
        group: Any,
        caps: tuple[float, float],
        find_unused: bool,
        as_view: bool,
        static: bool,
        skip: bool = False,
        sparse: Collection[int] = (),
    ) -> None:
        self.params, self.names, self.group, self.caps = params, names, group, caps
        self.find_unused, self.as_view, self.static, self.skip = find_unused, as_view, static, skip
        self.sparse = frozenset(sparse)
        self.hook: tuple[Any, Callable[..., Any]] | None = None
        self.divisor: Callable[[], float] = group.size
        self.counts: list[int] | None = None  # of a static graph: gradients of each parameter in a backward
        self.rebuilt = self.expecting = self.unfinished = False
        self.used = [False] * len(params)
        self.nodes: list[Any] = [None] * len(params)
        self.listen()
        self._lay_out(assign_buckets(params, [float("inf")] if static or not find_unused else caps)[::-1])

    def listen(self) -> None:
        """Hook the parameters' nodes; again those of parameters that were frozen meanwhile."""
        for number, p in enumerate(self.params):
            if p.requires_grad and p._grad_node is not self.nodes[number]:
                self.nodes[number] = p._grad_node
                hooks.on_node(p._grad_node, lambda *_, number=number: self._arrived(number), "post")

    def _lay_out(self, assignment: list[list[int]]) -> None:
        dense = [[n for n in numbers if n not in self.sparse] for numbers in assignment]
        self.buckets = [Bucket([self.params[n] for n in numbers], numbers) for numbers in dense if numbers]
        self.buckets += [SparseBucket([self.params[n]], [n]) for n in sorted(self.sparse)]
        self.places = {n: (b, i) for b in self.buckets for i, n in enumerate(b.numbers)}

    def _rebuild_buckets(self) -> bool:
        """After the first iteration: buckets in the order of rank 0's gradients. Whether they are new."""
        self.check_finished()
        if self.rebuilt or self.expecting or not self.order or (self.find_unused and not self.static):
            return False
        order = torch.tensor(
            [*self.order, *sorted(set(range(len(self.params))) - set(self.order))],
            device=self.params[0].device,
        )
        dist.broadcast(order, dist.get_global_rank(self.group, 0), group=self.group)
        numbers = order.tolist()
        buckets = assign_buckets([self.params[n] for n in numbers], self.caps)
        self._lay_out([[numbers[i] for i in bucket] for bucket in buckets])
        self.rebuilt = True
        return True

    order: list[int] = []

    def prepare_for_backward(self, outputs: list[Any]) -> None:
        """Before a backward that is to be reduced. What it did not use is found at its end, whatever the
        module's outputs were.
        """
        self.check_finished()
        self.listen()
        self.expecting, self.next, self.order, self.seen = True, 0, [], [0] * len(self.params)
        self.marked = [False] * len(self.params)
        for bucket in self.buckets:
            bucket.pending, bucket.work = len(bucket.params), None

    # --- during backward --------------------------------------------------------------------------

    def _arrived(self, number: int) -> None:
        """A parameter's gradient is complete."""
        self.used[number] = True
        if not self.expecting:
            return
        if not self.unfinished:
            self.unfinished = True
            self._begin()
        self.seen[number] += 1
        if self.seen[number] == 1:
            self.order.append(number)
        if not self.static or (self.counts is not None and self.seen[number] == self.counts[number]):
            self._mark(number)

    def _begin(self) -> None:
        """The first gradient of a backward: what will not come is ready."""
        if self.static and self.counts is None:
            hooks._runs.stack[0].at_end(self._learnt)
            return
        if self.static:
            absent = [n for n, count in enumerate(self.counts or ()) if not count]
        elif self.find_unused:
            reached = {id(node) for run in hooks._runs.stack for node in run.reached()}
            absent = [n for n, node in enumerate(self.nodes) if id(node) not in reached]
        else:
            return
        for number in absent:
            self._mark(number)

    def _learnt(self) -> None:
        """The end of a static graph's first backward: everything is ready now."""
        self.counts = list(self.seen)
        for number in range(len(self.params)):
            self._mark(number)

    def _mark(self, number: int) -> None:
        if self.marked[number]:
            raise RuntimeError(words("twice", number=number, name=self.names[number]))
        self.marked[number] = True
        bucket, place = self.places[number]
        if isinstance(bucket, SparseBucket):
            with torch.no_grad():
                bucket.fill(1.0 if self.hook else self.divisor())
        else:
            self._fill(self.params[number], bucket.views[place])
        bucket.pending -= 1
        while self.next < len(self.buckets) and self.buckets[self.next].pending == 0:
            self._send(self.next)
            self.next += 1
            if self.next == len(self.buckets):
                hooks._runs.stack[0].at_end(self._finish)

    def _fill(self, p: Tensor, view: Tensor) -> None:
        """A gradient's place in the bucket: divided, unless a hook does that."""
        grad = p.grad
        with torch.no_grad():
            if grad is None:
                view.zero_()
                return
            by = 1.0 if self.hook else self.divisor()
            if grad.is_sparse:
                grad = grad.to_dense()
            if grad.data_ptr() == view.data_ptr():
                if by != 1.0:
                    view.div_(by)
                return
            if by == 1.0:
                view.copy_(grad)
            else:
                torch.mul(grad, 1.0 / by, out=view)
        if self.as_view:
            p.grad = view

    def _send(self, index: int) -> None:
        bucket = self.buckets[index]
        if not self.skip or any(self.used[n] for n in bucket.numbers):
            bucket.work = self.communicate(GradBucket(bucket, index, index == len(self.buckets) - 1))
        if index == len(self.buckets) - 1 and self.find_unused and not self.static:
            self.union = torch.tensor(self.used, dtype=torch.int32, device=self.params[0].device)
            self.sent = dist.all_reduce(self.union, group=self.group, async_op=True)

    def communicate(self, bucket: GradBucket) -> Any:
        """Begin to reduce a bucket; the Work, or the hook's Future."""
        if self.hook is None:
            work = dist.all_reduce(bucket.buffer(), group=self.group, async_op=True)
            return work.get_future() if self.group.foreign is not None and work is not None else work
        state, hook = self.hook
        found = hook(state, bucket)
        if not hasattr(found, "wait"):
            raise RuntimeError(f"callback must return a torch.futures.Future object, but got {type(found)}")
        return found

    def _finish(self) -> None:
        """The end of backward: wait, and give the averages to the parameters."""
        self.expecting = self.unfinished = False
        used = [True] * len(self.params)
        if self.find_unused and not self.static:
            sent: Any = self.sent
            sent.wait()
            used = self.union.bool().tolist()
            self._tell_unneeded()
        elif self.counts is not None:
            used = [bool(count) for count in self.counts]
        with torch.no_grad():
            for bucket in self.buckets:
                self._receive(bucket)
                for number, p, view in zip(bucket.numbers, bucket.params, bucket.views, strict=True):
                    if used[number] and bucket.sparse:
                        p.grad = bucket.flat
                    elif used[number]:
                        self._give(p, view)
        self.used = [False] * len(self.params)

    def _receive(self, bucket: Bucket) -> None:
        if bucket.work is None:
            return
        found = bucket.work.wait()
        if found is not True:  # a hook's, or that of a program's own process group
            found = found[0] if isinstance(found, (list, tuple)) else found
            if bucket.sparse:
                bucket.flat = found
            elif found.data_ptr() != bucket.flat.data_ptr():
                bucket.flat.copy_(found.view(-1))
        bucket.work = None

    def _give(self, p: Tensor, view: Tensor) -> None:
        if self.as_view:
            p.grad = view
        elif p.grad is None or p.grad.is_sparse:
            p.grad = view.clone()
        else:
            p.grad.copy_(view)

    announced = False

    def _tell_unneeded(self) -> None:
        """Once: the search was in vain."""
        if not self.announced and all(self.used):
            warn(words("vain"))
        self.announced = True

    def check_finished(self) -> None:
        """RuntimeError where the last backward left buckets unsent: which parameters got no gradient."""
        if not self.unfinished:
            return
        absent = [n for n, seen in enumerate(self.marked) if not seen]
        cause = words("changed" if self.static else "unused")
        raise RuntimeError(
            words(
                "unfinished",
                cause=cause,
                rank=self.group.rank(),
                names=", ".join(self.names[n] for n in absent),
                numbers=" ".join(map(str, absent)),
            )
        )

    def shadow(self) -> None:
        """The communication of one backward, with zeros, by a rank that has no inputs left."""
        last = len(self.buckets) - 1
        works = []
        for index, bucket in enumerate(self.buckets):
            bucket.clear() if isinstance(bucket, SparseBucket) else bucket.flat.zero_()
            works.append(self.communicate(GradBucket(bucket, index, index == last)))
        if self.find_unused and not self.static:
            works.append(
                dist.all_reduce(
                    torch.zeros(len(self.params), dtype=torch.int32, device=self.params[0].device),
                    group=self.group,
                    async_op=True,
                )
            )
        for work in works:
            work.wait()
        self.order = self.order or list(range(len(self.params)))


_DEFAULT_FIRST_BUCKET_BYTES = 1 << 20


def _compute_bucket_assignment_by_size(
    tensors: Sequence[Tensor],
    bucket_size: Sequence[int],
    expect_sparse_gradient: Sequence[bool] = (),
    tensor_indices: Sequence[int] = (),
    logger: Any = None,
) -> tuple[list[list[int]], list[int]]:
    """(numbers of tensors in buckets, each bucket's limit in bytes), as of assign_buckets. A tensor with a
    sparse gradient is a bucket of its own. tensor_indices: the numbers, in the order of the tensors.
    """
    sparse = {n for n, expected in enumerate(expect_sparse_gradient) if expected}
    dense = [n for n in range(len(tensors)) if n not in sparse]
    found = [
        [dense[n] for n in bucket] for bucket in assign_buckets([tensors[n] for n in dense], bucket_size)
    ]
    opened: dict[Any, int] = {}
    limits = []
    for bucket in found:
        of = tensors[bucket[0]].dtype
        limits.append(bucket_size[min(opened.get(of, 0), len(bucket_size) - 1)])
        opened[of] = opened.get(of, 0) + 1
    found += [[n] for n in sorted(sparse)]
    limits += [0] * len(sparse)
    if tensor_indices:
        return [[tensor_indices[n] for n in bucket] for bucket in found], limits
    order = sorted(range(len(found)), key=lambda k: found[k][0])
    return [found[k] for k in order], [limits[k] for k in order]
