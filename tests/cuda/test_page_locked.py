"""Page-locked memory: kept for later, but for what a device may still read or write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.core.accelerator import platform
from rushlight._engine.devices.cuda.api import backend
from rushlight._engine.devices.cuda.driver.queues import Mark
from tests.cuda.fake_driver import FakeDriver

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.devices("driver")


def test_page_locked_memory(fake: FakeDriver) -> None:
    torch.cuda.init()
    torch.accelerator.memory.empty_host_cache()
    before = fake.kinds()["host memory"]
    x = torch.randn(5, 3).t().pin_memory()
    assert x.is_pinned() and fake.kinds()["host memory"] == before + 1
    there = x.cuda(non_blocking=True)
    back = there.to("cpu", non_blocking=True)
    torch.cuda.synchronize()
    assert torch.equal(back, x) and back.is_pinned() and there.stride() == x.stride()
    del x, back
    torch.ones(2).pin_memory().cuda(non_blocking=True)
    torch.cuda.synchronize()
    torch.ones(2).pin_memory().cuda(non_blocking=True)
    assert fake.kinds()["host memory"] <= before + 3  # two blocks, and what a copy may still read


def test_page_locked_memory_is_kept_for_later(fake: FakeDriver) -> None:
    torch.cuda.init()
    x = torch.randn(300).pin_memory()
    place = x.data_ptr()
    x.cuda(non_blocking=True)
    y = torch.ones(300).pin_memory()
    assert y.data_ptr() != place
    del x
    torch.cuda.synchronize()
    torch.ones(1).cuda().copy_(torch.ones(1).pin_memory(), non_blocking=True)  # looks at copies that are done
    assert torch.ones(280).pin_memory().data_ptr() == place
    torch.cuda.synchronize()
    known = fake.kinds()["host memory"]
    torch.accelerator.memory.empty_host_cache()
    assert fake.kinds()["host memory"] < known


def test_what_a_replay_may_still_read_is_not_given_away(fake: FakeDriver) -> None:
    torch.cuda.init()
    x, graph = torch.ones(700).pin_memory(), torch.cuda.CUDAGraph()
    place = x.data_ptr()
    with torch.cuda.graph(graph):
        y = x.cuda(non_blocking=True) + 1
    graph.replay()
    del graph, x
    assert torch.ones(700).pin_memory().data_ptr() != place
    assert y.sum().item() == 1400


def test_copies_that_come_while_others_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    device: Any = backend()
    held, looked = np.ones(3), list[Mark]()

    def done(mark: Mark) -> bool:
        looked.append(mark)
        if len(looked) == 1:  # as another thread, or a collector, does
            device.hold(held, device.stream)
        return False

    device.hold(np.zeros(3), device.stream)
    monkeypatch.setattr(Mark, "done", done)
    device.hold(np.zeros(3), device.stream)
    assert len(device._flying) == 3 and any(what is held for _, what in device._flying)


def test_page_locked_memory_is_given_back_in_a_capture(fake: FakeDriver) -> None:
    x, graph = torch.ones(3, device="cuda"), torch.cuda.CUDAGraph()
    torch.ones(90).pin_memory()
    known = fake.kinds()["host memory"]
    with torch.cuda.graph(graph):
        y = x * 2
        backend().driver.relieve()
    assert fake.kinds()["host memory"] < known
    graph.replay()
    assert y.tolist() == [2, 2, 2]


def test_a_forked_child_has_no_page_locked_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.cuda.init()
    monkeypatch.setattr(platform(), "forked", True)
    with pytest.raises(RuntimeError, match="Cannot re-initialize CUDA in forked subprocess"):
        torch.ones(2).pin_memory()
