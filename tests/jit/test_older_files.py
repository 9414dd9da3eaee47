"""Files of older versions: ops that meant something else then."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest

import rushlight as torch


def aged(function: Any, version: int) -> Any:
    """A function's file as one of an older version, loaded."""
    new, old = io.BytesIO(), io.BytesIO()
    torch.jit.save(torch.jit.script(function), new)
    with zipfile.ZipFile(new) as source, zipfile.ZipFile(old, "w") as target:
        for name in source.namelist():
            text = f"{version}\n".encode() if name.endswith("version") else source.read(name)
            target.writestr(name, text)
    old.seek(0)
    return torch.jit.load(old)


def divide(a: torch.Tensor, b: torch.Tensor, n: int):  # type: ignore[no-untyped-def]
    c = torch.zeros_like(a)
    torch.div(a, b, out=c)
    return a / b, a / n, a.clone().div_(b), c


def test_whole_numbers_divided_into_floats() -> None:
    def into(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor):  # type: ignore[no-untyped-def]
        return torch.div(a, b, out=c)

    found = aged(into, 3)(torch.tensor([2]), torch.tensor([3]), torch.zeros(1))
    assert torch.equal(found, torch.tensor([2.0]) / 3)


def test_whole_numbers_divided_to_whole_numbers() -> None:
    a, b = torch.tensor([7, -7]), torch.tensor([2, 2])
    for found in aged(divide, 3)(a, b, 2):
        assert found.dtype == torch.int64 and found.tolist() == [3, -3]
    for found in aged(divide, 3)(a.double(), b, 2):
        assert found.tolist() == [3.5, -3.5]


def full(n: int):  # type: ignore[no-untyped-def]
    return torch.full([2], n), torch.full([2], n, dtype=torch.int64)


def test_full_gave_floats() -> None:
    old, said = aged(full, 4)(3)
    assert old.dtype == torch.float32 and said.dtype == torch.int64
    assert aged(full, 5)(3)[0].dtype == torch.int64


@pytest.mark.parametrize("version", [7, 10])
def test_steps(version: int) -> None:
    def steps(a: float, b: float):  # type: ignore[no-untyped-def]
        return torch.linspace(a, b, 5), torch.logspace(a, b, 4, 2.0)

    x, y = aged(steps, version)(0.0, 2.0)
    assert x.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0] and y.shape == (4,) and y[-1] == 4.0
