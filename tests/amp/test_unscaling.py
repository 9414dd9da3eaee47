"""The steps of a GradScaler as ops."""

import pytest

import rushlight as torch


def test_gradients_are_multiplied_and_looked_at():
    found, factor = torch.zeros(1), torch.tensor([0.25])
    grads = [torch.full((2, 2), 4.0), torch.full((3,), 8.0, dtype=torch.float64), torch.empty(0)]
    torch._amp_foreach_non_finite_check_and_unscale_(grads, found, factor)
    assert found.item() == 0 and [g.sum().item() for g in grads] == [4.0, 6.0, 0.0]
    torch._amp_foreach_non_finite_check_and_unscale_([torch.tensor([1.0, float("nan")])], found, factor)
    assert found.item() == 1
    with pytest.raises(RuntimeError, match="found_inf must be a 1-element tensor"):
        torch._amp_foreach_non_finite_check_and_unscale_(grads, torch.zeros(2), factor)


@pytest.mark.parametrize(
    ("value", "bad", "wanted", "steps"), [(4.0, 0, 8.0, 0), (4.0, 1, 2.0, 0), (3e38, 0, 3e38, 0)]
)
def test_the_factor_adapts(value, bad, wanted, steps):
    scale, tracker = torch.tensor([value]), torch.tensor([1], dtype=torch.int32)
    found = torch._amp_update_scale_(scale, tracker, torch.tensor([float(bad)]), 2.0, 0.5, 2)
    assert found is scale
    torch.testing.assert_close(scale, torch.tensor([wanted]))
    assert tracker.item() == steps


def test_a_scaler_may_hold_its_gradients_elsewhere():
    asked = []

    class Scaler(torch.amp.GradScaler):
        def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
            asked.append(allow_fp16)
            return super()._unscale_grads_(optimizer, inv_scale, found_inf, allow_fp16)

    p = torch.nn.Parameter(torch.ones(2))
    scaler, optimizer = Scaler("cpu", init_scale=2.0), torch.optim.SGD([p], 0.5)
    scaler.scale(p.sum()).backward()
    scaler.step(optimizer)
    assert asked == [False] and p.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_a_fused_optimizer_without_gradients(name):
    optimizer = getattr(torch.optim, name)([torch.nn.Parameter(torch.ones(2))], lr=0.5, fused=True)
    assert vars(optimizer)["_step_supports_amp_scaling"]
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(torch.ones(1))
    assert scaler.step(optimizer) is None
    with pytest.raises(AssertionError, match=r"No inf checks were recorded prior to update\."):
        scaler.update()
    optimizer._step_supports_amp_scaling = False


def test_a_compiled_step_of_an_optimizer_that_is_told_what_was_found():
    p, x = torch.nn.Parameter(torch.ones(2)), torch.ones(2)
    optimizer = torch.optim.SGD([p], 0.5, fused=True)
    optimizer.found_inf = torch.zeros(())

    @torch.compile
    def step():
        optimizer.zero_grad()
        (p * x).sum().backward()
        optimizer.step()

    for _ in range(8):
        step()
    assert p.tolist() == [-3.0, -3.0]
    optimizer.found_inf.fill_(1)
    step()
    assert p.tolist() == [-3.0, -3.0]
    optimizer.found_inf.fill_(0)
    step()
    assert p.tolist() == [-3.5, -3.5]


def test_sums_of_a_sparse_gradient_are_checked():
    """Two values of one element, whose sum float16 cannot hold, are an overflow."""
    places, values = torch.tensor([[0, 1, 0], [2, 0, 2]]), torch.tensor([64000.0, 32.0, 64000.0])
    p = torch.zeros(2, 3).to_sparse().half()
    p.grad = torch.sparse_coo_tensor(places, values, (2, 3), dtype=torch.float16)
    optimizer = torch.optim.SGD([p], lr=1.0)
    scaler = torch.amp.GradScaler("cpu")
    found = scaler._unscale_grads_(optimizer, torch.full((1,), 0.25), torch.zeros(1), True)
    assert found[torch.device("cpu")].item() == 1
    assert p.grad.is_coalesced() and p.grad.values().tolist() == [float("inf"), 8.0]
