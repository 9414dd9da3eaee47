"""What torch.cuda is made of under names of torch._C, and what GradScaler keeps on a device."""

from __future__ import annotations

import pytest

import rushlight as torch


def test_streams_and_devices_by_number():
    before = torch._C._cuda_getCurrentStream(0)
    assert before == torch._C._cuda_getDefaultStream(0) == (0, 0, 1)
    stream = torch.cuda.Stream()
    torch._C._cuda_setStream(stream_id=stream.stream_id, device_index=0, device_type=1)
    assert torch.cuda.current_stream() == stream
    assert torch._C._cuda_getCurrentRawStream(0) == stream.cuda_stream
    torch._C._cuda_setStream(*before)
    assert torch._C._cuda_exchangeDevice(1) == 0 and torch._C._cuda_getDevice() == 1
    assert torch._C._cuda_maybeExchangeDevice(-1) == -1 and torch._C._cuda_getDevice() == 1
    torch._C._cuda_setDevice(0)
    assert torch._C._cuda_getDeviceCount() == 2 and torch._C._cuda_cudaCachingAllocator_is_enabled()


def test_a_device_has_a_version():
    assert int(torch.version.cuda.split(".")[0]) >= 12
    with pytest.raises(RuntimeError, match="out of memory"):
        torch.cuda.check_error(2)


@pytest.mark.parametrize("name", ["cublas_allow_tf32", "cudnn_benchmark", "cublas_allow_fp16_accumulation"])
def test_switches(name):
    get, change = getattr(torch._C, f"_get_{name}"), getattr(torch._C, f"_set_{name}")
    before = get()
    change(not before)
    assert get() is (not before)
    change(before)
    assert get() is before


def test_a_captured_graph_reads_the_scale_of_now():
    scaler, graph = torch.amp.GradScaler("cuda", init_scale=4.0), torch.cuda.CUDAGraph()
    weight = torch.ones(100, device="cuda", requires_grad=True)
    optimizer, data = torch.optim.SGD([weight], 0.1), torch.ones(100, device="cuda")
    scaler.scale((weight.half() * data).sum()).backward()
    optimizer.zero_grad()
    with torch.cuda.graph(graph):
        scaler.scale((weight.half() * data).sum()).backward()
    found = []
    for value in (5, 20000, 5, 40000):
        data.fill_(value)
        graph.replay()
        found.append(weight.grad[0].item())
        scaler.step(optimizer)
        scaler.update()
    assert found == [20, torch.inf, 10, torch.inf] and scaler.get_scale() == 1
    assert scaler._scale.is_cuda and scaler._growth_tracker.is_cuda


def test_native_norms_run_in_float32_under_autocast():
    x = torch.ones(2, 4, device="cuda", dtype=torch.float16)
    with torch.autocast("cuda"):
        assert torch.layer_norm(x, (4,)).dtype is torch.float32
        assert torch.group_norm(x, 2).dtype is torch.float32
