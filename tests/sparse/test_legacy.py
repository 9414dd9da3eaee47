"""torch.sparse.FloatTensor and its relatives."""

from __future__ import annotations

import pytest

import rushlight as torch


@pytest.mark.filterwarnings("ignore:torch.sparse")
def test_tensors_by_dtype() -> None:
    i, v = torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0])
    made = torch.sparse.FloatTensor(i, v, torch.Size([2, 3]))
    assert made.shape == (2, 3) and made.to_dense().tolist() == [[0, 1, 0], [2, 0, 0]]
    assert torch.sparse.FloatTensor(2, 3).shape == (2, 3) and torch.sparse.FloatTensor()._nnz() == 0
    assert isinstance(made, torch.sparse.FloatTensor) and not isinstance(made, torch.sparse.DoubleTensor)
    assert not isinstance(made, torch.FloatTensor) and not isinstance(v, torch.sparse.FloatTensor)
    assert made.type() == "torch.sparse.FloatTensor"
    assert (
        made.type("torch.sparse.DoubleTensor").dtype
        is made.type(torch.sparse.DoubleTensor).dtype
        is torch.float64
    )
    with pytest.raises(RuntimeError, match="expected scalar type Long but found Int"):
        torch.sparse.FloatTensor(i.int(), v)
    with pytest.raises(TypeError, match="only accepts sizes"):
        torch.sparse.FloatTensor([2, 3])
    torch.set_warn_always(True)  # else once in a process
    try:
        with pytest.warns(UserWarning, match="is deprecated"):
            torch.sparse.DoubleTensor(i, v.double())
    finally:
        torch.set_warn_always(False)
