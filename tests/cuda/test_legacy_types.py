"""torch.cuda.FloatTensor and its relatives, as older programs use them; default types; the profiler's calls."""

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
