"""torch.foreach: the functions of torch._foreach_* by their public names."""

import pytest

import rushlight as torch
from rushlight import foreach


def test_names() -> None:
    assert torch.foreach is foreach and len(foreach.__all__) == 90
    assert all(getattr(foreach, name) is getattr(torch, f"_foreach_{name}") for name in foreach.__all__)


def test_lists() -> None:
    xs = [torch.ones(2), torch.full((3,), 2.0)]
    assert [t.tolist() for t in foreach.add(xs, xs, alpha=2)] == [[3, 3], [6, 6, 6]]
    foreach.mul_(xs, 2)
    assert [t.tolist() for t in xs] == [[2, 2], [4, 4, 4]]
    assert [t.item() for t in foreach.norm(xs, 1)] == [4, 12]


def test_packed_numbers_are_a_contiguous_vector():
    tensors = [torch.ones(2), torch.ones(2)]
    found = torch._foreach_addcmul(tensors, tensors, tensors, torch.tensor([1.0, 2.0]))
    assert [t.tolist() for t in found] == [[2, 2], [3, 3]]
    with pytest.raises(RuntimeError, match="to be of dimension 1. Got 0 instead"):
        torch._foreach_addcmul(tensors, tensors, tensors, torch.tensor(2.0))
    with pytest.raises(RuntimeError, match="Expected scalars to be contiguous"):
        torch._foreach_addcdiv(tensors, tensors, tensors, torch.tensor([1.0, 2.0, 3.0])[::2])


def test_packed_scalars_are_checked_in_pytorchs_order() -> None:
    tensors = [torch.ones(2), torch.ones(2)]
    for scalars, message in (
        (torch.ones(2, device="meta"), "to be on CPU, got meta instead"),
        (torch.ones(6)[::2], "to be contiguous"),
        (torch.ones(2, 2), "to be of dimension 1. Got 2 instead"),
        (torch.ones(3), "of length 2 but got 3 instead"),
    ):
        with pytest.raises(RuntimeError, match=message):
            torch._foreach_addcmul(tensors, tensors, tensors, scalars)


class Unsure(list):
    """A list that has no truth, as programs' lists of tensors may be."""

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")


def test_lists_are_not_asked_for_their_truth() -> None:
    tensors = Unsure([torch.ones(2), torch.full((2,), 2.0)])
    assert torch.cat(tensors).tolist() == [1.0, 1.0, 2.0, 2.0]
    assert torch.einsum("a,b->ab", tensors).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert torch._foreach_add(tensors, Unsure([1.0, 2.0]))[1].tolist() == [4.0, 4.0]
    assert torch._foreach_mul(tensors, tensors)[1].tolist() == [4.0, 4.0]
    torch._foreach_zero_(tensors)
    assert tensors[1].tolist() == [0.0, 0.0]
