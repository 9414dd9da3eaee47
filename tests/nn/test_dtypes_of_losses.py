"""Losses between numbers of two dtypes: which are refused, and what dtype the result has."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.nn import functional as F

X = torch.tensor([0.5, -1.0])


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.float64, torch.float16])
def test_binary_cross_entropy_wants_one_dtype(dtype: torch.dtype) -> None:
    with pytest.raises(RuntimeError, match=rf"Found dtype {dtype.legacy} but expected Float"):
        F.binary_cross_entropy(X.sigmoid(), torch.tensor([1, 0]).to(dtype))


def test_binary_cross_entropy_with_logits_refuses_integers() -> None:
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        F.binary_cross_entropy_with_logits(X, torch.tensor([1, 0]))
    with pytest.raises(RuntimeError, match="Subtraction"):
        torch.nn.BCEWithLogitsLoss()(X, torch.tensor([True, False]))


@pytest.mark.parametrize(
    ("input", "target", "result"),
    [
        ("float64", "float32", "float32"),
        ("float32", "float64", "float64"),
        ("float32", "bfloat16", "bfloat16"),
    ],
)
def test_binary_cross_entropy_with_logits_has_its_targets_dtype(input: str, target: str, result: str) -> None:
    x = X.to(getattr(torch, input)).requires_grad_()
    found = F.binary_cross_entropy_with_logits(x, torch.tensor([1, 0]).to(getattr(torch, target)))
    assert found.dtype is getattr(torch, result)
    assert abs(found.item() - 0.39367) < 2e-3
    found.backward()
    assert x.grad.dtype is x.dtype


def test_a_weight_of_positives_changes_no_dtype() -> None:
    weight = torch.tensor([2.0, 3.0], dtype=torch.float64)
    found = F.binary_cross_entropy_with_logits(X, torch.tensor([1.0, 0.0]), pos_weight=weight)
    assert found.dtype is torch.float32


def test_kl_div_refuses_integers() -> None:
    with pytest.raises(RuntimeError, match="kl_div: Integral inputs not supported"):
        F.kl_div(X, torch.tensor([1, 0]), reduction="sum")
