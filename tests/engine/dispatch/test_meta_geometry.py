"""What has no data lies as the same with data does; indices of the CPU go with it."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F

OPS = {
    "relu": torch.relu,
    "a number": lambda x: x + 1,
    "itself and dense": lambda x: x.contiguous() * x,
    "where": lambda x: torch.where(x > 0, x, 1.0),
    "nan_to_num": torch.nan_to_num,
    "dtype": lambda x: x / 2 == x,
    "written to": lambda x: x.clone().add_(1),
    "a dim kept": lambda x: x.sum(0, keepdim=True),
    "the second kept": lambda x: x.amax(1, keepdim=True),
    "a deviation": lambda x: x.std(1, keepdim=True),
    "a mean beside it": lambda x: torch.var_mean(x, -1, keepdim=True)[1],
    "a logarithm of a sum": lambda x: x.logsumexp(1, keepdim=True),
    "where the most frequent lies": lambda x: x.mode(0, keepdim=True).indices,
    "the last kept": lambda x: (x > 0).any(-1, keepdim=True),
}


@pytest.mark.parametrize("name", OPS)
def test_results_lie_as_those_with_data(name):
    for x in (
        torch.ones(4, 6).t(),
        torch.ones(2, 3, 4, 4).to(memory_format=torch.channels_last),
        torch.ones(3, 4, 5).permute(2, 0, 1),
        torch.ones(6, 1).expand(6, 4),
        torch.empty_strided((1, 3, 4), (7, 4, 1)).fill_(1.0),
    ):
        nowhere = torch.empty_strided(x.shape, x.stride(), device="meta")
        found, wanted = OPS[name](nowhere), OPS[name](x)
        assert found.is_meta and found.shape == wanted.shape and found.dtype is wanted.dtype
        assert found.stride() == wanted.stride()
    assert torch.ones(3, 4).t().sum(1, keepdim=True).stride() == (1, 1)
    assert torch.ones(2, 3, 4, 4).to(memory_format=torch.channels_last).sum(1, True).stride() == (
        16,
        16,
        4,
        1,
    )
    assert torch.ones(3, 1, 5, 2).permute(0, 1, 3, 2).any(-1).stride() == (2, 2, 1)
    assert torch.ones(3, 1, 5).transpose(0, 2).sum(-1).stride() == (1, 1)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(RuntimeError, match="The size of tensor a"):
        torch.ones(2, 3, device="meta").t() + torch.ones(4, 5, device="meta")


def test_indices_may_lie_on_the_cpu():
    x, i, rows = torch.ones(4, 3, device="meta"), torch.tensor([0, 1]), torch.zeros(4, 3, dtype=torch.long)
    for found in (
        F.embedding(i, x),
        F.embedding_bag(i, x, torch.tensor([0]), mode="sum"),
        F.embedding_bag(i, x, torch.tensor([0]), mode="max"),
        x.index_select(0, i),
        x.gather(0, rows),
        x.take(i),
        x.scatter(0, rows, 1.0),
        x.scatter_add(0, rows, x),
    ):
        assert found.is_meta
    assert torch.nn.Embedding(10, 3, device="meta")(i).shape == (2, 3)
    with pytest.raises(RuntimeError, match="same device"):
        x.index_add(0, i, torch.ones(2, 3, device="meta"))


def test_kept_dims_lie_densely():
    x = torch.ones(2, 3, 4)
    assert torch.std_mean(x, -1, keepdim=True)[1].stride() == (3, 1, 1)
    assert x.mode(0, keepdim=True).indices.stride() == (12, 4, 1)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_any_and_all_over_no_dims_say_it_of_each_element(device):
    x = torch.tensor([[0.0, 2.0]]).to(device)
    for found in (x.any(()), torch.all(x, dim=()), x.any([], keepdim=True)):
        assert found.dtype is torch.bool and found.shape == (1, 2)
        assert device == "meta" or found.tolist() == [[False, True]]
    assert x.any(None).shape == x.all().shape == ()
