"""Figures of memory, and a snapshot that names the lines that hold it."""

import gc
import pickle
import sys

import pytest

import rushlight as torch

memory = torch.cpu.memory
MIB = 1 << 20


@pytest.fixture(autouse=True)
def alone():
    gc.collect()  # what other tests have left would go meanwhile
    gc.freeze()  # and is not looked at, again and again
    yield
    gc.unfreeze()


@pytest.fixture
def recorded():
    for _ in range(3):  # kernels are ready: making them would be recorded, too
        (torch.zeros(MIB) + 1).sum()
    memory._record_memory_history()
    yield
    memory._record_memory_history(enabled=None)


def test_allocated_counts_each_memory_once_and_forgets_it():
    before = torch.cpu.memory_allocated()
    x = torch.zeros(4, MIB // 16)
    views = [x[0], x.t(), x.numpy(), (x.detach(),)]
    assert torch.cpu.memory_allocated() - before == MIB
    del x, views
    assert torch.cpu.memory_allocated() == before


def test_what_a_graph_saves_is_counted():
    def figures():
        before, x = torch.cpu.memory_allocated(), torch.ones(MIB // 4, requires_grad=True)
        y = x.exp().sum()
        forward = torch.cpu.memory_allocated() - before
        y.backward()  # the result has gone, a gradient came
        return forward, torch.cpu.memory_allocated() - before

    figures()  # plans are made now, and take the places of plans of earlier tests
    assert figures() == pytest.approx((2 * MIB, 2 * MIB), rel=0.01)


def test_no_memory_is_owned_by_expanded_or_meta_tensors():
    before = torch.cpu.memory_allocated()
    kept = torch.zeros(1).expand(MIB), torch.empty(MIB, device="meta")
    assert torch.cpu.memory_allocated() - before < 100 and len(kept) == 2


def test_peak(recorded):
    base = torch.cpu.memory_allocated()
    memory.reset_peak_memory_stats()
    x = torch.zeros(MIB)
    (x + 1).sum()
    del x
    peak = torch.cpu.max_memory_allocated()
    assert 8 * MIB <= peak - base < 8.3 * MIB
    assert torch.cpu.memory_stats()["allocated_bytes.all.peak"] >= peak


def test_peak_needs_a_record():
    with pytest.raises(RuntimeError, match="_record_memory_history"):
        torch.cpu.max_memory_allocated()
    assert memory.memory_snapshot()[0]["blocks"] == []


def test_a_snapshot_names_the_line(recorded, tmp_path):
    x = torch.zeros(MIB)
    memory._dump_snapshot(tmp_path / "memory.pickle")
    with open(tmp_path / "memory.pickle", "rb") as file:
        segment = pickle.load(file)["segments"][0]
    largest = max(segment["blocks"], key=lambda b: b["size"])
    assert largest["size"] == x.nbytes and segment["total_size"] >= x.nbytes
    assert any(f["filename"] == __file__ for f in largest["frames"])


@pytest.mark.skipif(
    sys.platform != "linux", reason="who keeps pages elsewhere is the C library's own business"
)
def test_freed_pages_are_used_again():
    resource = pytest.importorskip("resource")
    x = torch.randn(4 * MIB)

    def chain():
        return (x + 1) * ((x * 2) - (x + 3))

    def faults():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        chain()
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    for _ in range(3):
        chain()
    # One tensor has 4,096 pages, a chain four. The process counts other threads' faults, too:
    # kernels that earlier tests wanted are compiled meanwhile, so the quietest of eight counts.
    assert min(faults() for _ in range(8)) < 200
