"""Creation through the public API: dtypes, devices, sharing, out=, strides, autograd."""

from __future__ import annotations

import array
import warnings
from typing import Any

import numpy as np
import pytest

import rushlight as torch


def text(t: Any) -> str:
    return str(t).replace("\n", "").replace(" ", "")


# What PyTorch 2.13 prints for each.
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("torch.zeros(2, 3)", "tensor([[0.,0.,0.],[0.,0.,0.]])"),
        ("torch.zeros([2], dtype=float)", "tensor([0.,0.],dtype=torch.float64)"),
        ("torch.zeros(torch.tensor(2), 1)", "tensor([[0.],[0.]])"),
        ("torch.full((2,), 3)", "tensor([3,3])"),
        ("torch.full((2,), True)", "tensor([True,True])"),
        ("torch.full((2,), 1j)", "tensor([0.+1.j,0.+1.j])"),
        ("torch.full((2,), 2.7, dtype=torch.int64)", "tensor([2,2])"),
        ("torch.full((1,), -0.0)", "tensor([-0.])"),
        ("torch.full((2,), torch.tensor(3.))", "tensor([3.,3.])"),
        ("torch.full_like(torch.tensor([1]), 2.5)", "tensor([2])"),
        ("torch.scalar_tensor(3)", "tensor(3.)"),
        ("torch.arange(1, 5.0)", "tensor([1.,2.,3.,4.])"),
        ("torch.arange(end=3)", "tensor([0,1,2])"),
        ("torch.arange(torch.tensor(1), torch.tensor(3.))", "tensor([1.,2.])"),
        ("torch.arange(5, 1, -2)", "tensor([5,3])"),
        ("torch.linspace(0, 1j, 3)", "tensor([0.+0.0000j,0.+0.5000j,0.+1.0000j])"),
        ("torch.linspace(torch.tensor(0), torch.tensor(10), 5, dtype=torch.int64)", "tensor([0,2,5,7,10])"),
        ("torch.logspace(0, 1, 5, 2)", "tensor([1.0000,1.1892,1.4142,1.6818,2.0000])"),
        ("torch.eye(2, 3, dtype=torch.bool)", "tensor([[True,False,False],[False,True,False]])"),
        ("torch.tril_indices(3, 3, -1)", "tensor([[1,2,2],[0,0,1]])"),
        ("torch.triu_indices(2, 3, offset=1)", "tensor([[0,0,1],[1,2,2]])"),
        ("torch.vander(torch.tensor([1, 2, 3]))", "tensor([[1,1,1],[4,2,1],[9,3,1]])"),
        ("torch.combinations(torch.tensor([1, 2, 3]))", "tensor([[1,2],[1,3],[2,3]])"),
        ("torch.combinations(torch.tensor([1, 2]), r=3)", "tensor([],size=(0,3),dtype=torch.int64)"),
        (
            "torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))",
            "tensor([[1,3],[1,4],[2,3],[2,4]])",
        ),
        (
            "torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4, 5]), indexing='xy')[0]",
            "tensor([[1,2],[1,2],[1,2]])",
        ),
        ("torch.polar(torch.tensor(1.), torch.tensor(2.))", "tensor(-0.4161+0.9093j)"),
        ("torch.hann_window(5)", "tensor([0.0000,0.3455,0.9045,0.9045,0.3455])"),
        ("torch.hamming_window(5, True, 0.5, 0.3)", "tensor([0.2000,0.4073,0.7427,0.7427,0.4073])"),
        ("torch.blackman_window(5)", "tensor([-2.9802e-08,2.0077e-01,8.4923e-01,8.4923e-01,2.0077e-01])"),
        ("torch.bartlett_window(6, False)", "tensor([0.0000,0.4000,0.8000,0.8000,0.4000,0.0000])"),
        ("torch.kaiser_window(5, False, beta=3.)", "tensor([0.2049,0.7269,1.0000,0.7269,0.2049])"),
        ("torch.signal.windows.cosine(5)", "tensor([0.3090,0.8090,1.0000,0.8090,0.3090])"),
        (
            "torch.signal.windows.exponential(5, center=1., sym=False)",
            "tensor([0.3679,1.0000,0.3679,0.1353,0.0498])",
        ),
        (
            "torch.signal.windows.nuttall(5)",
            "tensor([3.6280e-04,2.2698e-01,1.0000e+00,2.2698e-01,3.6280e-04])",
        ),
        ("torch.tensor([1]).new_tensor([1.5, 2])", "tensor([1,2])"),
        ("torch.tensor([1]).new_full((2,), True)", "tensor([1,1])"),
        ("torch.tensor([1]).new([1.5, 2])", "tensor([1,2])"),
        ("torch.Tensor([1, 2])", "tensor([1.,2.])"),
        ("torch.Tensor(torch.tensor([1, 2]))", "tensor([1,2])"),
        ("torch.LongTensor([1.5, 2])", "tensor([1,2])"),
        ("torch.asarray(bytearray(b'abcd'), dtype=torch.uint8)", "tensor([97,98,99,100],dtype=torch.uint8)"),
        ("torch.tensor([torch.tensor(1), torch.tensor([2])])", "tensor([1,2])"),
        (
            "torch.zeros(2, device='meta', dtype=torch.int32)",
            "tensor(...,device='meta',size=(2,),dtype=torch.int32)",
        ),
        ("torch.ones(2, requires_grad=True)", "tensor([1.,1.],requires_grad=True)"),
    ],
)
def test_values(expression: str, expected: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert text(eval(expression, {"torch": torch})) == expected


@pytest.mark.parametrize(
    ("expression", "error", "words"),
    [
        ("torch.zeros()", TypeError, 'missing 1 required positional arguments: "size"'),
        ("torch.zeros(2.)", TypeError, "must be tuple of ints"),
        ("torch.zeros(-1)", RuntimeError, "zeros: Dimension size must be non-negative"),
        ("torch.ones(2, -1)", RuntimeError, "negative dimension -1: [2, -1]"),
        (
            "torch.zeros(2, dtype=torch.int64, requires_grad=True)",
            RuntimeError,
            "Only Tensors of floating point and complex dtype can require gradients",
        ),
        ("torch.zeros(2, device='cuda')", AssertionError, "Torch not compiled with CUDA enabled"),
        ("torch.zeros(2, device='xpu')", AssertionError, "Torch not compiled with XPU enabled"),
        ("torch.ones(2).xpu()", AssertionError, "Torch not compiled with XPU enabled"),
        ("torch.ones(2).to('mps')", RuntimeError, "not linked with support for mps devices"),
        ("torch.zeros(2, device=0)", RuntimeError, "Cannot access accelerator device when none"),
        ("torch.ones(2).cuda(1)", RuntimeError, "Cannot access accelerator device when none"),
        ("torch.device(0)", RuntimeError, "Cannot access accelerator device when none"),
        ("torch.zeros(2, pin_memory=True)", RuntimeError, "pin_memory"),
        ("torch.zeros(2, memory_format=torch.channels_last)", TypeError, "unexpected keyword argument"),
        ("torch.zeros(1 << 62, 4)", RuntimeError, "Storage size calculation overflowed"),
        ("torch.zeros(1 << 58)", RuntimeError, "can't allocate memory"),
        (
            "torch.zeros(2, out=torch.ones(3), dtype=torch.int64)",
            RuntimeError,
            "dtype Long does not match dtype of out parameter (Float)",
        ),
        ("torch.full(2, 3)", TypeError, "must be tuple of ints, not int"),
        ("torch.full((2,), 'a')", TypeError, "must be Number, not str"),
        ("torch.full((2,), 300, dtype=torch.uint8)", RuntimeError, "type uint8_t without overflow"),
        ("torch.full((2,), 1e300)", RuntimeError, "type float without overflow"),
        ("torch.arange()", TypeError, "arange"),
        ("torch.arange(torch.tensor([3]))", TypeError, "must be Number, not Tensor"),
        (
            "torch.linspace(torch.ones(1), torch.tensor(1), 5)",
            RuntimeError,
            "linspace only supports 0-dimensional start and end tensors",
        ),
        ("torch.linspace(0, 1j, 3, dtype=torch.float32)", RuntimeError, "can't be safely cast"),
        ("torch.eye(-1)", RuntimeError, "n must be greater or equal to 0, got -1"),
        ("torch.tril_indices(3, 3, dtype=torch.float32)", NotImplementedError, "not implemented for"),
        ("torch.empty_strided((2, 3), (1,))", RuntimeError, "must match dimensionality of strides"),
        ("torch.empty_permuted((2, 3), (0, 0))", RuntimeError, "Duplicate dim not allowed"),
        (
            "torch.complex(torch.ones(1), torch.ones(1).double())",
            RuntimeError,
            "Expected object of scalar type Float but got scalar type Double",
        ),
        ("torch.hann_window(5, dtype=torch.int64)", RuntimeError, "expects floating point dtypes"),
        ("torch.signal.windows.hann(-1)", ValueError, "requires non-negative window length, got M=-1"),
        ("torch.meshgrid(torch.ones(2), indexing='no')", RuntimeError, 'must be one of "xy" or "ij"'),
        ("torch.tensor([1.], requires_grad=1)", TypeError, "'requires_grad' must be bool, not int"),
        ("torch.tensor(1.5, dtype='float')", TypeError, "'dtype' must be torch.dtype, not str"),
        ("torch.tensor([torch.ones(2), torch.ones(2)])", ValueError, "only one element tensors"),
        ("torch.asarray([1], copy=False)", ValueError, "can't alias arbitrary sequence"),
        ("torch.Tensor(2.5)", TypeError, "new(): data must be a sequence (got float)"),
        ("torch.Tensor(2, device='meta')", RuntimeError, "legacy constructor expects device type: cpu"),
        ("torch.from_numpy([1])", TypeError, "expected np.ndarray (got list)"),
        ("torch.ones(2, requires_grad=True).__dlpack__()", BufferError, "require gradient"),
    ],
)
def test_refusals(expression: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        eval(expression, {"torch": torch})
    assert words in str(caught.value)


def test_strides() -> None:
    assert torch.empty(2, 3, 4, 5, memory_format=torch.channels_last).stride() == (60, 1, 15, 3)
    assert torch.empty_like(torch.empty(2, 3, 4, 5).permute(0, 3, 1, 2)).stride() == (60, 1, 20, 5)
    assert torch.empty_strided((2, 3), (1, 2), dtype=torch.bfloat16).stride() == (1, 2)
    assert torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride() == (12, 1, 3)
    assert torch.zeros_like(torch.ones(3, 2).t()).stride() == (1, 2)
    assert torch.empty_strided((2, 2), (0, 1)).untyped_storage().nbytes() == 8


def test_meta_memory_costs_nothing() -> None:
    assert torch.ones(10**6, 10**5, device="meta").shape == (10**6, 10**5)


def test_out_takes_dtype_and_shape() -> None:
    out = torch.ones(3, dtype=torch.int64)
    assert torch.arange(3.0, out=out) is out and text(out) == "tensor([0,1,2])"
    assert text(torch.zeros(2, out=torch.ones(3))) == "tensor([0.,0.])"


def test_a_device_is_a_context() -> None:
    with torch.device("meta"):
        assert torch.zeros(1).is_meta and torch.tensor(1).is_meta and torch.rand(1).is_meta
        assert torch.zeros(1, device="cpu").is_cpu
        with torch.device("cpu"):
            assert torch.zeros(1).is_cpu
    assert torch.zeros(1).is_cpu


def test_numpy_shares_memory() -> None:
    ours = np.zeros(3)
    t = torch.from_numpy(ours)
    t[0] = 5
    ours[1] = 7
    assert ours[0] == 5 and t[1] == 7
    assert torch.as_tensor(ours).data_ptr() == t.data_ptr() == torch.asarray(ours).data_ptr()
    assert torch.tensor(ours).data_ptr() != t.data_ptr()
    assert torch.as_tensor(t) is t


def test_buffers_share_memory() -> None:
    buffer = array.array("f", [1.0, 2.0])
    t = torch.frombuffer(buffer, dtype=torch.float32)
    t[0] = 9
    assert buffer[0] == 9


def test_dlpack_shares_memory() -> None:
    t = torch.zeros(3)
    theirs = np.from_dlpack(t)
    t[1] = 4
    assert theirs[1] == 4
    back = torch.from_dlpack(theirs)
    assert back.data_ptr() == t.data_ptr()
    capsule = torch.utils.dlpack.to_dlpack(t)
    assert torch.from_dlpack(capsule).data_ptr() == t.data_ptr()
    assert torch.from_dlpack(t, copy=True).data_ptr() != t.data_ptr()


def test_tensor_of_a_tensor_advises() -> None:
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        made = torch.tensor(torch.ones(2, requires_grad=True) * 2)
    assert made.is_leaf and not made.requires_grad


def test_asarray_and_autograd() -> None:
    leaf = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.asarray(leaf) is leaf
    product = leaf * 2
    assert torch.asarray(product, requires_grad=True).grad_fn is product.grad_fn
    assert torch.asarray(product, requires_grad=False).grad_fn is None
    assert torch.asarray(leaf, requires_grad=False) is leaf and not leaf.requires_grad


def test_gradients_of_complex_parts() -> None:
    torch.manual_seed(0)
    a = torch.rand(3, dtype=torch.float64, requires_grad=True)
    b = torch.rand(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(torch.complex, (a, b))
    assert torch.autograd.gradcheck(torch.polar, (a, b))


def test_conversions_round_as_pytorch_does() -> None:
    wide = torch.tensor([1 + 2.0**-11 + 2.0**-40], dtype=torch.float64)
    assert wide.half().item() == 1.0
    assert torch.tensor([1e9]).to(torch.float8_e4m3fn).float().item() == 448.0
    assert torch.tensor([1j]).bool().item() is True


def test_attributes_of_other_objects_are_no_tensors() -> None:
    class Named(np.ndarray):
        tensor = 3

    array: Any = np.arange(3).view(Named)
    assert torch.from_numpy(array).tolist() == [0, 1, 2] == (torch.zeros(3) + array).tolist()
    with pytest.raises(TypeError, match="expected np.ndarray"):
        torch.from_numpy(type("Other", (), {"tensor": 3})())
