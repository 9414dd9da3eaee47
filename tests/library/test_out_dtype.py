"""torch.ops.higher_order.out_dtype: an op in a wider dtype."""

import pytest

import rushlight as torch

out_dtype = torch.ops.higher_order.out_dtype
aten = torch.ops.aten


def test_products_of_bytes_as_int32():
    a, b = torch.randint(-128, 127, (2, 5, 5), dtype=torch.int8)
    assert torch.equal(out_dtype(aten.mm.default, torch.int32, a, b), a.int() @ b.int())
    assert torch.equal(out_dtype(aten.mul.Scalar, torch.int32, a, 3.0), a.int() * 3)


@pytest.mark.parametrize(
    ("op", "words"),
    [
        (torch.add, "must be an OpOverload"),
        (aten.add_.Tensor, "needs to be a functional operator"),
        (aten.topk.default, "return a single tensor"),
    ],
)
def test_what_is_refused(op, words):
    with pytest.raises(ValueError, match=words):
        out_dtype(op, torch.int32, torch.ones(2, dtype=torch.int8), 1)
