"""What programs hear of devices: torch.cuda._gpu_trace, the sanitizer over it, and set_sync_debug_mode."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.devices.cuda.accounts import tracing
from rushlight.cuda import _gpu_trace


@pytest.fixture(autouse=True)
def traced(devices: None) -> Iterator[None]:
    """Tracing is on, and off again; nobody listens afterwards."""
    torch.ones(1, device="cuda")
    torch._C._activate_gpu_trace()
    yield
    tracing.CallbackRegistry.active = False
    for found in vars(tracing).values():
        if isinstance(found, tracing.CallbackRegistry):
            found.callback_list.clear()


def heard(kind: str) -> list[tuple[Any, ...]]:
    """What comes of a kind from now on."""
    found: list[tuple[Any, ...]] = []
    getattr(_gpu_trace, f"register_callback_for_{kind}")(lambda *given: found.append(given))
    return found


def test_events_are_told_of() -> None:
    kinds = ("event_creation", "event_record", "event_wait", "event_synchronization", "event_deletion")
    made, recorded, waited, synchronized, gone = map(heard, kinds)
    event = torch.cuda.Event()
    event.record()
    number = event._as_parameter_.value
    event.wait()
    event.synchronize()
    assert (made, recorded, waited, synchronized) == ([(number,)], [(number, 0)], [(number, 0)], [(number,)])
    assert not gone
    del event
    assert gone == [(number,)]


def test_memory_is_told_of() -> None:
    allocated, freed = heard("memory_allocation"), heard("memory_deallocation")
    x = torch.empty(10, 4, device="cuda")
    place = x.data_ptr()
    assert (allocated, freed) == ([(place,)], [])
    del x
    assert freed == [(place,)]
    y = torch.empty(10, 4, device="cuda")
    assert allocated[1:] == [(y.data_ptr(),)]


def test_waiting_is_told_of() -> None:
    streams, devices = heard("stream_synchronization"), heard("device_synchronization")
    x = torch.ones(5, device="cuda")
    assert not streams
    for wait in (x.nonzero, x.cpu, x.sum().item, lambda: x[x > 0]):
        streams.clear()
        wait()
        assert streams == [(0,)]
    side = torch.cuda.Stream()
    side.synchronize()
    torch.cuda.synchronize()
    assert streams[1:] == [(side.cuda_stream,)]
    assert devices == [()]


def test_what_a_listener_raises_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    _gpu_trace.register_callback_for_device_synchronization(lambda: 1 // 0)  # type: ignore[arg-type]
    torch.cuda.synchronize()
    assert "Exception in callback for CUDA device synchronization" in caplog.text


def test_who_imports_the_sanitizer_traces_nothing() -> None:
    from rushlight.cuda import _sanitizer

    importlib.reload(_sanitizer)
    assert not tracing.STREAM_SYNCHRONIZATION.callback_list
    assert not _sanitizer.cuda_sanitizer.enabled


def test_the_sanitizer_finds_what_nothing_orders(capsys: pytest.CaptureFixture[str]) -> None:
    from rushlight.cuda._sanitizer import CUDASanitizerDispatchMode, CUDASanitizerErrors

    side = torch.cuda.Stream()
    with CUDASanitizerDispatchMode():
        x = torch.rand(40, device="cuda")
        with torch.cuda.stream(side):
            with pytest.raises(CUDASanitizerErrors, match="detected 1 errors"):
                x.mul_(5)
        told = capsys.readouterr().err
        assert "CSAN detected a possible data race" in told
        assert "writing to argument(s) self, and to the output" in told
        assert "Tensor was allocated with stack trace:" in told
        y = torch.rand(40, device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y.mul_(5)
        torch.cuda.current_stream().wait_stream(side)
        assert (y + 1).sum().item() > 0


@pytest.mark.parametrize(
    "wait",
    [
        lambda x: x.sum().item(),
        lambda x: x.cpu(),
        lambda x: x.nonzero(),
        lambda x: x[x > 0],
        lambda x: torch.ones(2).cuda(),
        lambda x: torch.tensor([1.0, 2.0], device="cuda"),
        lambda x: torch.cuda.current_stream().synchronize(),
    ],
)
def test_programs_may_forbid_waiting(wait: Callable[[torch.Tensor], Any]) -> None:
    x = torch.ones(4, device="cuda")
    try:
        torch.cuda.set_sync_debug_mode("error")
        with pytest.raises(RuntimeError, match="called a synchronizing CUDA operation"):
            wait(x)
        torch.cuda.set_sync_debug_mode("warn")
        with pytest.warns(UserWarning, match="called a synchronizing CUDA operation"):
            wait(x)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    wait(x)


@pytest.mark.parametrize("devices", [("simulated",), ("driver",)], indirect=True)
def test_a_step_waits_for_nothing() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3)).cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    x, y = torch.randn(5, 4, device="cuda"), torch.zeros(5, dtype=torch.long, device="cuda")
    try:
        torch.cuda.set_sync_debug_mode("error")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(2):
                with torch.autocast("cuda", torch.bfloat16):
                    loss = torch.nn.functional.cross_entropy(net(x), y)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
                x + 1, x[0], torch.ones(2).cuda(non_blocking=True)
                x[y] = 2.5
                x.index_fill_(0, y, 1.5)
    finally:
        torch.cuda.set_sync_debug_mode("default")
