"""torch._subclasses.meta_utils.assert_metadata_eq: tensors that are alike in all but their numbers."""

import pytest

import rushlight as torch
from rushlight._subclasses.meta_utils import assert_metadata_eq


def same(a, b):
    assert a == b


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_what_is_compared(device):
    x, other = torch.randn(3, 4), torch.empty(3, 4, device=device)
    assert_metadata_eq(same, x, other)
    assert_metadata_eq(same, x[1:], other[1:])
    assert_metadata_eq(same, x, other[1:].clone(), skip_symbolic=True)
    for unlike in (other[1:], other.double(), other.t(), other.clone().requires_grad_()):
        with pytest.raises(AssertionError):
            assert_metadata_eq(same, x, unlike)


def test_sparse_tensors_and_gradients():
    x = torch.eye(3)
    assert_metadata_eq(same, x.to_sparse(), torch.zeros(3, 3).to_sparse())
    with pytest.raises(AssertionError):
        assert_metadata_eq(same, x.to_sparse(), torch.zeros(3, 3).to_sparse(1))
    a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    a.sum().backward()
    with pytest.raises(AssertionError):
        assert_metadata_eq(same, a, b)
