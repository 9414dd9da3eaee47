"""A capture is of streams: of the one that it began on, and of those that wait for it; other work goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch

pytestmark = pytest.mark.usefixtures("devices")


def in_a_thread(function: Callable[[], Any]) -> Any:
    """What another thread is given by a function, or the error that it meets."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(function())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def test_another_threads_work_is_not_captured() -> None:
    x = torch.ones(3, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        y = x * 2
        assert torch.cuda.is_current_stream_capturing()
        assert in_a_thread(torch.cuda.is_current_stream_capturing) is False
        assert in_a_thread(lambda: (x * 5).sum().item()) == 15.0
        z = y + 1
    graph.replay()
    assert z.tolist() == [3, 3, 3]


def test_work_of_a_stream_that_does_not_wait_is_not_captured() -> None:
    x, side, graph = torch.ones(3, device="cuda"), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        y = x * 2
        with torch.cuda.stream(side):
            assert not torch.cuda.is_current_stream_capturing()
            x += 1
    torch.cuda.synchronize()
    assert x.tolist() == [2, 2, 2]
    for _ in range(2):
        graph.replay()
    assert x.tolist() == [2, 2, 2]
    assert y.tolist() == [4, 4, 4]


def test_a_stream_that_waits_is_captured_and_must_be_waited_for() -> None:
    x, side = torch.ones(3, device="cuda"), torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            assert torch.cuda.is_current_stream_capturing()
            y = x * 3
        torch.cuda.current_stream().wait_stream(side)
        z = y + 1
    graph.replay()
    assert z.tolist() == [4, 4, 4]
    with pytest.raises(torch.AcceleratorError, match="capturing stream has unjoined work"):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                x * 3
    assert not torch.cuda.is_current_stream_capturing()
    with torch.cuda.stream(side):
        assert not torch.cuda.is_current_stream_capturing()


def test_the_default_stream_is_never_captured() -> None:
    with pytest.raises(torch.AcceleratorError, match="legacy stream depend on a capturing"):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            torch.cuda.default_stream().wait_stream(torch.cuda.current_stream())
    assert not torch.cuda.is_current_stream_capturing()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (lambda event: torch.cuda.synchronize(), "not permitted when stream is capturing"),
        (lambda event: torch.cuda.current_stream().synchronize(), "not permitted when stream is capturing"),
        (lambda event: torch.cuda.current_stream().query(), "not permitted when stream is capturing"),
        (lambda event: event.query(), "not permitted when stream is capturing"),
        (lambda event: torch.cuda.current_stream().wait_event(event), "uncaptured work in another stream"),
        (lambda event: torch.cuda.current_stream().record_event().query(), "last recorded in a capturing"),
    ],
)
def test_what_spoils_a_capture(what: Callable[[torch.cuda.Event], Any], words: str) -> None:
    event, graph = torch.cuda.Event(), torch.cuda.CUDAGraph()
    event.record()
    with pytest.raises(torch.AcceleratorError, match=words):
        with torch.cuda.graph(graph):
            what(event)
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()


@pytest.mark.parametrize(
    ("mode", "mine", "others"), [("relaxed", 1, 1), ("thread_local", 0, 1), ("global", 0, 0)]
)
def test_modes_say_who_may_ask_for_events(mode: str, mine: int, others: int) -> None:
    event = torch.cuda.Event()
    event.record()
    torch.cuda.synchronize()
    for ask, allowed in ((event.query, mine), (lambda: in_a_thread(event.query), others)):
        graph, stream, found = torch.cuda.CUDAGraph(), torch.cuda.Stream(), None
        with torch.cuda.stream(stream):
            graph.capture_begin(capture_error_mode=mode)
            torch.ones(1, device="cuda")
            try:
                found = ask()
            except torch.AcceleratorError as error:
                found = error
            if allowed:
                assert found is True
                graph.capture_end()
            else:
                assert isinstance(found, torch.AcceleratorError)
                with pytest.raises(torch.AcceleratorError, match="previous error during capture"):
                    graph.capture_end()


def test_where_a_capture_may_end() -> None:
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        graph.capture_begin()
        y = torch.ones(2, device="cuda") + 1
    with pytest.raises(RuntimeError, match="Capture must end on the same stream it began on"):
        graph.capture_end()

    def end() -> None:
        with torch.cuda.stream(stream):
            graph.capture_end()

    assert "from another thread" in str(in_a_thread(end))
    end()
    graph.replay()
    assert y.tolist() == [2, 2]


def test_two_threads_capture_at_the_same_time() -> None:
    x, begun, ended = torch.ones(2, device="cuda"), threading.Barrier(2), threading.Barrier(2)
    found: dict[int, list[float]] = {}

    def run(number: int) -> None:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(torch.cuda.Stream()):
            begun.wait(20)
            graph.capture_begin(capture_error_mode="thread_local")
            y = x * number
            ended.wait(20)
            graph.capture_end()
        begun.wait(20)
        graph.replay()
        found[number] = y.tolist()

    threads = [threading.Thread(target=run, args=(n,)) for n in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {2: [2, 2], 3: [3, 3]}


def test_random_numbers_beside_a_capture_are_refused() -> None:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        torch.rand(3, device="cuda")
        error = in_a_thread(lambda: torch.rand(3, device="cuda"))
    assert "Offset increment outside graph capture" in str(error)


def test_normals_around_tensors_are_captured() -> None:
    mean, graph = torch.full((4,), 2.0, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = torch.normal(mean, 1.5)
    torch.manual_seed(6)
    graph.replay()
    torch.manual_seed(6)
    assert found.equal(torch.normal(mean, 1.5))


def test_an_external_event_is_recorded_by_replays() -> None:
    graph, before, after = torch.cuda.CUDAGraph(), *[torch.cuda.Event(True, external=True) for _ in range(2)]
    x = torch.ones(64, 64, device="cuda")
    x @ x
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        before.record()
        y = x @ x
        after.record()
    with pytest.raises((ValueError, RuntimeError)):  # no replay has come to them
        before.elapsed_time(after)
    for _ in range(2):
        graph.replay()
        after.synchronize()
        assert after.query() and before.elapsed_time(after) >= 0
    assert y[0, 0].item() == 64


def test_a_replay_waits_for_an_external_event() -> None:
    side, event = torch.cuda.Stream(), torch.cuda.Event(external=True)
    x, graph = torch.zeros(3, device="cuda"), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        torch.cuda.current_stream().wait_event(event)
        y = x + 1
    for k in range(1, 3):
        with torch.cuda.stream(side):
            x += 1
            event.record()
        graph.replay()
        assert y.tolist() == [k + 1.0] * 3
        side.wait_stream(torch.cuda.current_stream())


@pytest.mark.devices("driver", 1)
def test_the_drivers_graph_has_the_external_events(fake: Any) -> None:
    test_an_external_event_is_recorded_by_replays()
    test_a_replay_waits_for_an_external_event()
