"""torch.cuda.MemPool: memory of its own, on both kinds of device."""

from __future__ import annotations

import threading

import pytest

import rushlight as torch
from rushlight._engine.core.accelerator import platform
from rushlight._engine.devices.cuda import graphs

pytestmark = pytest.mark.parametrize("devices", [("simulated",), ("driver", 1)], indirect=True)


def test_memory_comes_from_a_pool_and_goes_back_to_it(devices: None) -> None:
    pool, outside = torch.cuda.MemPool(), torch.ones(4, device="cuda")
    assert pool.use_count() == 1 and pool.snapshot() == []
    with torch.cuda.use_mem_pool(pool):
        assert pool.use_count() == 2
        inside = torch.ones(4, device="cuda") + outside
        for _ in range(4):  # also by functions that were written of earlier calls
            inside = inside + outside
    assert inside.tolist() == [6, 6, 6, 6] and pool.use_count() == 1
    (segment,) = pool.snapshot()
    assert segment["segment_pool_id"] == pool.id
    assert segment["address"] <= inside.data_ptr() < segment["address"] + segment["total_size"]
    place = inside.data_ptr()
    del inside
    torch.cuda.empty_cache()
    assert len(pool.snapshot()) == 1  # the pool's as long as it is
    assert (outside + 1).data_ptr() - segment["address"] not in range(segment["total_size"])
    with torch.cuda.use_mem_pool(pool):
        again = torch.ones(4, device="cuda")
        assert segment["address"] <= again.data_ptr() <= place
    name = pool.id
    del again, pool
    torch.cuda.empty_cache()
    assert torch.cuda.memory_snapshot(name) == []


def test_other_threads_have_memory_of_all(devices: None) -> None:
    pool = torch.cuda.MemPool()
    made: list[torch.Tensor] = []
    with torch.cuda.use_mem_pool(pool):
        thread = threading.Thread(target=lambda: made.append(torch.ones(4, device="cuda")))
        thread.start()
        thread.join()
    assert made[0].tolist() == [1, 1, 1, 1] and pool.snapshot() == []


def test_a_graph_takes_a_pool(devices: None) -> None:
    pool, graph, x = torch.cuda.MemPool(), torch.cuda.CUDAGraph(), torch.ones(4, device="cuda")
    x + 1
    with torch.cuda.graph(graph, pool=pool.id):
        y = x + 1
    graph.replay()
    assert y.tolist() == [2, 2, 2, 2] and pool.use_count() == 2 and len(pool.snapshot()) == 1


def test_what_pools_do_not_have(devices: None) -> None:
    with pytest.raises(RuntimeError, match="use_on_oom"):
        torch.cuda.MemPool(use_on_oom=True)


def test_memory_goes_back_with_its_pool(devices: None) -> None:
    pool = torch.cuda.MemPool()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    with torch.cuda.use_mem_pool(pool):
        x = torch.ones(4, device="cuda")
    name = pool.id
    del x
    assert torch.cuda.memory_reserved() > before
    del pool
    assert torch.cuda.memory_reserved() == before and name not in graphs._pools
    kept = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(kept):
        x = torch.ones(4, device="cuda")
    del kept
    assert x.tolist() == [1] * 4  # what is in use stays
    del x
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == before
    assert all(stream.pool is None for _, stream in platform().device(0).allocator.free_blocks)


def test_what_others_use_too_is_not_a_pools(devices: None) -> None:
    pool, x = torch.cuda.MemPool(), torch.arange(12.0, device="cuda").reshape(3, 4)
    for _ in range(2):  # constants and workspaces that are made in it
        with torch.cuda.use_mem_pool(pool):
            found = x @ x.T, torch.fft.fft(x), x.sort(), x.unfold(1, 2, 1).sum(), x[[0, 2]]
        del found
    torch.cuda.synchronize()
    assert all(segment["allocated_size"] == 0 for segment in pool.snapshot())


def test_a_capture_that_does_not_begin_leaves_its_pool(
    devices: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*args: object) -> None:
        raise RuntimeError("no")

    pool, stream = torch.cuda.MemPool(), torch.cuda.Stream()
    with monkeypatch.context() as patch, torch.cuda.stream(stream):
        patch.setattr(graphs, "Capture", refused)
        with pytest.raises(RuntimeError, match="no"):
            torch.cuda.CUDAGraph().capture_begin(pool=pool.id)
    assert pool.use_count() == 1


def test_the_innermost_pool_is_taken(devices: None) -> None:
    """Of pools and captures, the one that began last."""
    one, two, graph = torch.cuda.MemPool(), torch.cuda.MemPool(), torch.cuda.CUDAGraph()
    x = torch.ones(4, device="cuda")
    x + 1
    with torch.cuda.use_mem_pool(one):
        with torch.cuda.use_mem_pool(two):
            kept = [x + 1]
        kept.append(x + 1)
        with torch.cuda.graph(graph):
            kept.append(x + 1)
            with torch.cuda.use_mem_pool(two):
                kept.append(x + 1)
            kept.append(x + 1)
    graph.replay()
    assert [y.tolist() for y in kept] == [[2] * 4] * 5
    names = [two.id, one.id, graph.pool(), two.id, graph.pool()]
    for name in names:
        wanted = {y.data_ptr() for y, of in zip(kept, names, strict=True) if of == name}
        assert torch._C._cuda_checkPoolLiveAllocations(0, name, wanted)
        assert not torch._C._cuda_checkPoolLiveAllocations(0, name, {*wanted, 0})


def test_pools_by_what_they_are_made_of(devices: None) -> None:
    pool = torch.cuda.MemPool()
    torch._C._cuda_beginAllocateCurrentThreadToPool(0, pool.id)
    x = torch.ones(4, device="cuda")
    torch._C._cuda_endAllocateToPool(0, pool.id)
    assert pool.use_count() == 2
    torch._C._cuda_releasePool(0, pool.id)
    assert pool.use_count() == 1 and torch._C._cuda_checkPoolLiveAllocations(0, pool.id, {x.data_ptr()})
    with pytest.raises(RuntimeError, match="not currently recording to mempool_id"):
        torch._C._cuda_endAllocateToPool(0, pool.id)
    place = torch.cuda.caching_allocator_alloc(1000)
    before = torch.cuda.memory_allocated()
    torch._C._cuda_cudaCachingAllocator_raw_delete(place)
    assert torch.cuda.memory_allocated() == before - 1024
