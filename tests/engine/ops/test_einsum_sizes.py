"""What einsum says of sizes that do not go together, in PyTorch's words."""

import pytest

import rushlight as torch

REFUSED = {
    "iij": ([(3, 4, 2)], "subscript i is repeated for operand 0 but the sizes don't match, 4 != 3"),
    "ii->i": ([(3, 1)], "subscript i is repeated for operand 0 but the sizes don't match, 1 != 3"),
    "j,iji->": ([(4,), (1, 4, 3)], "subscript i is repeated for operand 1 but the sizes don't match, 3 != 1"),
    "ij,jk": ([(3, 4), (5, 6)], "subscript j has size 5 for operand 1 which does not broadcast with "
              "previously seen size 4"),
    "...i,...i": ([(5, 2, 3), (5, 4, 3)], "dimension 1 covered by ellipsis in operand 1has size 4 which does "
                  "not broadcast with previously seen ellipsis with size 2 for the respective dimension"),
}  # fmt: skip


@pytest.mark.parametrize("equation", REFUSED)
def test_sizes_apart(equation):
    shapes, words = REFUSED[equation]
    with pytest.raises(RuntimeError) as caught:
        torch.einsum(equation, *[torch.ones(shape) for shape in shapes])
    assert str(caught.value) == f"einsum(): {words}"


def test_sizes_of_one_and_none():
    assert torch.einsum("ij,jk,i->k", torch.ones(3, 1), torch.ones(4, 2), torch.ones(1)).tolist() == [12, 12]
    assert torch.einsum("ij,jk", torch.ones(3, 0), torch.ones(0, 2)).tolist() == [[0, 0]] * 3
