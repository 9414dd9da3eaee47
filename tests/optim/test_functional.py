"""torch.optim.functional: steps by functions have the bits of steps by the classes."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

import rushlight as torch
from rushlight.optim import functional

DECAY = {"weight_decay": 0.1}
BETAS = {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "eps": 1e-8, **DECAY}
# function: (class, states with the numbers that they begin with, arguments)
CASES: dict[str, tuple[str, dict[str, float | None], dict[str, Any]]] = {
    "sgd": (
        "SGD",
        {"momentum_buffer": None},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "nesterov": False, "maximize": False, **DECAY},
    ),
    "adam": (
        "Adam",
        {"exp_avg": 0, "exp_avg_sq": 0, "max_exp_avg_sq": 0},
        {"amsgrad": True, "maximize": False, **BETAS},
    ),
    "adamw": (
        "AdamW",
        {"exp_avg": 0, "exp_avg_sq": 0, "max_exp_avg_sq": 0},
        {"amsgrad": False, "maximize": True, **BETAS},
    ),
    "adadelta": (
        "Adadelta",
        {"square_avg": 0, "acc_delta": 0},
        {"lr": 0.1, "rho": 0.9, "eps": 1e-6, "maximize": False, **DECAY},
    ),
    "adagrad": ("Adagrad", {"sum": 0}, {"lr": 0.1, "lr_decay": 0.1, "eps": 1e-8, "maximize": False, **DECAY}),
    "adamax": ("Adamax", {"exp_avg": 0, "exp_inf": 0}, BETAS),
    "asgd": (
        "ASGD",
        {"ax": 0, "mu": 1, "eta": 0.1},
        {"lambd": 1e-4, "lr": 0.1, "t0": 1.0, "alpha": 0.75, **DECAY},
    ),
    "nadam": ("NAdam", {"exp_avg": 0, "exp_avg_sq": 0, "mu_product": 1}, {"momentum_decay": 4e-3, **BETAS}),
    "radam": ("RAdam", {"exp_avg": 0, "exp_avg_sq": 0}, BETAS),
    "rmsprop": (
        "RMSprop",
        {"square_avg": 0, "grad_avg": 0, "momentum_buffer": 0},
        {"lr": 0.1, "alpha": 0.99, "eps": 1e-8, "momentum": 0.9, "centered": True, **DECAY},
    ),
    "rprop": (
        "Rprop",
        {"prev": 0, "step_size": 0.01},
        {"step_size_min": 1e-6, "step_size_max": 50, "etaminus": 0.5, "etaplus": 1.2},
    ),
    "muon": (
        "Muon",
        {"momentum_buffer": 0},
        {
            "lr": 0.1,
            "momentum": 0.9,
            "nesterov": True,
            "ns_coefficients": (3.4445, -4.775, 2.0315),
            "ns_steps": 5,
            "eps": 1e-7,
            "adjust_lr_fn": None,
            "has_complex": False,
            **DECAY,
        },
    ),
}
SHARED = {"eta", "mu", "mu_product"}  # one number for a whole parameter


def by_class(name: str, arguments: dict[str, Any]) -> Any:
    """The class's arguments."""
    made = {key: value for key, value in arguments.items() if key != "has_complex"}
    for pair, first, second in (
        ("betas", "beta1", "beta2"),
        ("etas", "etaminus", "etaplus"),
        ("step_sizes", "step_size_min", "step_size_max"),
    ):
        if first in made:
            made[pair] = made.pop(first), made.pop(second)
    return made


def tensors() -> list[torch.Tensor]:
    """Two matrices, the second transposed in memory."""
    torch.manual_seed(0)
    return [torch.randn(3, 4), torch.randn(4, 4).t()]


@pytest.mark.parametrize("name", CASES)
def test_bits(name: str) -> None:
    cls, states, arguments = CASES[name]
    params = [p.requires_grad_() for p in tensors()]
    optimizer = getattr(torch.optim, cls)(params, **by_class(name, arguments))
    stepped = [p.detach() for p in tensors()]
    held: list[Any] = [
        [
            None
            if first is None
            else torch.tensor(float(first))
            if key in SHARED
            else torch.full_like(p, first)
            for p in stepped
        ]
        for key, first in states.items()
    ]
    counts = [] if name in ("sgd", "muon") else [[torch.tensor(0.0) for _ in stepped]]
    for _ in range(3):
        for p in params:
            p.grad = torch.randn(p.shape)
        versions = [p._version for p in stepped]
        getattr(functional, name)(stepped, [p.grad for p in params], *held, *counts, **arguments)
        optimizer.step()
        assert all(p._version > v for p, v in zip(stepped, versions, strict=True))
    for i, (p, q) in enumerate(zip(params, stepped, strict=True)):
        assert torch.equal(p, q) and q.grad is None
        for key, values in zip(states, held, strict=True):
            if key in optimizer.state[p]:
                assert torch.equal(optimizer.state[p][key], values[i]), key
    assert [[int(count) for count in several] for several in counts] in ([], [[3, 3]])


def test_homes() -> None:
    for name in ("adam", "sgd", "radam"):
        assert getattr(import_module(f"rushlight.optim.{name}"), name) is getattr(functional, name)
    assert torch.optim._functional.adamw is functional.adamw
    assert torch.optim._muon.muon is functional.muon


def test_rows_and_columns() -> None:
    p, v = torch.ones(3, 2), torch.ones(4)
    rows, columns, variances = [torch.zeros(3, 1), None], [torch.zeros(1, 2), None], [None, torch.zeros(4)]
    steps = [torch.tensor(0.0), torch.tensor(0.0)]
    functional.adafactor(
        [p, v],
        [torch.ones(3, 2), torch.ones(4)],
        rows,
        columns,
        variances,
        steps,
        d=1.0,
        lr=0.1,
        beta2_decay=-0.8,
        weight_decay=0.0,
        eps1=1e-7,
        eps2=1e-3,
        maximize=False,
    )
    assert [step.item() for step in steps] == [1, 1] and (p < 1).all() and (v < 1).all()
    assert rows[0].sum() > 0 and columns[0].sum() > 0 and variances[1].sum() > 0


def test_sparse_gradients() -> None:
    p = torch.ones(5, 2, requires_grad=True)
    q, mean, square = torch.ones(5, 2), torch.zeros(5, 2), torch.zeros(5, 2)
    optimizer = torch.optim.SparseAdam([p], lr=0.1)
    for step in (1, 2):
        p.grad = torch.sparse_coo_tensor([[0, 2]], torch.ones(2, 2) * step, (5, 2))
        optimizer.step()
        functional.sparse_adam(
            [q],
            [p.grad],
            [mean],
            [square],
            [step],
            eps=1e-8,
            beta1=0.9,
            beta2=0.999,
            lr=0.1,
            maximize=False,
        )
    assert torch.equal(p, q)


def test_a_step_in_the_graph() -> None:
    p, grad = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    moved = p * 2
    functional.sgd(
        [moved],
        [grad],
        [None],
        weight_decay=0,
        momentum=0,
        lr=0.1,
        dampening=0,
        nesterov=False,
        maximize=False,
    )
    assert moved.tolist() == pytest.approx([1.9, 1.9])
    moved = p * 2
    state = [torch.zeros(2)], [torch.zeros(2)], [], [torch.tensor(0.0)]
    functional.adam(
        [moved], [grad], *state, foreach=False, differentiable=True, amsgrad=False, maximize=False, **BETAS
    )
    found = torch.autograd.grad(moved.sum(), (p, grad))
    assert found[0].tolist() == pytest.approx([2, 2]) and torch.isfinite(found[1]).all()


def test_fused_steps_are_those_of_classes():
    torch.manual_seed(0)
    begin, grad = torch.randn(3, 2), torch.randn(3, 2)
    options = {"beta1": 0.9, "beta2": 0.99, "weight_decay": 0.05, "eps": 1e-8, "amsgrad": False}
    for fused, cls in ((torch._fused_adamw_, torch.optim.AdamW), (torch._fused_adam_, torch.optim.Adam)):
        p = begin.clone().requires_grad_()
        optimizer = cls([p], 0.1, (0.9, 0.99), weight_decay=0.05)
        own, means, squares = begin.clone(), torch.zeros(3, 2), torch.zeros(3, 2)
        for step in (1.0, 2.0):
            p.grad = grad.clone()
            optimizer.step()
            count, given = torch.tensor(step), grad * 2
            scaling = {"grad_scale": torch.tensor(2.0), "found_inf": torch.tensor(0.0)}
            fused(
                [own], [given], [means], [squares], [], [count], lr=0.1, maximize=False, **options, **scaling
            )
            assert count.item() == step and given.equal(grad)
        assert torch.allclose(own, p.detach(), atol=1e-7)
        kept, told = own.clone(), torch.tensor(1.0)
        fused(
            [own], [grad], [means], [squares], [], [count], lr=0.1, maximize=False, found_inf=told, **options
        )
        assert own.equal(kept)


def test_fused_steps_with_momentum():
    begin, grad = torch.ones(3), torch.full((3,), 0.5)
    p, own, buffer = begin.clone().requires_grad_(), begin.clone(), torch.zeros(3)
    optimizer = torch.optim.SGD([p], 0.1, momentum=0.9, dampening=0.2, weight_decay=0.1)
    options = {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0.2, "nesterov": False}
    for first in (True, False):
        p.grad = grad.clone()
        optimizer.step()
        torch._fused_sgd_([own], [grad], [buffer], maximize=False, is_first_step=first, **options)
    assert torch.allclose(own, p.detach()) and torch.allclose(buffer, optimizer.state[p]["momentum_buffer"])


def test_optimizers_of_handed_gradients():
    from rushlight.distributed.optim.functional_adam import _FunctionalAdam

    from rushlight.distributed.optim import as_functional_optim
    from rushlight.distributed.optim.utils import functional_optim_map

    for cls in functional_optim_map:
        own = torch.ones(3, requires_grad=True)
        given = torch.ones(3, requires_grad=True)
        steps, handed = cls([own], lr=0.1), as_functional_optim(cls, lr=0.1)
        for factor in (1.0, -2.0):
            own.grad = torch.arange(3.0) * factor
            steps.step()
            handed.step_param(given, torch.arange(3.0) * factor)
        assert torch.equal(own, given) and given.grad is None, cls
    one = _FunctionalAdam([torch.ones(1, requires_grad=True)])
    with pytest.raises(ValueError, match="does not equal to the size of the parameters"):
        one.step([])
    with pytest.raises(ValueError, match="does not have a functional counterpart"):
        as_functional_optim(torch.optim.LBFGS)
