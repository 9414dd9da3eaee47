"""torch.cuda.FloatTensor and its relatives, as older programs use them; default types; the profiler's calls."""

import ctypes
import warnings

import pytest

import rushlight as torch


def test_types() -> None:
    x = torch.cuda.FloatTensor([1, 2])
    assert x.type() == "torch.cuda.FloatTensor" and x.tolist() == [1, 2] and x.is_cuda
    assert torch.cuda.LongTensor(2, 3).shape == (2, 3)
    assert isinstance(x, torch.cuda.FloatTensor) and not isinstance(x, torch.FloatTensor)
    assert not isinstance(x.cpu(), torch.cuda.FloatTensor) and isinstance(x.cpu(), torch.FloatTensor)
    for of in (torch.cuda.HalfTensor, "torch.cuda.HalfTensor"):
        y = torch.ones(2).type(of)
        assert y.is_cuda and y.dtype == torch.float16
    assert repr(torch.cuda.FloatTensor) == "<class 'torch.cuda.FloatTensor'>"
    assert torch.cuda.FloatTensor.dtype == torch.float32 and torch.cuda.FloatTensor.is_cuda


def test_default_types() -> None:
    torch.set_default_tensor_type(torch.cuda.FloatTensor)
    try:
        assert torch.ones(1).is_cuda
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)
    assert torch.ones(1).device.type == "cpu"
    torch.set_default_tensor_type("torch.cuda.DoubleTensor")
    try:
        assert torch.ones(1).is_cuda and torch.ones(1).dtype == torch.float64
    finally:
        torch.set_default_tensor_type("torch.FloatTensor")


def test_small_names() -> None:
    called = []
    torch.cuda._lazy_init()
    torch.cuda._lazy_call(lambda: called.append(1))
    with torch.cuda.profiler.profile():
        called.append(2)
    assert called == [1, 2]
    assert torch.cuda.cudaStatus.ERROR_NOT_READY == 34 and not torch.cuda.has_magma
    assert issubclass(torch.cuda.CudaError, RuntimeError)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages_are_of_a_dtype_and_a_device() -> None:
    y = torch.arange(4, dtype=torch.int32, device="cuda")
    found = y.storage()
    assert isinstance(found, torch.cuda.IntStorage) and not isinstance(found, torch.IntStorage)
    assert isinstance(found.cpu(), torch.IntStorage) and type(found) is torch.storage.TypedStorage
    assert isinstance(found.double(), torch.cuda.DoubleStorage) and y.storage_type() is torch.cuda.IntStorage
    assert found.type() == "torch.cuda.IntStorage" and found.cpu().type() == "torch.IntStorage"
    made = torch.cuda.IntStorage(3).fill_(7)
    assert made.tolist() == [7, 7, 7] and made.is_cuda


@pytest.mark.parametrize("devices", [("simulated",), ("driver", 1)], indirect=True)
def test_the_hosts_memory_is_page_locked_where_it_lies(devices: None) -> None:
    host, runtime = torch.ones(20), torch.cuda.cudart()
    place, size = host.data_ptr(), host.nbytes
    assert runtime.cudaHostRegister(place, size, 0) == 0 and host.is_pinned() and host[5:].is_pinned()
    assert runtime.cudaHostRegister(place, size, 0) == 712
    assert host.cuda(non_blocking=True).sum().item() == 20
    assert runtime.cudaHostUnregister(place) == 0 and not host.is_pinned()
    assert runtime.cudaHostUnregister(place) == 713


@pytest.mark.parametrize("devices", [("simulated",), ("driver", 1)], indirect=True)
def test_a_stream_of_the_runtime_is_a_stream(devices: None) -> None:
    runtime, handle = torch.cuda.cudart(), ctypes.c_void_p()
    assert runtime.cudaStreamCreate(ctypes.addressof(handle)) == 0 and handle.value
    stream = torch.cuda.ExternalStream(handle.value)
    assert stream.cuda_stream == handle.value and stream.device.index == 0
    with torch.cuda.stream(stream):
        x = torch.ones(20, device="cuda") * 2
    assert runtime.cudaStreamDestroy(handle.value) == 0  # what it was given is done then
    assert x.sum().item() == 40
    assert runtime.cudaStreamDestroy(handle.value) == 400


def test_a_mask_of_bytes_warns_once() -> None:
    mask, x = torch.tensor([1, 0, 1], dtype=torch.uint8, device="cuda"), torch.zeros(3, device="cuda")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        x.index_put_((mask,), torch.ones(2, device="cuda"), accumulate=True)
    assert len(told) == 1 and x.tolist() == [1, 0, 1]


def test_new_takes_another_device() -> None:
    x = torch.randn(3, device="cuda:0")
    assert x.new([0, 1, 2]).device.index == 0
    assert x.new([0, 1, 2], device=1).device.index == 1 and x.new(2, 3, device="cuda:1").device.index == 1
    with torch.cuda.device(1):
        assert x.new([0, 1]).device.index == 0 and x.new(2, device="cuda").device.index == 1
    with pytest.raises(RuntimeError, match="legacy constructor expects device type: cuda"):
        x.new(2, device="cpu")
