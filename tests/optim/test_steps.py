"""What steps leave behind: gradients' memory, versions, and numbers of unlike gradients."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import rushlight as torch

KINDS = [
    "ASGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_keeps_no_gradient(kind: str) -> None:
    p = torch.ones(4, requires_grad=True)
    o = getattr(torch.optim, kind)([p])
    for _ in range(3):
        (p**2).sum().backward()
        o.step()
        grad = weakref.ref(p.grad.numpy().base if p.grad.numpy().base is not None else p.grad)
        o.zero_grad()
        assert grad() is None


@pytest.mark.parametrize("kind", KINDS)
def test_large_and_strided_parameters_step_alike(kind: str) -> None:
    """Native code over threads, NumPy on strided memory: the same numbers."""
    values = np.cos(np.arange(160_000.0)).reshape(400, 400)
    whole = torch.from_numpy(values.copy()).requires_grad_()
    strided = torch.from_numpy(np.repeat(values, 2, axis=1))[:, ::2].requires_grad_()
    for p in (whole, strided):
        o = getattr(torch.optim, kind)([p], lr=0.1)
        for step in range(4):
            p.grad = torch.from_numpy(np.sin(np.arange(160_000.0) + step).reshape(400, 400))
            o.step()
    assert torch.allclose(whole, strided, rtol=1e-12, atol=1e-12)


def test_equal_averages_of_many_models() -> None:
    """The law of SWA: the average of the models seen."""
    model = torch.nn.Linear(3, 2).double()
    averaged = torch.optim.swa_utils.AveragedModel(model)
    seen = []
    for i in range(5):
        with torch.no_grad():
            model.weight.copy_(torch.from_numpy(np.cos(np.arange(6.0) + i).reshape(2, 3)))
        averaged.update_parameters(model)
        seen.append(model.weight.detach().clone())
    assert torch.allclose(averaged.module.weight, torch.stack(seen).mean(0), rtol=1e-14, atol=1e-15)


def test_muon_directions_are_nearly_orthogonal() -> None:
    for shape in ((6, 10), (10, 6), (8, 8)):
        p = torch.zeros(shape, requires_grad=True)
        o = torch.optim.Muon([p], lr=1.0, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
        p.grad = torch.from_numpy(np.cos(1.0 + np.arange(float(np.prod(shape))) ** 2).reshape(shape)).float()
        o.step()
        sizes = np.linalg.svd(p.detach().numpy() / (0.2 * max(shape) ** 0.5), compute_uv=False)
        assert sizes.max() < 1.35 and sizes.min() > 0.4


def test_lbfgs_finds_the_bottom_of_rosenbrocks_valley() -> None:
    p = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    o = torch.optim.LBFGS([p], line_search_fn="strong_wolfe", max_iter=60)

    def closure() -> torch.Tensor:
        o.zero_grad()
        loss = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
        loss.backward()
        return loss

    o.step(closure)
    o.step(closure)
    assert torch.allclose(p, torch.ones(2, dtype=torch.float64), atol=1e-4)


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_lbfgs_goes_up_as_it_goes_down(line_search: str | None) -> None:
    ends = []
    for sign, maximize in ((1, False), (-1, True)):
        p = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
        o = torch.optim.LBFGS([p], lr=0.1, line_search_fn=line_search, maximize=maximize)

        def closure() -> torch.Tensor:
            o.zero_grad()
            loss = sign * ((1 - p[0]) ** 2 + (p[1] - p[0] ** 2) ** 2)
            loss.backward()
            return loss

        o.step(closure)
        ends.append(p.detach())
    assert torch.equal(*ends)
    assert "maximize" in o.state_dict()["param_groups"][0]
