"""Collectives on any objects that can be pickled, which is safe among ranks that trust each other only."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

import rushlight
from rushlight.distributed.communication.collectives import root_rank
from rushlight.distributed.communication.exchanges import check_list
from rushlight.distributed.communication.operation_queue import Steps
from rushlight.distributed.communication.transfers import recv, send
from rushlight.distributed.communication.wire import Array, SoloWire
from rushlight.distributed.groups import default_group, member


def _packed(values: list[Any]) -> tuple[Array, Array]:
    """The objects' bytes one after the other, and how many each has."""
    parts = [np.frombuffer(pickle.dumps(value), np.uint8) for value in values]
    return np.concatenate(parts), np.array([part.size for part in parts], np.int64)


def _unpacked(data: Array, sizes: Array) -> list[Any]:
    ends = np.cumsum(sizes)
    return [pickle.loads(data[end - size : end].tobytes()) for end, size in zip(ends, sizes)]


def gathered(wire: SoloWire, obj: Any, found: list[Any], root: int | None) -> Steps:
    """`found` becomes all ranks' objects: on the root, or on all ranks where there is none."""
    data, size = _packed([obj])
    sizes = np.empty(wire.size, np.int64)
    yield wire.allgather(size, sizes)
    padded, rows = np.zeros(sizes.max(), np.uint8), np.empty((wire.size, sizes.max()), np.uint8)
    padded[: data.size] = data
    if root is None:
        yield wire.allgather(padded, rows)
    else:
        into: Any = rows if wire.rank == root else None
        yield wire.gather(padded, into, root)
    if root is None or wire.rank == root:
        found[:] = [pickle.loads(row[:size].tobytes()) for row, size in zip(rows, sizes)]


def _place(group: Any, device: Any) -> Any:
    """Where the bytes of objects travel from: the CPU, or the current device where NCCL alone is there."""
    by = default_group(group).nccl  # a program's own group has none
    return device or ("cpu" if by is None or default_group(group).mixed else by.device().where)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """object_list[r] becomes the rank r's `obj`."""
    if (group := member(group, "all_gather_object")) is None:
        return
    found: list[Any] = []
    group.begin("all_gather_object", gathered(group.wire, obj, found, None), lambda: "", [], False)
    object_list[: len(found)] = found


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """The rank dst's (0's by default) object_gather_list[r] becomes the rank r's `obj`; others give none."""
    group = default_group(group)
    root = root_rank(group, dst, group_dst, 0)
    if member(group, "gather_object") is None:
        return
    check_list(object_gather_list, group.rank() == root, "gather_list", "destination")
    found: list[Any] = []
    group.begin("gather_object", gathered(group.wire, obj, found, root), lambda: "", [], False)
    if object_gather_list:
        object_gather_list[: len(found)] = found


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """The objects in `object_list` become the rank src's (0's by default), on all ranks."""
    group = default_group(group)
    root = root_rank(group, src, group_src, 0)
    if member(group, "broadcast_object_list") is None:
        return

    def steps() -> Steps:
        if group.rank() == root:
            data, sizes = _packed(object_list)
            yield group.wire.broadcast(sizes, root)
        else:
            yield group.wire.broadcast(sizes := np.empty(len(object_list), np.int64), root)
            data = np.empty(sizes.sum(), np.uint8)
        yield group.wire.broadcast(data, root)
        if group.rank() != root:
            object_list[:] = _unpacked(data, sizes)

    group.begin("broadcast_object_list", steps(), lambda: "", [], False)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """scatter_object_output_list[0] becomes number `rank` of the rank src's (0's by default) input list."""
    group = default_group(group)
    root = root_rank(group, src, group_src, 0)
    if member(group, "scatter_object_list") is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    if group.rank() == root and scatter_object_input_list is None:
        raise ValueError("source rank must provide non-None scatter_object_input_list")

    def steps() -> Steps:
        sizes, rows = np.empty(group.size(), np.int64), None
        if group.rank() == root:
            data, sizes = _packed(scatter_object_input_list or [])
        yield group.wire.broadcast(sizes, root)
        if group.rank() == root:
            rows = np.zeros((group.size(), sizes.max()), np.uint8)
            for row, part in zip(rows, np.split(data, np.cumsum(sizes)[:-1])):
                row[: part.size] = part
        mine = np.empty(sizes.max(), np.uint8)
        yield group.wire.scatter(rows, mine, root)
        scatter_object_output_list[0] = pickle.loads(mine[: sizes[group.rank()]].tobytes())

    group.begin("scatter_object_list", steps(), lambda: "", [], False)


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send the objects to a rank, which calls recv_object_list with a list of the same length."""
    if member(group, "send_object_list") is not None:
        data, sizes = _packed(object_list)
        for part in (sizes, data):
            send(rushlight.from_numpy(part).to(_place(group, device)), dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive objects into the list; the sender's rank in the world, -1 outside the group."""
    if member(group, "recv_object_list") is None:
        return -1
    place = _place(group, device)
    sizes = rushlight.empty(len(object_list), dtype=rushlight.int64, device=place)
    sender = recv(sizes, src, group, group_src=group_src)
    data = rushlight.empty(int(sizes.sum()), dtype=rushlight.uint8, device=place)
    recv(data, sender, group)
    object_list[:] = _unpacked(data.cpu().numpy(), sizes.cpu().numpy())
    return sender
