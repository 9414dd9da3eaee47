"""Names of torch.cuda beside devices and memory: waiting, tensors of several devices, what hears of full memory."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight.cuda import nccl
from rushlight.cuda._utils import _get_device_index
from tests.cuda.fake_driver import FakeDriver


def test_sleep_takes_the_streams_time() -> None:
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    torch.cuda._sleep(2_000_000)
    last.record()
    assert not last.query()
    torch.cuda.synchronize()
    assert first.elapsed_time(last) > 1
    assert torch._C._cuda_sleep(1) is None


@pytest.mark.devices("driver")
def test_sleep_is_a_kernel(fake: FakeDriver) -> None:
    torch.cuda._sleep(1000)
    torch.cuda.synchronize()
    assert fake.calls["cuLaunchKernel"] == 1


def test_errors_of_the_runtime() -> None:
    torch.cuda.check_error(0)
    with pytest.raises(torch.cuda.CudaError, match=r"^out of memory \(2\)$"):
        torch.cuda.check_error(2)


def test_numbers_of_devices() -> None:
    assert _get_device_index("cuda:1") == 1 and _get_device_index(3) == 3
    assert _get_device_index("cpu", allow_cpu=True) == -1 and _get_device_index(None, True) == 0
    for given, text in (("cpu", "Expected a cuda device"), ("cuda", "with a specified index")):
        with pytest.raises(ValueError, match=text):
            _get_device_index(given)
    with pytest.raises(RuntimeError, match="Invalid device string"):
        _get_device_index("cuda0", optional=True)


def test_streams_and_events_by_their_devices_name() -> None:
    stream, event = torch.Stream("cuda"), torch.Event("cuda:0", enable_timing=True)
    assert isinstance(stream, torch.cuda.Stream) and isinstance(torch.Stream(), torch.cuda.Stream)
    assert event.event_id == 0 and torch.Event("cpu").event_id == 0
    event.record(stream)
    event.synchronize()
    assert event.event_id and event.query() and torch.Stream("cpu").device.type == "cpu"


def test_tensors_of_several_devices() -> None:
    def pair(*values: float) -> list[Any]:
        return [torch.tensor([v, v + 1], device=f"cuda:{k}") for k, v in enumerate(values)]

    xs = pair(1.0, 3.0)
    assert nccl.is_available(xs) and not nccl.is_available([xs[0], xs[0]])
    nccl.all_reduce(xs)
    assert [x.tolist() for x in xs] == [[4, 6], [4, 6]] and xs[1].device.index == 1
    nccl.reduce(xs, root=1, op=1)
    assert xs[1].tolist() == [16, 36]
    nccl.broadcast(xs, 1)
    assert xs[0].tolist() == [16, 36]
    whole = [torch.empty(4, device=f"cuda:{k}") for k in range(2)]
    nccl.all_gather(pair(1.0, 3.0), whole)
    assert [x.tolist() for x in whole] == [[1, 2, 3, 4]] * 2
    parts = [torch.empty(2, device=f"cuda:{k}") for k in range(2)]
    nccl.reduce_scatter(whole, parts, op=4)
    assert [x.tolist() for x in parts] == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="Inputs should be a collection of tensors"):
        nccl.all_reduce(xs[0])
    with pytest.raises(RuntimeError, match="dense Tensors"):
        nccl.broadcast([torch.ones(1)])


def test_observers_of_full_memory() -> None:
    heard: list[tuple[int, ...]] = []
    torch._C._cuda_attach_out_of_memory_observer(lambda *told: heard.append(told))
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 40, dtype=torch.int8, device="cuda:1")
    ((index, asked, segment, free),) = heard
    assert (index, asked, segment) == (1, 1 << 40, 1 << 40) and 0 < free <= 1 << 30


@pytest.mark.parametrize("devices", [("simulated",), ("driver",)], indirect=True)
def test_a_capture_that_nobody_can_end_is_ended() -> None:
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    x = torch.ones(2, device="cuda")
    with torch.cuda.stream(stream):
        graph.capture_begin()
        x.add_(1)
    del graph
    assert x.add(1).tolist() == [2, 2]


def test_convolutions_by_the_names_of_cudnn() -> None:
    f, both = torch.nn.functional, dict(benchmark=False, deterministic=True, allow_tf32=False)
    x, w = torch.randn(1, 3, 5, 5, device="cuda", requires_grad=True), torch.randn(4, 3, 2, 2, device="cuda")
    found = torch.cudnn_convolution(x, w, (1, 1), (1, 1), (1, 1), 1, **both)
    torch.testing.assert_close(found, f.conv2d(x, w, padding=1))
    assert found.requires_grad
    plain = x.detach()
    into = torch.empty(0, device="cuda")  # it is resized
    assert torch.cudnn_convolution(plain, w, (1, 1), (1, 1), (1, 1), 1, **both, out=into) is into
    assert torch.equal(into, found)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        into = torch.empty(0, device="cuda", dtype=torch.int32)
        torch.cudnn_convolution(plain, w, (1, 1), (1, 1), (1, 1), 1, **both, out=into)
    with torch.autocast("cuda"):
        half = torch.cudnn_convolution(x, w, (0, 0), (1, 1), (1, 1), 1, **both)
        assert half.dtype is torch.float16
    turned = w.transpose(0, 1).contiguous()
    torch.testing.assert_close(
        torch.cudnn_convolution_transpose(x, turned, (1, 1), (0, 0), (1, 1), (1, 1), 1, **both),
        f.conv_transpose2d(x, turned, padding=1),
    )
    plain, sizes = f.conv2d(x, w), ((1, 1), (0, 0), (1, 1), 1)
    torch.testing.assert_close(torch.cudnn_convolution_relu(x, w, None, *sizes), plain.relu())
    added = torch.cudnn_convolution_add_relu(x, w, plain, 2.0, None, *sizes)
    torch.testing.assert_close(added, (3 * plain).relu())
    with pytest.raises(
        NotImplementedError, match="^Could not run 'aten::cudnn_convolution' with arguments from the 'CPU'"
    ):
        torch.cudnn_convolution(x.cpu(), w.cpu(), (0, 0), (1, 1), (1, 1), 1, **both)
