"""MaskedTensor: ops, reductions and gradients count what the mask chooses, as PyTorch's do."""

from __future__ import annotations

import warnings

import pytest

import rushlight as torch
from rushlight.masked import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def _example(requires_grad: bool = False) -> MaskedTensor:
    mask = torch.tensor([[True, False, True], [False, False, True]])
    return masked_tensor(torch.arange(6.0).reshape(2, 3), mask, requires_grad)


def test_it_shows_what_counts() -> None:
    x = _example()
    shown = (
        "MaskedTensor(\n  [\n    [  0.0000,       --,   2.0000],\n    [      --,       --,   5.0000]\n  ]\n)"
    )
    assert repr(x) == shown and is_masked_tensor(x) and not is_masked_tensor(x.get_data())
    assert repr(x.sum()) == "MaskedTensor(  7.0000, True)"
    assert x.shape == (2, 3) and x.dtype is torch.float32


def test_ops_keep_the_mask_and_views_move_it() -> None:
    x = _example()
    for y in (x + x, x * 2, x.exp(), x.get_data() * x):
        assert y.get_mask().equal(x.get_mask())
    assert x[0].get_mask().tolist() == [True, False, True]
    assert x.view(6).get_mask().tolist() == x.get_mask().flatten().tolist()
    assert torch.cat([x, x]).shape == (4, 3)
    assert x.softmax(1).to_tensor(0).sum(1).tolist() == pytest.approx([1, 1])
    assert torch.where(x.get_mask(), x, x * 2).to_tensor(-1).tolist() == [[0, -1, 2], [-1, -1, 5]]


def test_reductions_leave_the_others_out() -> None:
    x = _example()
    assert x.sum(0).to_tensor(-1).tolist() == [0, -1, 7]
    assert x.mean(dim=1).to_tensor(-1).tolist() == [1, 5]
    assert x.amax(1).to_tensor(-1).tolist() == [2, 5]
    assert x.sum(dim=1, keepdim=True).shape == (2, 1)
    assert torch.argmax(x, 1).to_tensor(-1).tolist() == [2, 2]
    assert not x.all().get_data()


def test_gradients_have_the_mask() -> None:
    x = _example(True)
    (x * x).sum().backward()
    assert is_masked_tensor(x.grad) and x.grad.to_tensor(-1).tolist() == [[0, -1, 4], [-1, -1, 10]]
    plain = torch.arange(3.0, requires_grad=True)
    as_masked_tensor(plain, torch.tensor([True, False, True])).get_data().sum().backward()
    assert is_masked_tensor(plain.grad)


def test_writes() -> None:
    x = _example(True)
    with pytest.raises(RuntimeError, match="a leaf Variable"):
        x.add_(1)
    y = x * 2
    y.add_(x)
    y.sum().backward()
    assert x.grad.to_tensor(0).tolist() == [[3, 0, 3], [0, 0, 3]]
    plain = torch.zeros(2, 3)
    plain[:] = _example()
    assert plain.tolist() == [[0, 1, 2], [3, 4, 5]]
    plain.copy_(_example() + 1)
    assert plain.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_what_is_refused() -> None:
    x, data = _example(), torch.ones(2)
    with pytest.raises(ValueError, match="masks must match"):
        x + masked_tensor(x.get_data(), ~x.get_mask())
    with pytest.raises(TypeError, match="mask must have dtype bool"):
        masked_tensor(data, data)
    with pytest.raises(ValueError, match="size"):
        masked_tensor(data, torch.ones(3, dtype=torch.bool))
    with pytest.raises(TypeError, match="data must be a Tensor"):
        masked_tensor(1.0, data)
    with pytest.raises(RuntimeError, match="not supported for tensor subclasses"):
        x.numpy()
    with warnings.catch_warnings(), pytest.raises(TypeError, match="permute"):
        x.T.sum()


@pytest.mark.parametrize("convert", ["to_sparse", "to_sparse_csr"])
def test_sparse_layouts(convert: str) -> None:
    dense = _example(True)
    x = getattr(dense, convert)()
    assert x.is_sparse and x.layout is not torch.strided and repr(x) == repr(dense)
    for y, wanted in ((x.exp(), dense.exp()), (x + x, dense * 2), (x * 3, dense * 3)):
        assert y.layout is x.layout and repr(y.to_dense()) == repr(wanted)
    assert repr(x.prod()) == repr(dense.prod()) and repr(x.amax()) == repr(dense.amax())
    x.to_dense().sum().backward()
    assert dense.grad.to_tensor(0).tolist() == [[1, 0, 1], [0, 0, 1]]
    leaf = masked_tensor(x.get_data().detach(), x.get_mask(), True)
    leaf.to_dense().sum().backward()
    assert leaf.grad.layout is x.layout
    with pytest.raises(ValueError, match="sparse data do not have is_contiguous"):
        x.is_contiguous()
    with pytest.raises(ValueError, match="do not have the same indices|do not share either crow or col"):
        masked_tensor(x.get_data(), getattr(~x.get_mask().to_dense(), convert)())
    with pytest.raises(TypeError, match="data layout of torch.sparse_csc is not supported"):
        masked_tensor(torch.ones(2, 2).to_sparse_csc(), torch.ones(2, 2).bool().to_sparse_csc())


def test_names_of_ops() -> None:
    from rushlight.masked.maskedtensor import binary, reductions, unary

    x = masked_tensor(torch.tensor([0.5, 0.25]), torch.tensor([True, False]))
    assert len(unary.NATIVE_UNARY_FNS) == len(unary.UNARY_NAMES) == 62
    assert unary.NATIVE_UNARY_FNS[0](x).to_tensor(0).tolist() == [0.5, 0]
    assert torch.ops.aten.mul in binary.NATIVE_BINARY_FNS and "add_" in binary.INPLACE_BINARY_NAMES
    assert reductions.REDUCE_NAMES[0] == "sum" and torch.sum in reductions.TORCH_REDUCE_FNS


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_masked_functions_of_sparse_tensors(layout: torch.layout) -> None:
    data = torch.tensor([[1.0, 0, 3], [0, -2, 0]])
    mask = torch.tensor([[True, True, False], [False, True, False]])
    x, chosen = data.to_sparse(layout=layout), mask.to_sparse(layout=layout)
    for name in ("sum", "prod", "amax", "amin", "mean"):
        found = getattr(torch.masked, name)(x, 1, keepdim=True, mask=chosen)
        wanted = getattr(torch.masked, name)(data, 1, keepdim=True, mask=mask)
        assert found.layout is layout and found.to_dense().equal(wanted)
    assert torch.masked.sum(data, 0, mask=chosen).tolist() == [1, -2, 0]
    where = torch.masked._where(chosen, x, torch.tensor(5.0))
    assert where.layout is layout and where.values().tolist() == [1, 0, -2]
