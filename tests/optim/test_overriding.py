"""What subclasses of optimizers override, and what copies of step() call."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import rushlight as torch

CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("Adam", {"amsgrad": True}, ["exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"]),
    ("AdamW", {}, ["exp_avg", "exp_avg_sq", "", "step"]),
    ("SGD", {"momentum": 0.9}, ["momentum_buffer"]),
    ("RMSprop", {"momentum": 0.9, "centered": True}, ["square_avg", "momentum_buffer", "grad_avg", "step"]),
    ("Adagrad", {}, ["sum", "step"]),
    ("NAdam", {}, ["exp_avg", "exp_avg_sq", "mu_product", "step"]),
    ("RAdam", {}, ["exp_avg", "exp_avg_sq", "step"]),
    ("Adamax", {}, ["exp_avg", "exp_inf", "step"]),
    ("Adadelta", {}, ["square_avg", "acc_delta", "step"]),
    ("ASGD", {}, ["mu", "ax", "eta", "step"]),
    ("Rprop", {}, ["prev", "step_size", "step"]),
    ("Adafactor", {}, ["row_var", "col_var", "variance", "step"]),
    ("Muon", {}, ["momentum_buffer"]),
]


def parameters() -> list[Any]:
    torch.manual_seed(0)
    return [torch.nn.Parameter(torch.randn(3, 4)), torch.nn.Parameter(torch.randn(2, 2))]


def trained(optimizer: Any, factor: float = 1.0) -> list[Any]:
    params = optimizer.param_groups[0]["params"]
    for _ in range(3):
        optimizer.zero_grad()
        (factor * sum(p.square().sum() for p in params)).backward()
        optimizer.step()
    return [p.detach() for p in params]


@pytest.mark.parametrize(("name", "options", "states"), CASES, ids=[case[0] for case in CASES])
def test_init_group(name: str, options: dict[str, Any], states: list[str]) -> None:
    """It appends parameters, gradients and states; those of a subclass are what is stepped."""
    cls = getattr(torch.optim, name)

    class Doubled(cls):  # type: ignore[misc, valid-type]
        def _init_group(self, group: Any, params: Any, grads: Any, *lists: Any) -> Any:
            found = super()._init_group(group, params, grads, *lists)
            grads[:] = [grad * 2 for grad in grads]
            return found

    plain, doubled = cls(parameters(), **options), Doubled(parameters(), **options)
    for ours, theirs in zip(trained(plain, 2.0), trained(doubled), strict=True):
        torch.testing.assert_close(ours, theirs)
    lists: list[list[Any]] = [[] for _ in range(2 + len(states))]
    found = plain._init_group(plain.param_groups[0], *lists)
    assert found == ((False, False) if name == "Adagrad" else False)
    params = plain.param_groups[0]["params"]
    assert [id(p) for p in lists[0]] == [id(p) for p in params]
    assert [id(g) for g in lists[1]] == [id(p.grad) for p in params]
    for state, held in zip(states, lists[2:], strict=True):
        wanted = [plain.state[p].get(state) for p in params] if state else []
        assert [id(t) for t in held] == [id(t) for t in wanted]


def test_init_group_begins_states() -> None:
    """As a copy of step() needs it before the first step; of parameters with gradients alone."""
    params = parameters()
    params[0].grad = torch.ones(3, 4)
    adam = torch.optim.Adam(params)
    lists: list[list[Any]] = [[] for _ in range(6)]
    assert adam._init_group(adam.param_groups[0], *lists) is False
    assert [len(held) for held in lists] == [1, 1, 1, 1, 0, 1]
    assert lists[5][0].item() == 0 and len(adam.state) == 1
    params[0].grad = torch.ones(3, 4).to_sparse()
    with pytest.raises(
        RuntimeError, match="Adam does not support sparse gradients, please consider SparseAd"
    ):
        torch.optim.AdamW(params)._init_group(adam.param_groups[0], *lists)
    with pytest.raises(RuntimeError, match="RMSprop does not support sparse gradients$"):
        torch.optim.RMSprop(params).step()


def test_hooks_of_a_step() -> None:
    """The step that calls hooks calls _optimizer_step_code() too."""
    seen: list[str] = []

    class Watched(torch.optim.SGD):
        def _optimizer_step_code(self) -> None:
            seen.append("code")

    sgd = Watched(parameters())
    sgd.register_step_post_hook(lambda *_: seen.append("post"))
    trained(sgd)
    assert seen == ["code", "post"] * 3
    step = torch.optim.Optimizer.profile_hook_step(lambda self: seen.append("step"))
    seen.clear()
    step(sgd)
    assert seen == ["step", "code", "post"]
    sgd._accelerator_graph_capture_health_check()
    with pytest.warns(FutureWarning, match="_accelerator_graph_capture_health_check"):
        sgd._cuda_graph_capture_health_check()


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs(search: str | None) -> None:
    """Its step gathers gradients and moves parameters by the methods that subclasses have."""
    calls: list[str] = []

    class Watched(torch.optim.LBFGS):
        def _gather_flat_grad(self) -> Any:
            calls.append("gather")
            return super()._gather_flat_grad()

        def _add_grad(self, step_size: Any, update: Any) -> None:
            calls.append("add")
            super()._add_grad(step_size, update)

    params = parameters()
    lbfgs = Watched(params, line_search_fn=search)

    def closure() -> Any:
        lbfgs.zero_grad()
        loss = sum((p - 1).square().sum() for p in params)
        loss.backward()
        return loss

    lbfgs.step(closure)
    assert {"gather", "add"} == set(calls)
    torch.testing.assert_close(params[0].detach(), torch.ones(3, 4))
    with torch.no_grad():
        start = lbfgs._clone_param()
        loss, grad = lbfgs._directional_evaluate(torch.enable_grad()(closure), start, 0.5, torch.ones(16))
    assert loss == pytest.approx(4.0, 1e-4) and grad.shape == (lbfgs._numel(),)
    assert torch.equal(params[1], start[1])
    assert copy.deepcopy(lbfgs)._numel() == 16
