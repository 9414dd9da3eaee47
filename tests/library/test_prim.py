"""torch.ops.prim: what TorchScript asks of a tensor."""

from __future__ import annotations

import rushlight as torch


def test_layout() -> None:
    op = torch.ops.prim.layout.default
    assert str(op) == "prim.layout.default" and str(op._schema) == "prim::layout(Tensor a) -> Layout"
    x = torch.eye(2)
    assert [op(each) for each in (x, x.to_sparse(), x.to_sparse_csr(), x.to_sparse_csc())] == [0, 1, 2, 4]
