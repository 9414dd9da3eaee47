"""Streams, events and copies: work is late, and the strict mode says what is left to chance."""

from __future__ import annotations

import contextlib
import math
import signal
import sys
import threading
import time

import pytest

import rushlight as torch
from rushlight._engine.devices.cuda.streams import _SIGNALS, Stream, _Patience


def twice(f: object) -> object:
    """The second result: from then on a call of its kind is late."""
    f()  # type: ignore[operator]
    return f()  # type: ignore[operator]


def test_work_waits_for_somebody() -> None:
    x = torch.ones(300, 300, device="cuda")
    twice(lambda: x @ x)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    begin = time.perf_counter()
    for _ in range(20):
        y = x @ x
    end.record()
    queued = time.perf_counter() - begin
    assert not end.query()
    torch.cuda.synchronize()
    assert end.query() and start.elapsed_time(end) > 0
    assert time.perf_counter() - begin > queued and y[0, 0].item() == 300


def test_other_streams_do_not_wait() -> None:
    x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()
    twice(lambda: x + 1)
    y = x + 2  # queued in the default stream
    with torch.cuda.stream(side):
        assert torch.cuda.current_stream() == side
        assert (y * 1).tolist() != [3] * 4
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        assert (y * 1).tolist() == [3] * 4
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_events_order_streams() -> None:
    x, side, event = torch.zeros(4, device="cuda"), torch.cuda.Stream(), torch.cuda.Event()
    twice(lambda: x.add_(1))
    x.add_(1)
    event.record()
    side.wait_event(event)
    with torch.cuda.stream(side):
        assert x.clone().tolist() == [3] * 4
    assert event.query()


def test_a_copy_that_is_not_waited_for_is_not_there() -> None:
    x = torch.ones(3, device="cuda")
    host = x.to("cpu", non_blocking=True)
    assert host.is_pinned() and host.isnan().all()
    torch.cuda.synchronize()
    assert host.tolist() == [1, 1, 1]
    pinned = torch.zeros(3).pin_memory()
    assert pinned.is_pinned() and not torch.zeros(3).is_pinned()
    there = pinned.to("cuda", non_blocking=True)
    pinned.fill_(7)  # too early
    assert there.tolist() == [7, 7, 7]
    safe = torch.zeros(3).to("cuda", non_blocking=True)
    assert safe.tolist() == [0, 0, 0]


def test_pinned_batches_of_a_loader() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(6.0), torch.arange(6))
    for x, y in torch.utils.data.DataLoader(data, batch_size=3, pin_memory=True):
        assert x.is_pinned() and y.is_pinned()
        assert x.cuda(non_blocking=True).tolist() == y.tolist()


def test_bad_indices_kill_the_context() -> None:
    table = torch.nn.Embedding(3, 2).cuda()
    bad = table(torch.tensor([5], device="cuda"))
    with pytest.raises(RuntimeError, match="device-side assert triggered"):
        bad.sum().item()
    with pytest.raises(torch.AcceleratorError, match="embedding"):
        torch.ones(2, device="cuda")
    with pytest.raises(RuntimeError):
        torch.cuda.synchronize()
    assert torch.ones(2, device="cuda:1").sum().item() == 2


strict = pytest.mark.devices("simulated:1GB,check")


@strict
def test_strict_names_races() -> None:
    x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()
    y = twice(lambda: x * 2)
    with (
        torch.cuda.stream(side),
        pytest.raises(RuntimeError, match=r"race between streams.*test_streams\.py"),
    ):
        y + 1
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        z = twice(lambda: y + 1)
    with pytest.raises(RuntimeError, match="race between streams"):
        z.mul_(2)
    torch.cuda.synchronize()
    assert z.mul_(2).tolist() == [6] * 4


@strict
@pytest.mark.parametrize("own", [False, True])
def test_strict_names_memory_that_is_freed_too_early(own: bool) -> None:
    side, pool = torch.cuda.Stream(), torch.cuda.MemPool()
    for told in (True, False):
        with torch.cuda.use_mem_pool(pool) if own else contextlib.nullcontext():
            x = torch.ones(4, device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            kept = [x * 2, x * 2]
        if told:
            x.record_stream(side)
        del x
        if told:
            torch.ones(1, device="cuda")
        else:
            with pytest.raises(RuntimeError, match="record_stream"):
                torch.ones(1, device="cuda")
        torch.cuda.synchronize()
        assert kept[0].tolist() == [2] * 4


@strict
def test_strict_names_reads_before_a_copy_is_done() -> None:
    x = torch.ones(3, device="cuda")
    for read in (
        lambda t: t.sum(),
        lambda t: t.tolist(),
        lambda t: t.numpy(),
        repr,
        lambda t: t + 1,
        lambda t: t[0],
    ):
        host = x.to("cpu", non_blocking=True)
        with pytest.raises(RuntimeError, match=r"before a non_blocking copy to it is done.*test_streams\.py"):
            read(host)
        torch.cuda.synchronize()
        read(host)
        assert host.tolist() == [1, 1, 1]


def test_a_signal_is_no_fault_of_the_device() -> None:
    class TooLong(Exception):
        pass

    def stop(number: int, frame: object) -> None:
        raise TooLong

    x = torch.ones(64, 64, device="cuda")
    twice(lambda: x.add_(1))
    twice(lambda: torch.linalg.pinv(x))
    torch.cuda.synchronize()
    before = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(40):
            torch.linalg.pinv(x)
            x.add_(1)
        with pytest.raises(TooLong):
            signal.setitimer(signal.ITIMER_REAL, 1e-3)
            while True:
                torch.cuda.synchronize()
        assert signal.getsignal(signal.SIGALRM) is stop
        assert x[0, 0].item() == 43
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_signal_that_only_notes_does_not_end_the_work() -> None:
    heard = []
    x = torch.ones(64, 64, device="cuda")
    twice(lambda: torch.linalg.pinv(x))
    torch.cuda.synchronize()
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
    try:
        found = [torch.linalg.pinv(x) for _ in range(20)]
        signal.setitimer(signal.ITIMER_REAL, 1e-3)
        torch.cuda.synchronize()
        assert not torch.cuda.current_stream()._queue.queue
        torch.testing.assert_close(found[-1].cpu(), torch.linalg.pinv(x.cpu()))
    finally:
        signal.signal(signal.SIGALRM, before)


def test_where_the_host_has_no_room_the_work_waits() -> None:
    x = torch.ones(4, device="cuda")
    twice(lambda: x + 1)
    y = x + 1

    def deep(n: int) -> list[float]:
        return y.tolist() if n == 0 else deep(n - 1)

    limit = sys.getrecursionlimit()
    for n in range(limit - 400, limit, 5):
        with contextlib.suppress(RecursionError):
            deep(n)
    assert y.tolist() == [2.0] * 4


@pytest.mark.parametrize("failing", [None, 2, 9])
def test_every_signal_that_waited_is_heard(failing: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[int] = []
    numbers = [signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2]

    def stop(number: int, frame: object) -> None:
        heard.append(number)
        raise InterruptedError

    before = [signal.signal(number, stop) for number in numbers]
    known, calls = [signal.getsignal(n) for n in _SIGNALS], []
    replace = signal.signal

    def replaced(number: int, function: object) -> object:
        calls.append(number)
        if len(calls) == failing:  # one that comes between two replacements
            raise InterruptedError
        return replace(number, function)  # type: ignore[arg-type]

    monkeypatch.setattr(signal, "signal", replaced)
    patience = _Patience()
    try:
        with pytest.raises(InterruptedError):
            patience.enter()
            for number in numbers:
                signal.raise_signal(number)
            assert not heard
            patience.leave()
        assert sorted(heard) == ([] if failing == 2 else sorted(numbers))
        assert patience.depth == 0 and [signal.getsignal(n) for n in _SIGNALS] == known
    finally:
        monkeypatch.undo()
        for number, function in zip(numbers, before, strict=True):
            signal.signal(number, function)


class _Where(torch.autograd.Function):
    """x * 2; both ways note the current stream."""

    seen: list[torch.cuda.Stream] = []

    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        _Where.seen.append(torch.cuda.current_stream())
        return x * 2

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
        _Where.seen.append(torch.cuda.current_stream())
        return grad * 2


def test_a_backward_pass_runs_where_the_forward_did() -> None:
    sides = [torch.cuda.Stream(), torch.cuda.Stream()]
    x = torch.ones(64, 64, device="cuda", requires_grad=True)
    for _ in range(3):  # queued from the second time on
        _Where.seen.clear()
        x.grad = None
        with torch.cuda.stream(sides[0]):
            y = _Where.apply(x).exp()
        with torch.cuda.stream(sides[1]):
            sides[1].wait_stream(sides[0])
            loss = _Where.apply(y).sum()
        loss.backward()
        assert _Where.seen == [*sides, *sides[::-1]]
        assert torch.cuda.current_stream() == torch.cuda.default_stream()
        torch.testing.assert_close(x.grad.cpu(), torch.full((64, 64), 4 * math.exp(2)))


def test_an_event_that_is_refused_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", found.append)
    with pytest.raises(TypeError, match="unexpected keyword"):
        torch.cuda.Event(of="time")  # type: ignore[call-arg]
    assert not found


def test_there_is_no_time_between_two_devices() -> None:
    events = []
    for index in (0, 1):
        with torch.cuda.device(index):
            events.append(torch.cuda.Event(enable_timing=True))
            events[-1].record()
            torch.cuda.synchronize()
    with pytest.raises(torch.AcceleratorError, match="invalid resource handle"):
        events[0].elapsed_time(events[1])


def test_who_waits_for_a_stream_waits_for_the_piece_that_another_thread_does() -> None:
    stream, begun, may_end, done = Stream(None, 1), threading.Event(), threading.Event(), list[str]()

    def piece() -> None:
        stream.run()  # work may wait for its own stream
        assert stream.reached(1)
        begun.set()
        may_end.wait(20)
        done.append("piece")

    stream.submit(piece)
    other = threading.Thread(target=stream.run)
    other.start()
    begun.wait(20)
    assert not stream.reached(1)
    threading.Timer(0.05, may_end.set).start()
    stream.run()
    assert done == ["piece"] and stream.reached(1)
    other.join()


def test_pieces_that_are_put_back_are_done_by_who_waits() -> None:
    stream, begun, done = Stream(None, 1), threading.Event(), list[str]()

    def piece() -> None:
        if not begun.is_set():
            begun.set()
            time.sleep(0.05)
            raise MemoryError
        done.append("piece")

    def other() -> None:
        with pytest.raises(MemoryError):
            stream.run()

    stream.submit(piece)
    thread = threading.Thread(target=other)
    thread.start()
    begun.wait(20)
    stream.run()
    assert done == ["piece"] and stream.reached(1)
    thread.join()


def test_a_piece_that_does_later_ones_is_under_way_until_it_ends() -> None:
    stream, begun, done = Stream(None, 1), threading.Event(), list[str]()

    def outer() -> None:
        stream.run()
        begun.set()
        time.sleep(0.05)
        done.append("outer")

    stream.submit(outer)
    stream.submit(lambda: done.append("inner"))
    thread = threading.Thread(target=stream.run)
    thread.start()
    begun.wait(20)
    assert not stream.reached(1)
    stream.run(1)
    assert done == ["inner", "outer"] and stream.reached(2)
    thread.join()
