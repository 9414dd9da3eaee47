"""What agents of a program's own are made of: a rendezvous, error files, logs, and collectives over a store."""

from __future__ import annotations

import io
import json
import os
import time
from datetime import timedelta
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import pytest

import rushlight.distributed as dist
from rushlight.distributed.elastic.multiprocessing.errors import (
    ChildFailedError,
    ErrorHandler,
    ProcessFailure,
    record,
)
from rushlight.distributed.elastic.multiprocessing.redirects import redirect_stdout
from rushlight.distributed.elastic.multiprocessing.tail_log import TailLog
from rushlight.distributed.elastic.rendezvous import RendezvousParameters, RendezvousStoreInfo
from rushlight.distributed.elastic.rendezvous.registry import get_rendezvous_handler
from rushlight.distributed.elastic.rendezvous.utils import _PeriodicTimer, parse_rendezvous_endpoint
from rushlight.distributed.elastic.utils.distributed import get_free_port
from rushlight.distributed.elastic.utils.store import barrier, synchronize

SHORT = timedelta(milliseconds=5)


def test_collectives_of_control() -> None:
    store = dist.HashStore()

    def run(rank: int) -> tuple[Any, ...]:
        group = dist._StoreCollectives(store, rank, 3)
        group.barrier("a")
        parts = group.scatter_send("b", ["x", "y", "z"]) if rank == 1 else group.scatter_recv("b")
        return parts, group.all_sum("c", rank), group.all_gather("d", str(rank))

    with ThreadPool(3) as pool:
        found = pool.map(run, range(3))
    every = [b"0", b"1", b"2"]
    assert found == [(b"x", 3, every), (b"y", 3, every), (b"z", 3, every)]
    late = dist._StoreCollectives(store, 1, 3)
    with pytest.raises(RuntimeError, match="gather failed -- missing ranks: 0, 2"):
        late.gather_recv("e", "mine", SHORT)
    with pytest.raises(RuntimeError, match="Key e has already been used"):
        late.gather_send("e", "mine")
    with pytest.raises(dist.DistStoreError, match="Wait timeout"):
        late.broadcast_recv("f", SHORT)


def test_agents_share_data_and_name_the_missing() -> None:
    store = dist.HashStore()
    with ThreadPool(2) as pool:
        found = pool.map(lambda rank: synchronize(store, b"%d" % rank, rank, 2, "data"), range(2))
    assert found == [[b"0", b"1"]] * 2
    with pytest.raises(dist.DistStoreError, match=r"missing_ranks=\[1\]"):
        barrier(store, 2, "gate", 0.01, rank=0, trace_timeout=0.01)


def test_a_static_rendezvous() -> None:
    port = get_free_port()
    given = RendezvousParameters("static", f"localhost:{port}", "run", 1, 1, rank=0, timeout=5)
    handler = get_rendezvous_handler(given)
    found = handler.next_rendezvous()
    assert (found.rank, found.world_size, handler.get_run_id()) == (0, 1, "run")
    assert found.bootstrap_store_info == RendezvousStoreInfo("localhost", port)
    assert RendezvousStoreInfo.build(0, found.store, "here", 7).master_port == 7
    with pytest.raises(ValueError, match="is not registered"):
        get_rendezvous_handler(RendezvousParameters("other", "", "run", 1, 1))
    assert RendezvousParameters("b", "", "", 1, 1, on="Yes", n="3").get_as_bool("on")


@pytest.mark.parametrize(
    ("said", "host", "port"),
    [("h:1", "h", 1), ("h", "h", 9), (" ", "localhost", 9), ("[::1]:5", "::1", 5), ("[::1]", "::1", 9)],
)
def test_endpoints(said: str, host: str, port: int) -> None:
    assert parse_rendezvous_endpoint(said, 9) == (host, port)
    with pytest.raises(ValueError, match="port number"):
        parse_rendezvous_endpoint("h:65536", 9)


def test_a_timer_runs_until_it_is_cancelled() -> None:
    rounds: list[int] = []
    timer = _PeriodicTimer(timedelta(milliseconds=2), rounds.append, 1)
    timer.start()
    while len(rounds) < 3:
        time.sleep(0.002)
    timer.cancel()
    count = len(rounds)
    time.sleep(0.02)
    assert len(rounds) == count


def test_errors_of_children_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child, own = tmp_path / "child.json", tmp_path / "own.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(child))
    ErrorHandler().record_exception(ValueError("bad"))
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(own))

    @record
    def main() -> None:
        raise ChildFailedError("train", {3: ProcessFailure(1, 42, 7, str(child))})

    with pytest.raises(ChildFailedError, match="train FAILED") as raised:
        main()
    told = json.loads(own.read_text())["message"]
    assert told["message"] == "ValueError: bad" and told["errorCode"] == 7
    assert "rank      : 3 (local_rank: 1)" in str(raised.value)
    assert "Signal 9 (SIGKILL)" in ProcessFailure(0, 1, -9, "").message


def test_logs_are_shown_while_they_are_written(tmp_path: Path) -> None:
    shown = io.StringIO()
    tail = TailLog("w", {0: str(tmp_path / "log")}, shown, interval_sec=0.001).start()
    (tmp_path / "log").write_text("one\ntwo\n")
    tail.stop()
    assert shown.getvalue() == "[w0]:one\n[w0]:two\n" and tail.stopped()


def test_streams_go_to_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with capfd.disabled(), redirect_stdout(str(tmp_path / "out")):
        os.system("echo child")
    assert (tmp_path / "out").read_text() == "child\n"
