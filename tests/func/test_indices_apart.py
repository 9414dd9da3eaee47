"""vmap of reads and writes at indices that stand apart, whose dims come first in a result."""

import pytest

import rushlight as torch

ROWS, COLUMNS = torch.tensor([[0, 1], [2, 3]]), torch.tensor([[1, 2], [0, 3]])
MASK = torch.tensor([True, False, True, True, False])
READS = {
    "apart": lambda x: x[ROWS, :, :, COLUMNS],
    "masks apart": lambda x: x[MASK, :, :, torch.arange(3)],
    "together": lambda x: x[:, ROWS, COLUMNS],
    "later": lambda x: x[:, ROWS, :, COLUMNS],
    "a mask": lambda x: x[MASK],
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("dim", [0, 2, 4])
def test_reads(name, dim):
    x = torch.randn(3, 5, 6, 7, 8)
    wanted = torch.stack([READS[name](one) for one in x])
    assert torch.equal(torch.vmap(READS[name], dim)(x.movedim(0, dim)), wanted)


def test_numbers_are_not_joined():
    with pytest.raises(RuntimeError, match="zero-dimensional tensor .* cannot be concatenated"):
        torch.vmap(lambda a, b: torch.cat([a, b]))(torch.ones(3), torch.ones(3))


def test_rows_are_drawn_at_once_as_they_lie_in_memory():
    x = torch.rand(6, 4)
    torch.manual_seed(1)
    found = torch.vmap(lambda row: torch.multinomial(row, 3), in_dims=1, randomness="different")(x)
    torch.manual_seed(1)
    assert torch.equal(found, torch.multinomial(x.mT, 3))
