"""torch.multiprocessing: memory that processes share, what queues and pipes carry, spawn and how processes end."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight import multiprocessing as mp, nn

METHODS = ["fork", "spawn"]


# --- sharing --------------------------------------------------------------------------------------


def test_share_memory_keeps_what_a_tensor_is() -> None:
    a = torch.arange(12.0).reshape(3, 4)
    part, turned, pointer = a[1], a.t(), a.data_ptr()
    assert not a.is_shared() and a.share_memory_() is a
    assert a.is_shared() and part.is_shared() and turned.is_shared() and a.untyped_storage().is_shared()
    assert a.data_ptr() != pointer and turned.stride() == (1, 4) and part.storage_offset() == 4
    a[1, 1] = 50
    assert part[1] == 50 and turned[1, 1] == 50 and a._version == 1
    moved = a.data_ptr()
    assert a.share_memory_().data_ptr() == moved and a.untyped_storage().data_ptr() == moved
    assert not a.clone().is_shared() and pickle.loads(pickle.dumps(a)).tolist() == a.tolist()


@pytest.mark.parametrize(
    "t",
    [
        torch.zeros(0),
        torch.tensor(3),
        torch.ones(2, dtype=torch.bfloat16),
        torch.ones(3, 2).t(),
        torch.complex(torch.ones(2), torch.ones(2)).conj(),
        torch.ones(2, requires_grad=True),
        nn.Parameter(torch.ones(2)),
        torch.ones(1).expand(3),
    ],
    ids=repr,
)
def test_what_is_shared(t: Any) -> None:
    before = t.tolist(), t.dtype, t.stride(), type(t), t.requires_grad, t.is_conj()
    t.share_memory_()
    assert (
        t.is_shared() and (t.tolist(), t.dtype, t.stride(), type(t), t.requires_grad, t.is_conj()) == before
    )


def test_storages_and_modules() -> None:
    a = torch.arange(4)
    assert a.untyped_storage().share_memory_().is_shared() and a.is_shared()
    a.untyped_storage()[0] = 9
    assert a[0] == 9
    layer = nn.BatchNorm1d(2).share_memory()
    assert all(t.is_shared() for t in (*layer.parameters(), *layer.buffers()))


def test_training_goes_on() -> None:
    def trained(share: bool) -> Any:
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        optimizer = torch.optim.AdamW(model.parameters())
        for step in range(6):
            optimizer.zero_grad()
            model(torch.ones(4, 3)).square().sum().backward()
            optimizer.step()
            if share and step == 2:
                model.share_memory()
        return model.weight.detach()

    assert (trained(True) == trained(False)).all()


# --- between processes ----------------------------------------------------------------------------


def _add(t: Any, amount: float) -> None:
    t.add_(amount)


def _answer(asked: Any, answers: Any) -> None:
    for t in iter(asked.get, None):
        t *= 2
        answers.put((t, t[1:], nn.Parameter(t.clone())))
        asked.task_done()


def _square(t: Any) -> Any:
    return t * t


@pytest.mark.parametrize("method", METHODS)
def test_a_process_writes_to_our_memory(method: str) -> None:
    a = torch.zeros(3).share_memory_()
    process = mp.get_context(method).Process(target=_add, args=(a[1:], 2.0))
    process.start()
    process.join()
    assert process.exitcode == 0 and a.tolist() == [0, 2, 2]


@pytest.mark.parametrize("method", METHODS)
def test_queues_carry_memory_not_copies(method: str) -> None:
    context = mp.get_context(method)
    asked, answers = context.JoinableQueue(), context.Queue()
    process = context.Process(target=_answer, args=(asked, answers), daemon=True)
    process.start()
    a = torch.arange(4.0)
    asked.put(a)
    whole, part, made = answers.get(timeout=60)
    assert a.tolist() == [0, 2, 4, 6] and a.is_shared()
    whole[1] = 7
    assert a[1] == 7 and part[0] == 7  # it came back as the storage that it is
    assert type(made) is nn.Parameter and made.requires_grad and made.tolist() == [0, 2, 4, 6]
    asked.put(None)
    process.join(10)
    assert whole.tolist() == [0, 7, 4, 6] and process.exitcode == 0


def test_pools_and_pipes() -> None:
    with mp.get_context("fork").Pool(2) as pool:
        assert [t.tolist() for t in pool.map(_square, [torch.arange(3), torch.tensor(5)])] == [[0, 1, 4], 25]
    ours, theirs = mp.Pipe()
    ours.send(torch.arange(3))
    assert theirs.recv().tolist() == [0, 1, 2]
    with pytest.raises(
        RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"
    ):
        ours.send(torch.ones(2, requires_grad=True) * 2)


def test_no_descriptor_stays_open() -> None:
    gc.collect()  # what other tests have left would close its own meanwhile
    count = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        torch.ones(10).share_memory_()
    assert len(os.listdir("/proc/self/fd")) <= count


def test_strategies() -> None:
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError):
        mp.set_sharing_strategy("x")


# --- spawn ----------------------------------------------------------------------------------------


def _fill(index: int, t: Any) -> None:
    t[index] = index + 1


def _fail(index: int, how: str) -> None:
    if index == 1:
        time.sleep(60)
    if how == "raises":
        raise ValueError("no good")
    if how == "exits":
        sys.exit(3)
    os.kill(os.getpid(), signal.SIGKILL)


def test_spawn() -> None:
    t = torch.zeros(3)
    assert mp.spawn(_fill, (t,), nprocs=3) is None
    assert t.tolist() == [1, 2, 3]
    context = mp.start_processes(_fill, (t.zero_(),), 2, join=False, start_method="fork")
    assert len(context.pids()) == 2
    while not context.join():
        pass
    assert t.tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("how", "kind", "text", "code", "name"),
    [
        (
            "raises",
            mp.ProcessRaisedException,
            "-- Process 0 terminated with the following error:\nTraceback",
            None,
            None,
        ),
        ("exits", mp.ProcessExitedException, "process 0 terminated with exit code 3", 3, None),
        ("killed", mp.ProcessExitedException, "process 0 terminated with signal SIGKILL", -9, "SIGKILL"),
    ],
)
def test_failures(how: str, kind: Any, text: str, code: Any, name: Any) -> None:
    start = time.monotonic()
    with pytest.raises(kind) as told:
        mp.start_processes(_fail, (how,), 2, start_method="fork")
    assert time.monotonic() - start < 30
    error = told.value
    assert text in str(error) and (error.error_index, getattr(error, "exit_code", None)) == (0, code)
    assert getattr(error, "signal_name", None) == name and ("ValueError: no good" in str(error)) is (
        how == "raises"
    )
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and str(again) == str(error) and again.error_pid == error.error_pid


def test_spawn_has_one_method() -> None:
    with pytest.warns(FutureWarning, match="only supports start_method=spawn"):
        mp.spawn(_fill, (torch.zeros(1),), start_method="fork")


def test_processes_end_with_the_one_that_started_them() -> None:
    program = subprocess.Popen(
        [
            sys.executable,
            "-c",
            """
import os, time
from rushlight import multiprocessing as mp
def sleep(index): time.sleep(60)
context = mp.start_processes(sleep, nprocs=1, join=False, start_method="fork")
print(context.pids()[0], flush=True)
time.sleep(60)
""",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    pid = int(program.stdout.readline())  # type: ignore[union-attr]
    program.kill()
    program.wait()
    for _ in range(100):
        if not os.path.exists(f"/proc/{pid}") or open(f"/proc/{pid}/stat").read().split()[2] == "Z":
            return
        time.sleep(0.1)
    raise AssertionError("it lives on")


def test_hogwild() -> None:
    model = nn.Linear(2, 1).share_memory()
    before = model.weight.detach().clone()
    mp.start_processes(_train, (model,), 2, start_method="fork")
    assert (model.weight != before).all() and np.isfinite(model.weight.detach().numpy()).all()


def _train(index: int, model: Any) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.ones(3, 2)).square().sum().backward()
        optimizer.step()


def _scale(model: Any) -> None:
    with torch.no_grad():
        model.weight.mul_(2)


@pytest.mark.parametrize("before", [True, False], ids=["shared before", "shared by sending"])
def test_a_spawned_process_trains_the_parents_parameters(before: bool) -> None:
    model = nn.Linear(2, 1, bias=False)
    wanted = (2 * model.weight).tolist()
    if before:
        model.share_memory()
        assert model.weight.data.is_shared() and model.weight.detach().is_shared()
    child = mp.get_context("spawn").Process(target=_scale, args=(model,))
    child.start()
    child.join()
    assert child.exitcode == 0 and model.weight.is_shared() and model.weight.tolist() == wanted
