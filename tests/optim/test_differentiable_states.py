"""Steps with differentiable=True are ops on the states, too."""

import rushlight as torch


def test_nadams_product_has_a_gradient() -> None:
    p = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    product = torch.tensor(0.9, dtype=torch.float64, requires_grad=True)

    def stepped(product: torch.Tensor) -> torch.Tensor:
        parameter = p.clone()
        parameter.grad = torch.tensor([0.5, -1.0], dtype=torch.float64)
        optimizer = torch.optim.NAdam([parameter], lr=0.1, differentiable=True)
        optimizer.state[parameter].update(
            step=torch.tensor(3.0, dtype=torch.float64),
            exp_avg=torch.tensor([0.2, 0.3], dtype=torch.float64),
            exp_avg_sq=torch.tensor([0.4, 0.1], dtype=torch.float64),
            mu_product=product.clone(),
        )
        optimizer.step()
        return parameter

    assert torch.autograd.gradcheck(stepped, (product,))
