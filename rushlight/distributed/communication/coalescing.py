"""Operations that a `with` block collects, and that are sent together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from rushlight.distributed.communication import collectives
from rushlight.distributed.communication.work import Work
from rushlight.distributed.groups import ProcessGroup, default_group


class _CoalescingManager:
    """What the block of `_coalescing_manager` gives: `works`, once it has ended."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None = None) -> None:
        """Wait for this one, too."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Wait for all."""
        for work in self.works:
            work.wait()


@contextmanager
def _coalescing_manager(
    group: ProcessGroup | None = None, device: Any = None, async_ops: bool = False
) -> Iterator[_CoalescingManager]:
    """A `with` block whose all_reduces, all_gather_into_tensors or reduce_scatter_tensors are one operation;
    with NCCL and a `device`, also its other operations. async_ops: whether somebody waits for it later.

    ValueError for a block in a block, RuntimeError for several kinds of operations.
    """
    group = default_group(group)
    if group.coalesced is not None:
        raise ValueError("ProcessGroup has non-empty op list at the start of coalescing")
    found = _CoalescingManager()
    with ExitStack() as stack:
        if device is not None and group.nccl is not None:
            found.works = stack.enter_context(
                group.nccl.batch(group.nccl.device(device.index), async_ops, False)
            )
        calls: list[Any] = []
        group.coalesced = calls
        try:
            yield found
        finally:
            group.coalesced = None
        if calls:
            _send(group, calls, device is not None, async_ops, found)
    if not async_ops:
        found.wait()


def _send(
    group: ProcessGroup,
    calls: list[tuple[Callable[..., Any], tuple[Any, ...], Any]],
    begun: bool,
    async_ops: bool,
    found: _CoalescingManager,
) -> None:
    """Do what was collected: (function, tensors, operation) of each call."""
    function, tensors, op = calls[0]
    if any(f is not function for f, _, _ in calls):
        raise RuntimeError(
            "Coalescing manager requires all collectives to be the same type, but got mixed types: "
            f"{ {f.__name__ for f, _, _ in calls} }"
        )
    if function is collectives.all_reduce:
        found.append(
            collectives.begin_all_reduce_coalesced([t for _, (t,), _ in calls], op, group, async_ops)
        )
        return
    more = {} if op is None else {"op": op}
    with ExitStack() as stack:
        if group.nccl is not None and not begun and tensors[0].is_cuda:
            device = group.nccl.device(tensors[0].device.index)
            found.works = stack.enter_context(group.nccl.batch(device, async_ops, True))
        for _, given, _ in calls:
            found.append(function(*given, group=group, async_op=async_ops, **more))
