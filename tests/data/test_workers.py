"""Worker processes and threads: batches, failures, and what is left behind (nothing)."""

from __future__ import annotations

import _thread
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset, get_worker_info

METHODS = ("fork", "spawn", "forkserver")
KINDS = ("process", "thread")


class Items(Dataset):
    """(number, a tensor, a dict with an array and a text); at some numbers something happens."""

    def __init__(self, n: int = 10, **events: Any) -> None:
        self.n, self.events = n, events

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> Any:
        for name, where in self.events.items():
            if i == where:
                _EVENTS[name]()
        return i, torch.full((3,), float(i)), {"a": np.arange(2) + i, "s": f"item {i}"}


def _raise() -> None:
    raise KeyError("no such item")


_EVENTS = {
    "raises": _raise,
    "dies": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "leaves": lambda: os._exit(0),
    "exits": lambda: sys.exit(3),
    "sleeps": lambda: time.sleep(60),
    "dawdles": lambda: time.sleep(0.4),
}


class Draws(Dataset):
    """Random numbers of every kind."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, i: int) -> Any:
        import random

        rng = get_worker_info().rng
        return (
            torch.rand(2),
            (rng.random_generator if rng else random).random(),
            (rng.numpy_generator if rng else np.random).rand(),
        )


class Stream(IterableDataset):
    """Numbers, shared out to the workers unless `whole`."""

    def __init__(self, n: int, whole: bool = False, says: int | None = None) -> None:
        self.n, self.whole, self.says = n, whole, says

    def __iter__(self) -> Any:
        info = get_worker_info()
        if info is None or self.whole:
            return iter(range(self.n))
        return iter(range(info.id, self.n, info.num_workers))

    def __len__(self) -> int:
        return self.n if self.says is None else self.says


def plain(batches: Any) -> Any:
    """Tensors as lists, at any depth."""
    if isinstance(batches, (torch.Tensor, np.ndarray)):
        return batches.tolist()
    if isinstance(batches, dict):
        return {k: plain(v) for k, v in batches.items()}
    return [plain(b) for b in batches] if isinstance(batches, (list, tuple)) else batches


def both(dataset: Any, **options: Any) -> None:
    """Workers give what the main process gives."""
    torch.manual_seed(1)
    alone = plain(list(DataLoader(dataset, **{**options, "num_workers": 0})))
    torch.manual_seed(1)
    assert plain(list(DataLoader(dataset, **{"num_workers": 2, **options}))) == alone


def shared_memory() -> set[str]:
    """What is in shared memory, without MPI's, which is of other tests, and without semaphores: these are
    unlinked as they are made, so that a name that is seen, of multiprocessing or the one that the C library
    begins with, is made by another process just now.
    """
    return {name for name in os.listdir("/dev/shm") if not name.startswith(("sem.", "mpich_"))}


@pytest.fixture(autouse=True)
def _nothing_left() -> Any:
    before = shared_memory(), len(os.listdir("/proc/self/fd"))
    yield
    gc.collect()
    assert not multiprocessing.active_children()
    assert shared_memory() <= before[0]
    assert len(os.listdir("/proc/self/fd")) <= before[1] + 4  # multiprocessing's own server and tracker


# --- the same batches -----------------------------------------------------------------------------


@pytest.mark.parametrize("worker", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 3},
        {"batch_size": 3, "shuffle": True},
        {"batch_size": 4, "drop_last": True},
        {"batch_size": None},
        {"batch_sampler": [[1, 2], [5], [9, 0, 3]]},
        {"sampler": [7, 3, 3], "batch_size": 2},
        {"batch_size": 3, "collate_fn": list},
    ],
    ids=str,
)
def test_same_batches_as_the_main_process(worker: str, options: Any) -> None:
    both(Items(), worker=worker, **options)


@pytest.mark.parametrize("method", METHODS)
def test_start_methods(method: str) -> None:
    tensors = TensorDataset(torch.randn(40, 30), torch.arange(40), torch.arange(40).to(torch.bfloat16))
    torch.manual_seed(1)
    alone = plain(list(DataLoader(tensors, 7, True)))
    torch.manual_seed(1)
    loader = DataLoader(tensors, 7, True, num_workers=2, multiprocessing_context=method)
    assert plain(list(loader)) == alone
    assert len(list(DataLoader(Items(), 5, num_workers=1, multiprocessing_context=method))) == 2


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn", "int64", "bool", "complex64"])
@pytest.mark.parametrize("subset", [False, True])
@pytest.mark.parametrize("options", [{}, {"worker_init_fn": int}], ids=["here", "by workers"])
def test_gathered_batches(dtype: str, subset: bool, options: Any) -> None:
    data: Any = TensorDataset(torch.arange(200).to(getattr(torch, dtype)).reshape(50, 2, 2), torch.arange(50))
    data = Subset(Subset(data, range(49, 0, -1)), np.arange(3, 48)) if subset else data
    torch.manual_seed(1)
    alone = list(DataLoader(data, 4, shuffle=True))
    torch.manual_seed(1)
    ahead = list(DataLoader(data, 4, shuffle=True, num_workers=2, **options))
    for a, b in zip(alone, ahead, strict=True):
        assert type(a) is type(b) is list
        for s, t in zip(a, b, strict=True):
            assert s.dtype is t.dtype and s.stride() == t.stride() and (s.float() == t.float()).all()
            assert t.is_leaf and t.untyped_storage().nbytes() == t.numel() * t.element_size()


def test_small_batches_of_rows_start_no_worker() -> None:
    data = TensorDataset(torch.arange(40.0), torch.arange(40))
    loader = DataLoader(
        data, 3, sampler=[*range(8), 40, *range(8)], num_workers=2, timeout=5, prefetch_factor=1
    )
    batches = iter(loader)
    assert [plain(next(batches)) for _ in range(2)] == [
        [[0, 1, 2]] * 2,
        [[3, 4, 5]] * 2,
    ] and not multiprocessing.active_children()
    data.tensors[0].add_(1)
    with pytest.raises(IndexError, match="Caught IndexError in DataLoader worker process 0"):
        next(batches)
    assert plain(list(batches))[0] == [[1, 2, 3], [0, 1, 2]]
    for options in ({"worker_init_fn": int}, {"multiprocessing_context": "fork"}, {"collate_fn": list}):
        assert next(iter(DataLoader(data, 3, num_workers=1, **options))) and multiprocessing.active_children()


@pytest.mark.parametrize("options", [{}, {"worker_init_fn": int}], ids=["here", "by workers"])
def test_large_batches_and_kept_batches(options: Any) -> None:
    data = TensorDataset(torch.randn(300, 5000))
    kept = list(DataLoader(data, 3, num_workers=2, **options))
    assert all((a == b).all() for (a,), b in zip(kept, data.tensors[0].split(3), strict=True))
    kept[0][0].fill_(7.0)
    assert (kept[1][0] == data.tensors[0][3:6]).all()


class Texts(Dataset):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, i: int) -> Any:
        return (
            "x" * 200_000 + str(i),
            torch.zeros(0),
            torch.arange(60.0).reshape(6, 10)[i : i + 1],
            torch.ones(2).expand(4, 2),
        )


def test_odd_payloads() -> None:
    """Long texts, empty tensors, views of a larger memory, expanded tensors."""
    both(Texts(), batch_size=2, collate_fn=list)
    (item,) = next(iter(DataLoader(Texts(), 1, num_workers=1, collate_fn=list)))
    assert item[2].untyped_storage().nbytes() == 40


@pytest.mark.parametrize("worker", KINDS)
def test_streams(worker: str) -> None:
    loader = DataLoader(Stream(11), 2, num_workers=2, worker=worker)
    assert plain(list(loader)) == [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9]]
    assert plain(list(DataLoader(Stream(3, whole=True), None, num_workers=2, worker=worker))) == [
        0,
        0,
        1,
        1,
        2,
        2,
    ]
    loader = DataLoader(Stream(5, whole=True, says=5), 1, num_workers=2, worker=worker)
    assert len(loader) == 5
    with pytest.warns(UserWarning) as told:
        list(loader)
    assert [
        f"was reported to be 5(when accessing len(dataloader)), but {n} samples" in str(w.message)
        for n, w in zip(range(6, 11), told, strict=True)
    ] == [True] * 5


@pytest.mark.parametrize("worker", KINDS)
@pytest.mark.parametrize("dataset", [Items(), Stream(9), TensorDataset(torch.arange(20.0))])
def test_persistent_workers(worker: str, dataset: Any) -> None:
    loader = DataLoader(dataset, 2, num_workers=2, persistent_workers=True, worker=worker)
    first = plain(list(loader))
    for _ in zip(range(2), loader, strict=False):
        pass
    assert plain(list(loader)) == plain(list(loader)) == first
    assert loader._iterator is iter(loader)


def test_threads_draw_what_processes_draw() -> None:
    found = []
    for worker in KINDS:
        torch.manual_seed(5)
        found.append(plain(list(DataLoader(Draws(), 2, num_workers=2, worker=worker))))
    assert found[0] == found[1]
    assert len({str(b) for b in found[0]}) == 6
    torch.manual_seed(5)
    assert torch.utils.data.get_worker_info() is None and torch.random.thread_safe_generator() is None


def _note(worker: int) -> None:
    info = get_worker_info()
    info.dataset.n = 100 + worker


class Infos(Items):
    def __getitem__(self, i: int) -> Any:
        info = get_worker_info()
        return [
            self.n,
            info.id,
            info.num_workers,
            info.seed % 1000,
            info.dataset is self,
            torch.get_num_threads(),
        ]


def test_worker_info_and_init() -> None:
    torch.manual_seed(3)
    seed = int(torch.empty((), dtype=torch.int64).random_()) % 1000
    torch.manual_seed(3)
    found = list(DataLoader(Infos(4), None, num_workers=2, worker_init_fn=_note, collate_fn=list))
    assert found == [[100 + k, k, 2, seed + k, True, 1] for k in (0, 1, 0, 1)]


@pytest.mark.parametrize("worker", KINDS)
def test_out_of_order(worker: str) -> None:
    loader = DataLoader(Items(8, dawdles=0), 1, num_workers=2, in_order=False, worker=worker)
    found = [int(b[0]) for b in loader]
    assert sorted(found) == list(range(8)) and found[0] != 0


# --- failures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("worker", KINDS)
def test_exceptions(worker: str) -> None:
    iterator = iter(DataLoader(Items(raises=4), 2, num_workers=2, worker=worker))
    assert [int(next(iterator)[0][0]) for _ in range(2)] == [0, 2]
    with pytest.raises(KeyError) as caught:
        next(iterator)
    text = str(caught.value)
    assert text.startswith(f"Caught KeyError in DataLoader worker {worker} 0.\nOriginal Traceback")
    assert "in _raise" in text and "no such item" in text
    # As in PyTorch the next batches can still be had.
    assert int(next(iterator)[0][0]) == 6


def _fail(worker: int) -> None:
    raise ValueError(f"worker {worker} does not want to")


def test_exceptions_while_starting() -> None:
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 0"):
        list(DataLoader(Items(), 2, num_workers=2, worker_init_fn=_fail))


def test_what_does_not_pickle() -> None:
    with pytest.raises(Exception, match="(?s)DataLoader worker process 0.*pickle"):
        list(DataLoader(Items(), 2, num_workers=1, collate_fn=lambda items: lambda: items))

    class Own(Exception):
        pass

    def refuse(items: Any) -> None:
        raise Own("mine")

    with pytest.raises(RuntimeError, match="mine"):
        list(DataLoader(Items(), 2, num_workers=1, collate_fn=refuse))
    grown = (torch.ones(2, requires_grad=True) * 2,)
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        list(DataLoader(Items(), 2, num_workers=1, collate_fn=lambda items: grown))


@pytest.mark.parametrize(
    ("event", "end"),
    [
        ("dies", "is killed by signal: Killed"),
        ("leaves", "exited with status 0"),
        ("exits", "exited with status 3"),
    ],
)
def test_death_is_noticed_soon(event: str, end: str) -> None:
    loader = DataLoader(Items(**{event: 5}), 2, num_workers=2)
    with pytest.raises(
        RuntimeError, match=rf"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly: \d+ {end}"
    ):
        for _ in loader:
            start = time.monotonic()
    assert time.monotonic() - start < 2.5


def test_death_from_outside() -> None:
    iterator = iter(DataLoader(Items(1000, dawdles=3), 1, num_workers=2))
    next(iterator)
    for child in multiprocessing.active_children():
        os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        for _ in iterator:
            pass


def test_after_a_death() -> None:
    """The other workers are gone too, and the next epoch has new ones."""
    loader = DataLoader(Items(4, dies=1), 1, num_workers=2, persistent_workers=True)
    iterator = iter(loader)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(iterator)
    assert not multiprocessing.active_children()
    with pytest.raises(RuntimeError, match="stopped by an earlier error"):
        next(iterator)
    loader.dataset.events.clear()
    assert len(list(loader)) == 4
    loader._iterator = None


@pytest.mark.parametrize("worker", KINDS)
def test_an_interrupt_that_is_caught(worker: str) -> None:
    iterator = iter(DataLoader(Items(dawdles=1), 1, num_workers=1, worker=worker))
    next(iterator)
    timer = threading.Timer(0.15, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        next(iterator)
        time.sleep(1.0)
    timer.join()
    with pytest.raises(RuntimeError, match="stopped by an earlier error"):
        list(iterator)


@pytest.mark.parametrize("worker", KINDS)
def test_timeout_and_watchdog(worker: str) -> None:
    loader = DataLoader(Items(dawdles=1), 1, num_workers=1, timeout=0.2, worker=worker)
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.2 seconds"):
        list(loader)
    loader = DataLoader(Items(dawdles=1), 1, num_workers=1, watchdog=0.1, worker=worker)
    with pytest.warns(UserWarning, match="(?s)has waited 0 s for a batch from worker 0.*__getitem__"):
        assert len(list(loader)) == 10


def test_iterators_that_are_dropped() -> None:
    for _ in range(3):
        for _ in DataLoader(Items(100), 1, num_workers=2):
            break
        assert not multiprocessing.active_children()
    iterator = iter(DataLoader(Items(100), 1, num_workers=1))
    with pytest.raises(NotImplementedError):
        iterator.__getstate__()
    del iterator


def run(program: str, **options: Any) -> subprocess.Popen[str]:
    """A program in a process of its own."""
    text = "import rushlight as torch, os, sys, time, signal\nfrom rushlight.utils.data import *\n"
    return subprocess.Popen(
        [sys.executable, "-c", text + textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


_SLOW = """
    class Slow(Dataset):
        def __len__(self): return 100
        def __getitem__(self, i):
            time.sleep({0})
            return i
    it = iter(DataLoader(Slow(), 1, num_workers=2))
    print(*it._pool.pids, flush=True)
    list(it)
"""


def _gone(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(("sleep", "patience"), [(0.05, 2.0), (60, 4.0)])
def test_workers_end_when_the_main_process_is_killed(sleep: float, patience: float) -> None:
    program = run(_SLOW.format(sleep))
    pids = [int(word) for word in program.stdout.readline().split()]
    assert len(pids) == 2
    program.kill()
    program.communicate()
    assert all(_gone(pid, patience) for pid in pids)


def test_interrupt() -> None:
    program = run(_SLOW.format(0.2))
    pids = [int(word) for word in program.stdout.readline().split()]
    time.sleep(0.3)
    os.killpg(program.pid, signal.SIGINT)
    _, errors = program.communicate(timeout=10)
    assert program.returncode == -signal.SIGINT and "KeyboardInterrupt" in errors
    assert all(_gone(pid, 1.0) for pid in pids)


def test_end_of_the_program_in_the_middle() -> None:
    program = run("""
        it = iter(DataLoader(TensorDataset(torch.ones(1000, 3)), 1, num_workers=2))
        next(it)
        kept = list(zip(range(5), it))
    """)
    _, errors = program.communicate(timeout=20)
    assert program.returncode == 0 and not errors


# --- options --------------------------------------------------------------------------------------


def test_arguments_are_checked() -> None:
    for options, error, text in [
        (
            {"num_workers": 2, "prefetch_factor": -1},
            ValueError,
            "prefetch_factor option should be non-negative",
        ),
        (
            {"num_workers": 2, "multiprocessing_context": "x"},
            ValueError,
            "should specify a valid start method in",
        ),
        ({"num_workers": 2, "multiprocessing_context": 3}, TypeError, "should be a valid context object"),
        ({"num_workers": 2, "worker": "fiber"}, ValueError, "worker option"),
        ({"watchdog": -1}, ValueError, "watchdog option should be non-negative"),
    ]:
        with pytest.raises(error, match=text):
            DataLoader(Items(), **options)
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0"):
        iter(DataLoader(Items(), num_workers=1, prefetch_factor=0))
    assert DataLoader(Items(), num_workers=2).prefetch_factor == 2


def test_warnings() -> None:
    with pytest.warns(UserWarning, match="will create 1000 worker processes in total"):
        DataLoader(Items(), num_workers=1000)
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
        list(DataLoader(Items(2), pin_memory=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(DataLoader(Items(2), num_workers=1))) == 2


def test_the_indices_are_drawn_no_further_ahead_than_prefetch_factor_says() -> None:
    drawn = []

    class Noted(torch.utils.data.Sampler):
        def __iter__(self) -> Any:
            for i in range(20):
                drawn.append(i)
                yield i

    iterator = iter(
        DataLoader(TensorDataset(torch.arange(20)), 1, sampler=Noted(), num_workers=2, prefetch_factor=3)
    )
    assert len(drawn) == 6
    next(iterator)
    assert len(drawn) == 7


class _Numbers(Dataset):
    """Items that only workers make."""

    def __len__(self):
        return 12

    def __getitem__(self, i):
        return {"i": torch.tensor(i)}


def _sums(iterator):
    return [batch["i"].tolist() for batch in iterator]


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_that_are_stopped_by_hand(persistent):
    loader = DataLoader(_Numbers(), 2, num_workers=2, persistent_workers=persistent)
    iterator = iter(loader)
    next(iterator)
    workers = iterator._workers
    assert len(workers) == 2 and iterator._persistent_workers is persistent
    iterator._shutdown_workers()
    assert not any(w.is_alive() for w in workers) and iterator.stopped
    assert _sums(loader) == [[i, i + 1] for i in range(0, 12, 2)]
    if persistent:
        loader._iterator._shutdown_workers()


@pytest.mark.parametrize("workers", [0, 2])
def test_indices_and_data_of_a_subclass(workers):
    calls = []

    class Single(torch.utils.data.dataloader._SingleProcessDataLoaderIter):
        def _next_index(self):
            return [i + 1 for i in super()._next_index() if i < 11]

    class Several(torch.utils.data.dataloader._MultiProcessingDataLoaderIter):
        def _next_index(self):
            return [i + 1 for i in super()._next_index() if i < 11]

        def _get_data(self):
            calls.append("get")
            return super()._get_data()

        def _try_get_data(self, timeout=5.0):
            calls.append("try")
            return super()._try_get_data(timeout)

        def _shutdown_workers(self):
            calls.append("shutdown")
            super()._shutdown_workers()

    loader = DataLoader(_Numbers(), 4, num_workers=workers)
    found = _sums((Several if workers else Single)(loader))
    assert found == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11]]
    assert set(calls) == ({"get", "try", "shutdown"} if workers else set())


def test_a_pass_over_rows_that_is_ended_by_hand():
    loader = DataLoader(TensorDataset(torch.arange(8)), 2, num_workers=2)
    iterator = iter(loader)
    next(iterator)
    iterator._shutdown_workers()
    with pytest.raises(StopIteration):
        next(iterator)
    assert len(list(loader)) == 4
