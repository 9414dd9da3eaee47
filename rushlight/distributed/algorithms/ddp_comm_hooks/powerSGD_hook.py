"""PowerSGD: gradients sent as products of two thin matrices (arXiv:1905.13727).

A gradient M of n rows and m columns becomes P @ Q.T, P of (n, rank) and Q of (m, rank): P = M @ Q is summed
over the ranks and made orthonormal, then Q = M.T @ P is averaged. What is lost is added to the next gradient.
"""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from rushlight.distributed.communication.work import Future
from rushlight.distributed.reducer import GradBucket

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]

logger = logging.getLogger(__name__)


class PowerSGDState:
    """What the hooks keep from one iteration to the next, and their options.

    process_group: None for all ranks. matrix_approximation_rank: columns of P and Q, default 1.
    start_powerSGD_iter: how many iterations send everything first, default 1000; more than 1 with
    use_error_feedback (add what was lost to the next gradient) or warm_start (begin with the Q of before).
    min_compression_rate: a gradient is compressed if that saves more than this factor, default 2.
    orthogonalization_epsilon: added to norms that are divided by, default 0. random_seed: of the first Q.
    batch_tensors_with_same_shape: multiply gradients of one shape together. ValueError for a
    start_powerSGD_iter that is too small.
    """

    __slots__ = (
        "batch_tensors_with_same_shape",
        "compression_stats_logging_frequency",
        "error_dict",
        "iter",
        "matrix_approximation_rank",
        "min_compression_rate",
        "next_stats_report",
        "orthogonalization_epsilon",
        "p_memory_dict",
        "process_group",
        "q_memory_dict",
        "rng",
        "start_powerSGD_iter",
        "total_numel_after_compression",
        "total_numel_before_compression",
        "use_error_feedback",
        "warm_start",
    )

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, "
                "because PowerSGD can only be applied after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng = np.random.RandomState(random_seed)
        # By a bucket's index: what was lost, and P and Q of its gradients.
        self.error_dict: dict[int, Any] = {}
        self.p_memory_dict: dict[int, Any] = {}
        self.q_memory_dict: dict[int, Any] = {}
        self.iter = 0
        self.total_numel_before_compression = 0
        self.total_numel_after_compression = 0
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.next_stats_report = 0
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape

    def __getstate__(self) -> dict[str, Any]:
        """All but the process group, which cannot be saved."""
        logger.warning("NOTE: Process group is not serializable and excluded from a saved state.")
        return {slot: getattr(self, slot) for slot in self.__slots__ if slot != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What was saved, with all ranks as the process group."""
        self.process_group = dist.group.WORLD
        logger.warning("NOTE: Process group will be set to a default group (i.e. the world size).")
        for slot, value in state.items():
            setattr(self, slot, value)

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count an iteration when its last bucket comes."""
        self.iter += bucket.is_last()
        if self.iter == self.start_powerSGD_iter:
            logger.info("Start to apply PowerSGD after %s iterations.", self.iter)

    def compression_stats(self) -> tuple[float, int, int]:
        """(how many times fewer, numbers before, numbers after compression), over all iterations."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after > 0 else 0), before, after

    def report(self, bucket: GradBucket) -> None:
        """Log compression_stats() as often as compression_stats_logging_frequency says."""
        if bucket.is_last() and self.iter >= self.next_stats_report:
            rate, before, after = self.compression_stats()
            logger.info(
                "Compression stats: iter %s, total before compression %s, "
                "total after compression %s, rate %s",
                self.iter,
                before,
                after,
                rate,
            )
            self.next_stats_report = self.iter + self.compression_stats_logging_frequency


def _orthonormal(matrices: Any, epsilon: float) -> None:
    """Make the columns of (count, rows, rank) matrices orthonormal, in place."""
    rank = matrices.shape[2]
    if rank > 2 and matrices.dtype not in (torch.float16, torch.bfloat16):
        matrices.copy_(torch.linalg.qr(matrices)[0])
        return
    for i in range(rank):
        column = matrices[:, :, i : i + 1]
        column /= torch.linalg.vector_norm(column, dim=1, keepdim=True) + epsilon
        if i + 1 < rank:
            rest = matrices[:, :, i + 1 :]
            rest -= torch.sum(column * rest, dim=1, keepdim=True) * column


def _worth(state: PowerSGDState, rows: int, columns: int) -> bool:
    """Whether a gradient is compressed; noted in the statistics."""
    rank = min(rows, columns, state.matrix_approximation_rank)
    before, after = rows * columns, (rows + columns) * rank
    compressed = after * state.min_compression_rate < before
    state.total_numel_before_compression += before
    state.total_numel_after_compression += after if compressed else before
    return bool(compressed)


def _summed(tensor: Any, group: Any) -> Any:
    dist.all_reduce(tensor, group=group)
    return tensor


def _factors(state: PowerSGDState, index: int, batches: list[Any]) -> tuple[list[Any], list[Any]]:
    """P and Q of each batch of gradients, views of the bucket's memory; Q is orthonormal."""
    ranks = [min(*b.shape[1:], state.matrix_approximation_rank) for b in batches]
    sizes = [
        [(b.shape[0], b.shape[1 + side], r) for b, r in zip(batches, ranks, strict=True)] for side in (0, 1)
    ]
    fresh = not state.warm_start or index not in state.p_memory_dict
    if fresh and batches:
        for memory, shapes in zip((state.p_memory_dict, state.q_memory_dict), sizes, strict=True):
            memory[index] = batches[0].new_empty(sum(map(math.prod, shapes)))
    if not batches:
        return [], []
    ps, qs = (
        [
            part.view(shape)
            for part, shape in zip(memory[index].split(list(map(math.prod, shapes))), shapes, strict=True)
        ]
        for memory, shapes in zip((state.p_memory_dict, state.q_memory_dict), sizes, strict=True)
    )
    if fresh:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(state.rng.randint(1_000_000_000)))
            for q in qs:
                q.copy_(torch.randn(*q.shape, dtype=q.dtype))
    for q in qs:
        _orthonormal(q, state.orthogonalization_epsilon)
    return ps, qs


def _approximate(state: PowerSGDState, index: int, batches: list[Any], group: Any) -> None:
    """Put the average of the ranks' gradients, as P @ Q.T, in the place of each batch."""
    ps, qs = _factors(state, index, batches)
    if not batches:
        return
    for batch, p, q in zip(batches, ps, qs, strict=True):
        p.copy_(torch.bmm(batch, q))
    _summed(state.p_memory_dict[index], group)
    for batch, p, q in zip(batches, ps, qs, strict=True):
        _orthonormal(p, state.orthogonalization_epsilon)
        q.copy_(torch.bmm(batch.transpose(1, 2), p))
    _summed(state.q_memory_dict[index], group).div_(group.size())
    for batch, p, q in zip(batches, ps, qs, strict=True):
        batch.copy_(torch.bmm(p, q.transpose(1, 2)))
    if not state.warm_start:
        state.p_memory_dict.clear()
        state.q_memory_dict.clear()


def _with_error(state: PowerSGDState, index: int, tensor: Any) -> Any:
    """Add what was lost before to a bucket; a copy of it then, or None without error feedback."""
    if not state.use_error_feedback:
        return None
    if index in state.error_dict:
        tensor.add_(state.error_dict[index])
    return tensor.detach().clone()


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Any:
    """The average of the ranks' buckets, each gradient that is worth it as a product of two thin matrices.

    DDP's register_comm_hook(PowerSGDState(...), powerSGD_hook) puts it to use.
    """
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    group: Any = state.process_group if state.process_group is not None else dist.group.WORLD
    flat, index = bucket.buffer(), bucket.index()
    before = _with_error(state, index, flat)
    matrices: list[Any] = []
    plain: list[Any] = []
    for gradient in bucket.gradients():
        matrix = gradient.view(gradient.shape[0], -1)
        worth = _worth(state, *matrix.shape)
        (matrices if worth else plain).append(matrix if worth else gradient)
    state.report(bucket)
    if plain:
        sent = _summed(torch.cat([gradient.reshape(-1) for gradient in plain]), group).div_(group.size())
        for gradient, part in zip(plain, sent.split([g.numel() for g in plain]), strict=True):
            gradient.copy_(part.view_as(gradient))
    by_shape: dict[Any, list[Any]] = {}
    for matrix in matrices:
        by_shape.setdefault(matrix.shape, []).append(matrix)
    if state.batch_tensors_with_same_shape:
        batches = [torch.stack(same) for same in by_shape.values()]
    else:
        batches = [matrix.unsqueeze(0) for same in by_shape.values() for matrix in same]
    _approximate(state, index, batches, group)
    if state.batch_tensors_with_same_shape:
        for same, batch in zip(by_shape.values(), batches, strict=True):
            for matrix, found in zip(same, batch, strict=True):
                matrix.copy_(found)
    if before is not None:
        state.error_dict[index] = before - flat
    state.maybe_increase_iter(bucket)
    return _done(flat)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Any:
    """The average of the ranks' buckets, the whole bucket as one square matrix in low rank: faster than
    powerSGD_hook, and less exact.
    """
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    group: Any = state.process_group if state.process_group is not None else dist.group.WORLD
    flat, index = bucket.buffer(), bucket.index()
    side = math.ceil(math.sqrt(flat.numel()))
    state.total_numel_before_compression += flat.numel()
    state.total_numel_after_compression += 2 * side * state.matrix_approximation_rank
    state.report(bucket)
    square = torch.zeros(side * side, dtype=flat.dtype, device=flat.device)
    square[: flat.numel()] = flat
    before = _with_error(state, index, square)
    _approximate(state, index, [square.view(1, side, side)], group)
    if before is not None:
        state.error_dict[index] = before - square
    flat.copy_(square[: flat.numel()])
    state.maybe_increase_iter(bucket)
    return _done(flat)


def _done(tensor: Any) -> Any:
    found: Any = Future()
    found.set_result(tensor)
    return found
