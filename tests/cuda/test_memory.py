"""The caching allocator: PyTorch's rounding, splitting, figures and errors."""

from __future__ import annotations

import gc
import itertools
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.core.accelerator import platform
from rushlight._engine.devices.cuda.allocator import Allocator
from tests.cuda.conftest import use

MIB = 1 << 20


def _bytes(n: int) -> torch.Tensor:
    return torch.empty(n, dtype=torch.uint8, device="cuda")


def test_requests_are_rounded_and_segments_cached() -> None:
    a = _bytes(1)
    assert torch.cuda.memory_allocated() == 512 and torch.cuda.memory_reserved() == 2 * MIB
    b = _bytes(2 * MIB)
    assert torch.cuda.memory_allocated() == 2 * MIB + 512 and torch.cuda.memory_reserved() == 22 * MIB
    c = _bytes(19 * MIB)
    assert torch.cuda.memory_reserved() == 42 * MIB
    d = _bytes(1 * MIB + 1)  # out of the rest of b's segment
    assert torch.cuda.memory_reserved() == 42 * MIB
    del a, b, c, d
    gc.collect()
    assert torch.cuda.memory_allocated() == 0 and torch.cuda.memory_reserved() == 42 * MIB
    assert torch.cuda.max_memory_allocated() == 23 * MIB + 1024
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 0 and torch.cuda.max_memory_reserved() == 42 * MIB
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == 0 == torch.cuda.max_memory_reserved()


def test_views_hold_the_memory_and_freed_neighbours_merge() -> None:
    parts = [_bytes(4 * MIB) for _ in range(5)]
    assert torch.cuda.memory_reserved() == 20 * MIB
    view = parts[0][:10]
    del parts
    assert torch.cuda.memory_allocated() == 4 * MIB
    del view
    assert torch.cuda.memory_allocated() == 0
    whole = _bytes(18 * MIB)
    stats = torch.cuda.memory_stats()
    assert torch.cuda.memory_reserved() == 20 * MIB and whole.numel() == 18 * MIB
    assert stats["segment.all.current"] == 1 and stats["allocation.large_pool.peak"] == 5
    assert stats["allocated_bytes.all.allocated"] == 38 * MIB and stats["num_ooms"] == 0


def test_running_out_and_going_on() -> None:
    held = [_bytes(200 * MIB) for _ in range(4)]
    with pytest.raises(torch.cuda.OutOfMemoryError) as caught:
        _bytes(300 * MIB)
    words = str(caught.value)
    assert "Tried to allocate 300.00 MiB. GPU 0 has a total capacity of 1.00 GiB" in words
    assert "800.00 MiB is allocated by PyTorch" in words and isinstance(caught.value, torch.OutOfMemoryError)
    del held[:2]
    assert _bytes(300 * MIB).numel() == 300 * MIB  # what is cached is given back first
    assert torch.cuda.memory_stats()["num_ooms"] == 1 and torch.cuda.memory_stats()["num_alloc_retries"] >= 1
    assert torch.cuda.mem_get_info()[1] == 1 << 30


def test_a_fraction_limits_it() -> None:
    torch.cuda.set_per_process_memory_fraction(0.1)
    with pytest.raises(torch.OutOfMemoryError, match="102.40 MiB allowed"):
        _bytes(200 * MIB)
    with pytest.raises(ValueError, match="0~1"):
        torch.cuda.set_per_process_memory_fraction(2.0)


def test_the_summary_is_a_table() -> None:
    held = _bytes(3 * MIB)
    lines = torch.cuda.memory_summary().splitlines()
    assert {len(line) for line in lines if line} == {77} and held.numel()
    assert any(line.startswith("| Allocated memory      |   3072 KiB |   3072 KiB ") for line in lines)
    assert torch.cuda.memory_snapshot()[0]["blocks"][0]["state"] == "active_allocated"


def test_training_does_not_grow() -> None:
    model = torch.nn.Linear(64, 64).cuda()
    optimizer, seen = torch.optim.AdamW(model.parameters()), []
    for _ in range(6):
        optimizer.zero_grad()
        model(torch.randn(32, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        seen.append(torch.cuda.memory_allocated())
    assert len(set(seen[2:])) == 1


def test_history_names_the_lines(tmp_path: Path) -> None:
    torch.cuda.memory._record_memory_history()
    held = _bytes(3 * MIB)
    blocks = [b for s in torch.cuda.memory._snapshot()["segments"] for b in s["blocks"]]
    frames = next(b["frames"] for b in blocks if b["state"] == "active_allocated")
    assert frames[0]["filename"].endswith("test_memory.py") and held.numel()
    assert torch.cuda.memory._allocation_traceback(held.data_ptr()) == frames
    del held
    torch.cuda.empty_cache()
    events = torch.cuda.memory._snapshot()["device_traces"][0]
    actions = ["segment_alloc", "alloc", "free_requested", "free_completed", "segment_free"]
    assert [t["action"] for t in events] == actions
    assert {t["size"] for t in events} == {20 * MIB, 3 * MIB} and all(t["time_us"] > 0 for t in events)
    torch.cuda.memory._dump_snapshot(f"{tmp_path}/snapshot.pickle")
    saved = pickle.loads((tmp_path / "snapshot.pickle").read_bytes())
    assert saved["device_traces"][0] == events
    torch.cuda.memory._record_memory_history(None)
    assert torch.cuda.memory._snapshot()["device_traces"][0] == []


@pytest.mark.parametrize("context", [None, "state", "alloc", "all"])
def test_history_keeps_the_lines_that_were_asked_for(context: str | None) -> None:
    def taken() -> torch.Tensor:
        return _bytes(3 * MIB)

    torch.cuda.memory._record_memory_history(context=context)
    kept = taken()
    now = str(torch.cuda.memory._snapshot()["segments"])
    kept = kept.new_empty(0)
    torch.cuda.empty_cache()
    events = str(torch.cuda.memory._snapshot()["device_traces"])
    torch.cuda.memory._record_memory_history(None)
    assert ("taken" in now) == (context is not None)
    assert ("'taken'" in events) == (context in ("alloc", "all"))
    assert ("lines_that_were_asked" in events.partition("segment_free")[2]) == (context == "all")


def test_history_tells_what_is_refused_and_from_where() -> None:
    torch.cuda.memory._record_memory_history()
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        x = _bytes(3 * MIB)
    with pytest.raises(torch.OutOfMemoryError):
        _bytes(1 << 40)
    events = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(None)
    del x
    assert [t["pool_id"] for t in events if t["action"] in ("alloc", "oom")] == [pool.id, (0, 0)]
    assert events[-1]["action"] == "oom" and events[-1]["size"] == 1 << 40
    assert events[-1]["frames"][0]["name"] == "_bytes"


def test_history_that_is_over_tells_no_lines() -> None:
    torch.cuda.memory._record_memory_history()
    x = _bytes(3 * MIB)
    torch.cuda.memory._record_memory_history(None)
    del x
    x = _bytes(3 * MIB)  # the block that has just come back
    assert torch.cuda.memory._allocation_traceback(x.data_ptr()) is None


def test_history_has_a_length() -> None:
    torch.cuda.memory._record_memory_history(max_entries=3)
    for _ in range(4):
        _bytes(100)
    events = torch.cuda.memory._snapshot()["device_traces"][0]
    assert [t["action"] for t in events] == ["alloc", "free_requested", "free_completed"]
    page = torch.cuda._memory_viz.trace_plot(torch.cuda.memory._snapshot(), filter_freed=True)
    assert "Active Memory Timeline" in page and "add_local_files" in page
    torch.cuda.memory._record_memory_history(None)
    with pytest.raises(RuntimeError, match="expected context to be"):
        torch.cuda.memory._record_memory_history(context="some")


def test_ten_thousand_requests_leave_the_books_in_order() -> None:
    draw, held = random.Random(0), []
    for _ in range(10_000):
        if held and (draw.random() < 0.48 or torch.cuda.memory_allocated() > 600 * MIB):
            held.pop(draw.randrange(len(held)))
        else:
            size = draw.choice(
                (draw.randrange(1, 4096), draw.randrange(1, 2 * MIB), draw.randrange(1, 24 * MIB))
            )
            held.append(_bytes(size))
        if draw.random() < 0.001:
            torch.cuda.empty_cache()
    stats, segments = torch.cuda.memory_stats(), torch.cuda.memory_snapshot()
    blocks = [b for s in segments for b in s["blocks"]]
    used = [b for b in blocks if b["state"] == "active_allocated"]
    assert stats["allocation.all.current"] == len(held) == len(used)
    assert stats["requested_bytes.all.current"] == sum(t.numel() for t in held)
    assert stats["allocated_bytes.all.current"] == sum(b["size"] for b in used)
    assert stats["reserved_bytes.all.current"] == sum(s["total_size"] for s in segments)
    for s in segments:
        at = s["address"]
        assert s["total_size"] % (2 * MIB) == 0
        for b in s["blocks"]:
            assert b["address"] == at and b["size"] % 512 == 0
            at += b["size"]
        assert at == s["address"] + s["total_size"]
    for t in held:
        size = -(-t.numel() // 512) * 512
        left = next(b["size"] for b in used if b["address"] == t.data_ptr()) - size
        assert 0 <= left < 512 if size <= MIB else 0 <= left <= MIB  # what is too little to be split off
    del held, t
    gc.collect()
    assert torch.cuda.memory_allocated() == 0
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 0


class _Stream:
    """What the allocator asks of a stream."""

    kept, number = False, 0


def _allocator() -> Allocator:
    """An allocator whose driver always has more."""
    addresses = itertools.count(1 << 30, 1 << 27)
    return Allocator(1 << 44, lambda size: next(addresses), lambda address, size: None, lambda: None)


@pytest.mark.parametrize("seed", range(6))
def test_frees_that_wait_change_nothing(seed: int) -> None:
    """Blocks are given back when somebody asks for memory or figures; places and figures are as if at once."""
    draw, one, two, stream = random.Random(seed), _allocator(), _allocator(), _Stream()
    usual = (100, 512, 4096, 70_000, 2 * MIB, 5 * MIB, 12 * MIB)
    sizes = [draw.choice(usual) for _ in range((2, 4, 30)[seed % 3])]
    held: list[Any] = []

    def refused(size: int) -> Exception:
        return MemoryError(size)

    for step in range(1500):
        size = draw.randrange(1, 3 * MIB) if draw.random() < 0.1 else draw.choice(sizes)
        pair = one.allocate(size, stream, refused), two.allocate(size, stream, refused)
        assert pair[0].address == pair[1].address
        held.append(pair)
        while held and draw.random() < (0.5 if len(held) < 10 else 0.9):
            pair = held.pop(draw.randrange(len(held)) if draw.random() < 0.3 else 0)
            del pair
            two.figure("segment")  # which frees it at once
        if step % 97 == 0:
            assert one.statistics() == two.statistics()


@pytest.mark.parametrize("devices", [("simulated",), ("driver", 1)], indirect=True)
def test_what_nobody_has_written_is_the_same_where_that_is_asked_for(devices: None) -> None:
    torch.use_deterministic_algorithms(True)
    try:
        for of in (torch.int8, torch.int64, torch.bool, torch.uint8, torch.float32, torch.bfloat16):
            here, there = (torch.empty(3, dtype=of, device=where) for where in ("cpu", "cuda"))
            torch.testing.assert_close(there.cpu(), here, equal_nan=True)
    finally:
        torch.use_deterministic_algorithms(False)


def test_a_late_lack_of_memory_kills_no_context() -> None:
    device: Any = platform().device(0)

    def work() -> None:
        raise torch.OutOfMemoryError("no more")

    device._submit(work, "work")
    with pytest.raises(torch.OutOfMemoryError, match="no more"):
        torch.cuda.synchronize()
    assert torch.ones(2, device="cuda").sum().item() == 2


def test_options_round_requests_up() -> None:
    size = 84 * MIB
    try:
        for text, wanted in (
            ("roundup_power2_divisions:4", 96 * MIB),
            ("roundup_power2_divisions:[64:8,128:2,256:2,>:1]", 88 * MIB),
            ("garbage_collection_threshold:0.5,max_split_size_mb:40", size),
            ("", size),
        ):
            torch.cuda.memory._set_allocator_settings(text)
            torch.cuda.empty_cache()
            x = _bytes(size)
            assert torch.cuda.memory_allocated() == wanted
            assert torch.cuda.memory_stats()["requested_bytes.all.current"] == size
            assert torch.cuda.memory._snapshot()["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"] == text
            del x
    finally:
        torch.cuda.memory._set_allocator_settings("")


def test_large_blocks_are_not_split() -> None:
    try:
        torch.cuda.memory._set_allocator_settings("max_split_size_mb:32")
        _bytes(64 * MIB)
        y = _bytes(24 * MIB)
        assert torch.cuda.memory_reserved() == 88 * MIB  # a small request has no part of it
        z = _bytes(50 * MIB)
        assert torch.cuda.memory_reserved() == 88 * MIB and torch.cuda.memory_allocated() == 88 * MIB
        del y, z
    finally:
        torch.cuda.memory._set_allocator_settings("")


def test_the_environments_options_give_way_to_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "roundup_power2_divisions:4")
    use("simulated:2x1GB")
    x = _bytes(84 * MIB)
    assert torch.cuda.memory_allocated() == 96 * MIB
    del x
    use("simulated:2x1GB")
    torch.cuda.memory._set_allocator_settings("roundup_power2_divisions:8")
    try:
        x = _bytes(84 * MIB)
        assert torch.cuda.memory_allocated() == 88 * MIB
        del x
    finally:
        torch.cuda.memory._set_allocator_settings("")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("foo:1,bar:2", "Unrecognized key 'foo'"),
        ("max_split_size_mb:2", "max_split_size_mb too small, must be >= 20"),
        ("garbage_collection_threshold:1.2", "garbage_collect_threshold is invalid"),
        ("roundup_power2_divisions:3", "has to be power of 2"),
        ("expandable_segments:x", "Expected 'True' or 'False'"),
        ("pinned_num_register_threads:1024", "less than or equal to 128"),
        ("max_split_size_mb", "Expected a value"),
    ],
)
def test_options_that_are_none(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        torch.cuda.memory._set_allocator_settings(text)


def test_a_device_may_be_named_by_the_block_that_makes_it_current() -> None:
    x = torch.empty(1000, device="cuda:1")
    assert torch.cuda.memory_allocated(torch.cuda.device(1)) == 4096
    assert torch.cuda.memory_allocated(torch.cuda.device(0)) == 0
    del x


def test_giving_memory_back_waits_for_streams() -> None:
    def waits() -> int:
        return int(torch.cuda.memory_stats()["num_sync_all_streams"])

    side, before = torch.cuda.Stream(), waits()
    x = torch.ones(3 << 20, device="cuda")
    x.record_stream(side)
    with torch.cuda.stream(side):
        x + 1
    del x
    torch.cuda.empty_cache()
    assert waits() == before + 1
    assert torch.cuda.memory_reserved() <= 12 << 20  # what the side stream has made
