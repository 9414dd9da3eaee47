"""Where the blocks of a pool lie, to go back to: torch._C._cuda_getCheckpointState() and what goes with it.

Who replays graphs that share memory says so which of it holds results, whatever tensors there are of it.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.core.device import device as as_device
from rushlight._engine.devices.cuda import memory_api
from rushlight._engine.devices.cuda.accounts.history import pool_id
from rushlight._engine.devices.cuda.allocator import NOBODY, Allocator, Block, Handle, chain
from rushlight._engine.devices.cuda.api import backend
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.tensors.storages.storage import Storage
from rushlight._engine.tensors.storages.untyped import UntypedStorage


class _Part(NamedTuple):
    """A block, as it was. requested: 0 of a free one."""

    address: int
    size: int
    requested: int


class Checkpoint(NamedTuple):
    """The blocks of a pool's segments, by the address of the segment."""

    pool: tuple[int, int]
    segments: dict[int, list[_Part]]


def _segments(allocator: Allocator, pool: tuple[int, int]) -> list[tuple[int, Block]]:
    """The segments of a pool, by their first blocks. Who calls it has the allocator's lock."""
    allocator.sweep()
    found = [(at, first) for at, (_, first) in allocator.segments.items() if pool_id(first.stream) == pool]
    if any([block.held for _, first in found for block in chain(first)]):
        raise RuntimeError("memory of the pool is still in use on other streams: synchronize first")
    return found


def _cuda_getCheckpointState(device: int, id: tuple[int, int]) -> Checkpoint:
    """Where the blocks of a pool lie on a device now."""
    allocator, made = backend(device).allocator, Checkpoint((id[0], id[1]), {})
    with allocator.lock:
        for address, first in _segments(allocator, made.pool):
            parts = [_Part(b.address, b.size, b.requested if b.allocated else 0) for b in chain(first)]
            made.segments[address] = parts
    return made


def _cuda_setCheckpointPoolState(
    device: int,
    state: Checkpoint,
    stale_storages: Sequence[int] = (),
    storages_to_add_deleters_to: Sequence[int] = (),
) -> None:
    """Have the blocks of a pool lie where they did. What was in use then is so until it is freed by its
    address, or the storages are gone that have it, or that it is given to.

    Storages are told by their `_cdata`; stale ones have none of it any more.
    """
    arrays = _arrays([*stale_storages, *storages_to_add_deleters_to])
    stale = {a.handle.block for k in stale_storages if (a := arrays.get(k)) is not None and a.handle}
    given = {a.address: a for k in storages_to_add_deleters_to if (a := arrays.get(k)) is not None}
    allocator = backend(device).allocator
    with allocator.lock:
        now = _segments(allocator, state.pool)
        if not state.segments.keys() <= {address for address, _ in now}:
            raise RuntimeError("memory of the pool was given back since its state was taken")
        before = {b.address: b for _, first in now for b in chain(first) if b.allocated}
        wanted = {part.address for parts in state.segments.values() for part in parts if part.requested}
        if len(before.keys() - wanted) > len(stale_storages):
            raise RuntimeError(
                "Any stale tensors which are being manually freed must be passed to set checkpoint"
            )
        kept = {address: block for address, block in before.items() if block not in stale}
        allocator.open_books = True
        handles: list[Handle] = []
        for address, first in now:
            _free(allocator, first)
            handles += _lay(allocator, address, state.segments.get(address, []), kept)
        allocator.open_books = False
    for handle in handles:
        if handle.address in given:
            given[handle.address].handle = handle
        else:
            memory_api._held[handle.address] = handle


def _arrays(numbers: Sequence[int]) -> dict[int, DeviceArray]:
    """The memory of storages on devices, by their `_cdata`, which is their objects' number."""
    wanted = set(numbers)
    found = [s for s in gc.get_objects() if s.__class__ is Storage and id(s) in wanted] if wanted else []
    return {id(s): s._bytes for s in found if s._bytes.__class__ is DeviceArray}


def _free(allocator: Allocator, first: Block) -> None:
    """Free a segment's blocks, whoever holds them: what these give back later is nothing any more."""
    for block in [b for b in chain(first) if b.allocated]:
        block.streams = NOBODY
        allocator._free(block)
        block.requested = 0


def _lay(
    allocator: Allocator, address: int, parts: Sequence[_Part], kept: Mapping[int, Block]
) -> list[Handle]:
    """Cut a free segment into blocks; handles of those in use that nobody has. kept: what somebody has."""
    size, whole = allocator.segments[address]
    allocator._withdraw(whole)
    stream, pool = whole.stream, whole.pool
    handles: list[Handle] = []
    before: Block | None = None
    for part in parts or [_Part(address, size, 0)]:
        had = kept.get(part.address) if part.requested else None
        block = had or Block(allocator, part.address, part.size, stream, pool, address)
        block.address, block.size, block.next = part.address, part.size, None  # one that was had was merged
        block.allocated, block.requested, block.previous = part.requested > 0, part.requested, before
        if before is None:
            allocator.segments[address] = size, block
        else:
            before.next = block
        before = block
    for block in chain(allocator.segments[address][1]):
        if not block.allocated:
            allocator.offer(block)
            continue
        allocator._all.took(block.size, block.requested)
        allocator.stats[pool].took(block.size, block.requested)
        if allocator.history is not None:
            allocator.history.allocated(block)
        if block.address not in kept:
            handles.append(Handle(allocator, block, block.requested))
    return handles


def _construct_storage_from_data_pointer(data_ptr: int, device: Any, size: int) -> UntypedStorage:
    """A storage of `size` bytes of a device's or the host's memory at an address, which it does not keep."""
    where = as_device(device)
    if where.type == "cpu":
        return UntypedStorage._over(np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(data_ptr)))
    array: Any = DeviceArray(backend(where), None, data_ptr, (size,), (1,), np.dtype(np.uint8))
    return UntypedStorage._over(array)
