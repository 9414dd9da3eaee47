"""Modules and optimizers: copied, pickled, saved whole and as state, resumed on the next number."""

from __future__ import annotations

import copy
import io
import pickle
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch


class Net(torch.nn.Module):
    """A model of the program's own, with tied weights and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.norm = torch.nn.BatchNorm1d(4)
        self.register_buffer("mask", torch.ones(4))
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x: Any) -> Any:
        return self.drop(self.norm(self.second(torch.relu(self.first(x))))) * self.mask


def trained() -> tuple[Any, Any]:
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    step(model, optimizer)
    return model, optimizer


def step(model: Any, optimizer: Any) -> Any:
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4)).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def values(model: Any) -> Any:
    return {name: t.tolist() for name, t in model.state_dict().items()}


def whole(obj: Any) -> Any:
    buffer = io.BytesIO()
    torch.save(obj, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=False)


@pytest.mark.parametrize(
    "again",
    [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), whole],
    ids=["deepcopy", "pickle", "save"],
)
def test_a_module_comes_back(again: Any) -> None:
    model, _ = trained()
    other = again(model)
    assert values(other) == values(model) and type(other) is Net
    assert other.first.weight is other.second.weight and other.first.weight is not model.first.weight
    assert type(other.first.weight) is torch.nn.Parameter and other.first.weight.requires_grad
    assert [n for n, _ in other.named_parameters()] == [n for n, _ in model.named_parameters()]
    with torch.no_grad():
        other.first.weight.zero_()
    assert values(other) != values(model)
    other.eval()
    assert model.training and not other.training


def test_training_resumes_on_the_next_number(tmp_path: Path) -> None:
    model, optimizer = trained()
    torch.save(
        {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "rng": torch.get_rng_state(),
            "epoch": 1,
        },
        tmp_path / "c.pt",
    )
    wanted = [step(model, optimizer) for _ in range(3)]
    torch.manual_seed(99)
    fresh = Net()
    other = torch.optim.Adam(fresh.parameters(), lr=0.5)
    loaded = torch.load(tmp_path / "c.pt")
    fresh.load_state_dict(loaded["model"])
    other.load_state_dict(loaded["optimizer"])
    torch.set_rng_state(loaded["rng"])
    assert [step(fresh, other) for _ in range(3)] == wanted
    assert values(fresh) == values(model)


def test_an_optimizer_is_copied_with_its_model() -> None:
    model, optimizer = trained()
    other, its = copy.deepcopy((model, optimizer))
    assert its.param_groups[0]["params"][0] is other.first.weight
    state = torch.get_rng_state()
    wanted = step(model, optimizer)
    torch.set_rng_state(state)
    assert step(other, its) == wanted and values(other) == values(model)


def test_a_state_dict_shares_what_the_model_shares(tmp_path: Path) -> None:
    model, _ = trained()
    torch.save(model.state_dict(), tmp_path / "s.pt")
    for how in ({}, {"mmap": True}):
        loaded = torch.load(tmp_path / "s.pt", **how)
        assert loaded["first.weight"].data_ptr() == loaded["second.weight"].data_ptr()
        assert loaded._metadata["norm"] == {"version": 2}
        assert type(loaded["first.weight"]) is torch.Tensor
        assert not loaded["first.weight"].requires_grad
