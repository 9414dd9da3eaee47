"""Functions that torch.func differentiates may not write to what was there before them."""

import pytest

import rushlight as torch


@pytest.mark.parametrize(
    "write",
    [
        lambda c, x: c.copy_(x),
        lambda c, x: c.__setitem__(0, x[0]),
        lambda c, x: c.add_(x),
        lambda c, x: c.mul_(2),
        lambda c, x: c.fill_(1.0),
        lambda c, x: c.zero_(),
        lambda c, x: c[:2].add_(1),
        lambda c, x: c.sub_(x.detach()),
    ],
)
def test_captured_tensors_are_not_written_to(write):
    captured = torch.zeros(3)
    for _ in range(9):  # until calls go by plans
        write(captured, torch.zeros(3))
    captured.zero_()

    def loss(x):
        write(captured, x)
        return (captured * x).sum()

    for transform in (torch.func.grad, torch.func.jacrev, lambda f: lambda x: torch.func.vjp(f, x)):
        with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
            transform(loss)(torch.ones(3))
        assert captured.tolist() == [0, 0, 0]
    torch.autograd.functional.jacobian(loss, torch.ones(3))  # which PyTorch does not see as a transform


def test_buffers_and_outer_values_are_captured():
    norm = torch.nn.BatchNorm1d(2)
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        torch.func.grad(lambda x: norm(x).square().sum())(torch.randn(4, 2))

    def outer(x):
        kept = x * 1
        return torch.func.grad(lambda y: (kept.add_(y) * y).sum())(x).sum()

    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        torch.func.grad(outer)(torch.ones(3))


def test_own_tensors_and_arguments_are_written_to():
    norm = torch.nn.BatchNorm1d(2)

    def loss(x, mean):
        fresh = torch.zeros(4, 2)
        fresh.copy_(x)
        fresh.mul_(x).fill_diagonal_(0)
        state = {
            "running_mean": mean.clone(),
            "running_var": torch.ones(2),
            "num_batches_tracked": torch.tensor(0),
        }
        mean.add_(1)
        return fresh.sum() + torch.func.functional_call(norm, state, (x,)).sum()

    x, mean = torch.randn(4, 2), torch.zeros(2)
    found = torch.func.grad(loss)(x, mean)
    assert torch.allclose(found, 2 * x * (1 - torch.nn.functional.pad(torch.eye(2), (0, 0, 0, 2))), atol=1e-5)
    assert mean.tolist() == [1, 1] and norm.running_mean.tolist() == [0, 0]


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: lambda x: torch.func.grad(lambda y: f(y).sum())(x),
        lambda f: lambda x: torch.func.vjp(f, x),
        lambda f: lambda x: torch.func.jvp(f, (x,), (torch.ones_like(x),)),
    ],
)
def test_running_moments_are_a_kernels_own(transform):
    mean, var = torch.zeros(2), torch.ones(2)
    transform(lambda x: torch.nn.functional.batch_norm(x, mean, var, training=True))(
        torch.tensor([[0.0, 4], [2, 8]])
    )
    torch.testing.assert_close(mean, torch.tensor([0.1, 0.6]))
    torch.testing.assert_close(var, torch.tensor([1.1, 1.7]))
    rows = torch.arange(6.0).reshape(1, 2, 3)
    transform(lambda x: torch.nn.functional.instance_norm(x, mean, var))(rows)
    torch.testing.assert_close(mean, torch.tensor([0.19, 0.94]))


def test_every_example_has_its_own_places_and_shape():
    x = torch.tensor([[1.0, 0, 2], [0, 1, 3]])
    assert torch.func.vmap(torch.argwhere)(x).tolist() == [[[0], [2]], [[1], [2]]]
    assert torch.func.vmap(lambda t: t.clone().resize_(3, 1))(x).shape == (2, 3, 1)
