"""NCCL: every collective among two ranks over imitations of the driver and of NCCL, errors, and the library itself."""

from __future__ import annotations

import ctypes
import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.devices.cuda.driver import nccl, nvidia_libraries
from rushlight.distributed.communication import nccl as served_by, nccl_work
from tests.cuda.fake_driver import FakeDriver
from tests.cuda.fake_nccl import FakeNccl
from tests.distributed.jobs import PROGRAMS, ranks

pytest.importorskip("llvmlite")


def told(case: str, codes: tuple[int, ...] = (0, 0)) -> list[Any]:
    """What both ranks of programs/nccl.py found in a case; None of one that ended without a word."""
    ended = ranks([sys.executable, str(PROGRAMS / "nccl.py"), case], 2, 90)
    assert tuple(e.code for e in ended) == codes, "\n".join(e.err[-2000:] for e in ended)
    return [json.loads(e.out.splitlines()[-1]) if e.out else None for e in ended]


def test_reductions() -> None:
    first, second = told("reductions")
    for key, value in first.items():
        of, _, op = key.partition(" RedOpType.")
        if not op:
            continue
        wanted = {"SUM": [3.0, 5, 7], "AVG": [1.5, 2.5, 3.5], "PRODUCT": [2, 6, 12], "MIN": [1, 2, 3]}
        wanted["MAX"] = [2, 3, 4]
        whole = [int(v) if "int" in of else v for v in wanted[op]]
        assert [complex(v) for v in json.loads(_real(value))] == [complex(v) for v in whole], key
        assert second[key] == value
    others = {k: [first[k], second[k]] for k in first if "RedOpType" not in k}
    assert others == {
        "bool": [[True, False, True]] * 2,
        "premul": [[1.5, 2.5]] * 2,
        "reduce": [[1, 2], [3, 5]],
        "reduce_scatter_tensor": [[3, 5], [7, 9]],
        "reduce_scatter": [[1.5, 2.5], [3.5, 4.5]],
        "uneven reduce_scatter": [[3], [5, 7]],
        "channels_last": [[[2 * i + 16 * n + 1 for i in range(8)]] * 2 for n in range(2)],
        "coalesced": [[[3], [5, 7]]] * 2,
    }


def _real(text: str) -> str:
    return text.replace("(", "").replace("+0j)", "")


def test_moves() -> None:
    first, second = told("moves")
    both = {
        "broadcast": [2, 3],
        "channels_last": [[*range(8)]] * 2,
        "all_gather": [[5, 6], [6, 7]],
        "uneven all_gather": [[0], [1, 2]],
        "all_gather_into_tensor": [[7, 8], [8, 9]],
        "complex": "[1j, 1j, 1j]",
    }
    own = {"gather": [], "scatter": 1, "all_to_all_single": [1, 2, 2, 3], "all_to_all": [[1], [2]]}
    assert first == {**both, **own}
    own = {"gather": [9, 10], "scatter": 2, "all_to_all_single": [3, 4, 4, 5], "all_to_all": [[2, 3], [3, 4]]}
    assert second == {**both, **own}


def test_transfers_batches_and_objects() -> None:
    found = told("transfers")
    for rank, one in enumerate(found):
        other = [2 - rank, 3 - rank]
        assert one["sent"] == other and one["sender"] == 1 - rank and one["batch"] == [1, other]
        assert one["collectives"] == 0
        assert one["coalesced"] == [3, 5] and one["gathered"] == [[1], [3, 4], [5, 6]]
        assert one["objects"] == [{"rank": r, "text": "x" * (1 + 3 * r)} for r in range(2)]
        assert one["broadcast objects"] == [{"a": 1}, "b"]
    assert found[0]["scattered objects"] == [["p"], ["p", "qq"]] and found[1]["sent objects"] == ["to", 1]


def test_what_goes_on_beside_other_work() -> None:
    for found in told("works"):
        assert found == {
            "wait": True,
            "done": True,
            "x": [3, 5],
            "kind": True,
            "then": [3, 5],
            "collected": [3, 3],
            "group": 7,
            "split": [7, 1, 1],
            "streams": True,
        }


def test_errors_are_pytorchs() -> None:
    found = told("errors")[0]
    assert found["cpu"] == "RuntimeError: No backend type associated with device type cpu"
    assert found["band"] == "ValueError: Cannot use ReduceOp.BAND with NCCL"
    assert found["bool"] == "TypeError: Cannot use ReduceOp.AVG with Boolean inputs"
    assert found["dtype"].endswith("not supported for NCCL process group: Short")
    assert found["strides"] == "ValueError: Tensors must be contiguous"
    assert "world_size times input tensor size" in found["size"] and "PreMulSum" in found["premul"]
    assert found["several"].startswith("RuntimeError: Expecting one tensor only but got multiple.")
    assert found["wire"].startswith("RuntimeError: NCCL alone serves the group '0'")
    assert found["monitored"] == "ValueError: monitored_barrier is only implemented for GLOO backend."
    assert found["init"].startswith(
        "DistBackendError: NCCL error in: ncclCommInitRank, invalid usage, NCCL version"
    )
    assert "ncclInvalidUsage: This usually reflects invalid usage of NCCL library." in found["init"]
    assert "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000" in found["init"]


def test_a_rank_that_goes_ends_the_others() -> None:
    found = told("failure", (0, 3))[0]
    assert found["seconds"] < 20
    _, second, third = found["told"]
    assert second.startswith("RankFailure") and "rank 1 failed" in second
    assert third.startswith("AcceleratorError") and "rank 1 failed" in third


def test_ddp() -> None:
    first, second = told("ddp")
    assert first == second and first["losses"][2] < first["losses"][0]


def test_batch_norm_over_the_batches_of_all() -> None:
    for found in told("sync_batch_norm"):
        assert found == {"uneven": [True] * 5, "empty": [True] * 5}


def test_the_watchdog_goes_on_after_a_failure() -> None:
    class Owner:
        def __init__(self, error: Exception | None) -> None:
            self.error, self.looks = error, 0

        def look(self) -> None:
            self.looks += 1
            if self.error is not None:
                raise self.error

    owners, dog = [Owner(OSError()), Owner(None)], nccl_work.Watchdog()
    dog._owners.update(owners)
    dog._look()
    dog._look()
    assert [owner.looks for owner in owners] == [2, 2]


@pytest.fixture
def alone(fake: FakeDriver, monkeypatch: Any) -> Any:
    """A group of one rank, whose NCCL is the imitation."""
    made = FakeNccl(fake)
    monkeypatch.setattr(nccl.Override, "library", made)
    dist.init_process_group("nccl", rank=0, world_size=1, store=dist.HashStore())
    yield made
    dist.destroy_process_group()


def nccl_of_world() -> Any:
    """What the default group has of NCCL."""
    world: Any = dist.group.WORLD
    return world.nccl


class Broken:
    """A mark that the driver fails to tell of."""

    def __init__(self, device: Any) -> None:
        self.stream = SimpleNamespace(device=device)

    def advance(self) -> bool:
        raise OSError("the driver's")


@pytest.mark.devices("driver")
def test_one_rank_with_two_devices(alone: FakeNccl, monkeypatch: Any) -> None:
    for index in range(2):
        x = torch.ones(3, device=f"cuda:{index}")
        work = dist.all_reduce(x, async_op=True)
        assert work is not None and work.wait() and work.get_future().wait()[0] is x
        assert x.tolist() == [1, 1, 1]
    assert alone.calls["ncclCommInitRank"] == 2 and dist.get_backend() == "nccl"
    dist.barrier()
    served = nccl_of_world()
    served.under_way.append(nccl_work.Begun(Broken(served.device()), "all_reduce", 1, 0.0, 1.0))
    monkeypatch.setattr(served, "abort", (given := []).append)
    served.look()
    assert [str(error) for error in given] == ["the driver's"]
    served.under_way.clear()
    graph = torch.cuda.CUDAGraph()
    y = torch.ones(2, device="cuda")
    with torch.cuda.graph(graph):
        y.mul_(2)
        dist.all_reduce(y)
    graph.replay()
    assert y.tolist() == [2, 2]
    graph.reset()


@pytest.mark.devices("driver")
def test_a_graph_outlives_its_group(fake: FakeDriver, monkeypatch: Any) -> None:
    made = FakeNccl(fake)
    monkeypatch.setattr(nccl.Override, "library", made)
    dist.init_process_group("nccl", rank=0, world_size=1, store=dist.HashStore())
    graph, y = torch.cuda.CUDAGraph(), torch.ones(2, device="cuda")
    with torch.cuda.graph(graph):
        dist.all_reduce(y)
        dist.all_reduce(y)
    dist.destroy_process_group()
    assert not made.calls["ncclCommDestroy"]  # it would wait for the graph
    graph.replay()
    graph.reset()
    assert made.calls["ncclCommDestroy"] == 1 and not made.live


@pytest.mark.devices("driver")
def test_what_the_host_waits_for_is_not_captured(alone: FakeNccl) -> None:
    dist.all_reduce(torch.ones(1, device="cuda"))  # makes the communicator
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(torch.AcceleratorError, match="not permitted when stream is capturing"):
        with torch.cuda.graph(graph):
            dist.barrier()
    dist.barrier()


@pytest.mark.devices("driver")
def test_groups_end_together(alone: FakeNccl, fake: FakeDriver) -> None:
    dist.all_reduce(torch.ones(1, device="cuda"))
    dist.all_reduce(torch.ones(1, device="cuda:1"))
    served = nccl_of_world()
    order: list[str] = []
    for name in ("ncclGroupStart", "ncclGroupEnd", "ncclCommAbort"):
        body = getattr(alone, name)
        setattr(alone, name, lambda *args, name=name, body=body: (order.append(name), body(*args))[1])
    served.abort(dist.DistBackendError("gone"))
    assert order == ["ncclGroupStart", "ncclCommAbort", "ncclCommAbort", "ncclGroupEnd"]
    assert not alone.live and fake.calls["cuCtxSetCurrent"]


@pytest.mark.devices("driver")
def test_a_pair_meets_anew_on_another_device(alone: FakeNccl) -> None:
    served = nccl_of_world()
    store = served.group.store
    for index in range(2):
        served.communicator(served.device(index), "0:0")
    assert store.get("nccl/0:0/0") != store.get("nccl/0:0/1")


@pytest.mark.devices("driver")
def test_the_watchdog_spoils_no_capture_that_begins_meanwhile(alone: FakeNccl, fake: FakeDriver) -> None:
    dist.all_reduce(torch.ones(1, device="cuda"))
    served = nccl_of_world()
    mark = served.device().stream.mark()
    served.under_way.append(nccl_work.Begun(mark, "all_reduce", 1, 0.0, 1e9))
    fake.log.clear()
    served.look()
    exchange = "cuThreadExchangeStreamCaptureMode"
    assert fake.log == [exchange, "cuEventQuery", exchange] and not served.under_way


@pytest.mark.devices("driver")
def test_what_is_split_has_nothing_under_way(alone: FakeNccl, fake: FakeDriver) -> None:
    dist.all_reduce(torch.ones(1, device="cuda"))
    fake.log.clear()
    part = nccl_of_world().split(0, 0, 1)
    assert part is not None and "cuCtxSynchronize" in fake.log
    part.close()


def test_communicators_of_pairs_are_ended_in_one_order() -> None:
    made = dict.fromkeys([(1, "0:2"), (0, "10:11"), (0, "0:2"), (1, ""), (0, "2:3"), (0, "")])
    assert [key for key, _ in sorted(made.items(), key=served_by._rank_order)] == [
        *[(0, ""), (1, ""), (0, "0:2"), (1, "0:2"), (0, "2:3"), (0, "10:11")]
    ]


@pytest.mark.devices("driver")
def test_it_says_what_to_install(monkeypatch: Any) -> None:
    monkeypatch.setattr(nccl, "_installed", lambda: (None, "no file"))
    assert not dist.is_nccl_available()
    with pytest.raises(RuntimeError, match=r"doesn't have NCCL built in.*rushlight\[nccl\].*no file"):
        dist.init_process_group("nccl", rank=0, world_size=1, store=dist.HashStore())


def test_the_library_itself() -> None:
    """What needs no device: its version, its words, and an id to meet by."""
    library, _ = nvidia_libraries.loaded(nvidia_libraries.places("nccl", nccl._VERSIONS), nccl.FUNCTIONS)
    if library is None:
        pytest.skip("NCCL is not installed")
    assert nccl.installed() and nccl.version() >= 21800
    assert nccl.library().ncclGetErrorString(5).startswith(b"invalid usage")
    assert len(nccl.unique_id()) == ctypes.sizeof(nccl.UniqueId) and nccl.unique_id() != nccl.unique_id()
    assert (
        str(nccl.error_of("ncclAllReduce", 4)).splitlines()[1]
        == "ncclInvalidArgument: Invalid value for an argument."
    )


@pytest.mark.devices("driver")
def test_what_stops_a_group_of_calls_is_raised_as_it_is(alone: FakeNccl, monkeypatch: Any) -> None:
    ends = []
    monkeypatch.setattr(alone, "ncclGroupEnd", lambda: ends.append(1) or 5, raising=False)
    with pytest.raises(KeyboardInterrupt):
        with nccl.grouped():
            raise KeyboardInterrupt
    with pytest.raises(nccl.NcclError, match="ncclInvalidUsage"):
        with nccl.grouped():
            pass
    assert ends == [1, 1]


@pytest.mark.devices("driver")
def test_nobody_waits_for_a_communicator_that_is_slow_to_end(alone: FakeNccl, monkeypatch: Any) -> None:
    served = nccl_of_world()
    made = served.communicator(served.device())
    body = alone.ncclCommDestroy

    def slow(handle: Any) -> int:
        made.abort()  # as the watchdog does meanwhile
        assert made.failure() is None
        return int(body(handle))

    monkeypatch.setattr(alone, "ncclCommDestroy", slow, raising=False)
    made.close()
    assert not alone.calls["ncclCommAbort"]
    with pytest.raises(nccl.NcclError, match="was aborted on rank 0"):
        array = torch.ones(1, device="cuda")._array
        made.all_reduce(array, array, nccl.SUM, served.device().stream)
    served._communicators.clear()
