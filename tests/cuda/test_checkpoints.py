"""Blocks of a graph's pool that go back to where they were: what programs use that replay graphs in turn."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.core.accelerator import platform
from rushlight._engine.devices.cuda.accounts import mending

pytestmark = pytest.mark.parametrize("devices", [("simulated",), ("driver", 1)], indirect=True)
C: Any = torch._C
Blocks = list[tuple[int, int, str]]


def captured(count: int, pool: Any = None) -> tuple[torch.cuda.CUDAGraph, list[torch.Tensor]]:
    x, graph = torch.ones(128, device="cuda"), torch.cuda.CUDAGraph()
    x + 1
    with torch.cuda.graph(graph, pool=pool):
        between = x + 1
        found = [between + k for k in range(count)]
        del between
    return graph, found


def blocks(pool: Any) -> Blocks:
    segments = torch.cuda.memory_snapshot(pool)
    return [(b["address"], b["size"], b["state"]) for s in segments for b in s["blocks"]]


def test_a_state_is_gone_back_to(devices: None) -> None:
    graph, found = captured(3)
    pool, figures = graph.pool(), torch.cuda.memory_stats()
    before, state = blocks(pool), C._cuda_getCheckpointState(0, pool)
    places = [y.data_ptr() for y in found]
    second, more = captured(5, pool)
    with pytest.raises(RuntimeError, match="Any stale tensors"):
        C._cuda_setCheckpointPoolState(0, state, [], [])
    stale = found.pop(0)
    more.append(stale)
    C._cuda_setCheckpointPoolState(0, state, [y.untyped_storage()._cdata for y in more], [])
    assert [b for b in blocks(pool) if b in before] == before
    assert C._cuda_checkPoolLiveAllocations(0, pool, set(places))
    del more, stale  # which keep nothing any more
    assert C._cuda_checkPoolLiveAllocations(0, pool, set(places))
    mending.mend(platform().device(0).allocator)
    assert [b for b in blocks(pool) if b in before] == before
    C._cuda_cudaCachingAllocator_raw_delete(places[0])
    for k in (1, 2):
        assert C._cuda_checkPoolLiveAllocations(0, pool, set(places[k:]))
        del found[0]
    assert C._cuda_checkPoolLiveAllocations(0, pool, set())
    for name in ("allocation", "active", "allocated_bytes", "requested_bytes"):
        assert torch.cuda.memory_stats()[f"{name}.all.current"] <= figures[f"{name}.all.current"]
    del graph, second
    torch.cuda.empty_cache()
    assert blocks(pool) == []


def test_memory_is_given_to_what_is_made_of_addresses(devices: None) -> None:
    graph, found = captured(2)
    pool, state = graph.pool(), C._cuda_getCheckpointState(0, graph.pool())
    places = [y.data_ptr() for y in found]
    graph.replay()
    del found
    assert C._cuda_checkPoolLiveAllocations(0, pool, set())
    storages = [C._construct_storage_from_data_pointer(at, torch.device("cuda"), 512) for at in places]
    made = [torch.empty(0, device="cuda").set_(s, 0, (128,), (1,)) for s in storages]
    numbers = [s._cdata for s in storages]
    del storages
    assert [y[5].item() for y in made] == [2, 3]
    C._cuda_setCheckpointPoolState(0, state, [], numbers[:1])
    assert C._cuda_checkPoolLiveAllocations(0, pool, set(places))
    del made[0]
    assert C._cuda_checkPoolLiveAllocations(0, pool, {places[1]})
    del made
    assert C._cuda_checkPoolLiveAllocations(0, pool, {places[1]})
    C._cuda_cudaCachingAllocator_raw_delete(places[1])
    assert C._cuda_checkPoolLiveAllocations(0, pool, set())


def test_what_was_given_back_is_no_state(devices: None) -> None:
    graph, found = captured(1)
    state = C._cuda_getCheckpointState(0, graph.pool())
    del graph, found
    torch.cuda.empty_cache()
    with pytest.raises(RuntimeError, match="given back"):
        C._cuda_setCheckpointPoolState(0, state, [], [])
    host = torch.arange(4.0)
    same = C._construct_storage_from_data_pointer(host.data_ptr(), host.device, 16)
    host[0] = 7
    assert torch.empty(0).set_(same).tolist() == [7, 1, 2, 3]
