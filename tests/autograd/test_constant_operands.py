"""Operands with regard to which PyTorch has no gradient are refused where one is asked for."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight.nn import functional as F

CLASSES = torch.tensor([0, 1, 2])


def _scaled(scale: Any) -> Any:
    zeros = torch.zeros(4, dtype=torch.int32)
    return torch.fake_quantize_per_channel_affine(torch.ones(4, 2), scale, zeros, 0, 0, 255)


# Function and argument, by PyTorch's names: the call, by that argument.
CASES: dict[tuple[str, str], Any] = {
    ("nll_loss_forward", "weight"): lambda w: F.nll_loss(torch.ones(3, 4), CLASSES, w),
    ("nll_loss2d_forward", "weight"): lambda w: F.cross_entropy(torch.ones(1, 4, 3), CLASSES[None], w),
    ("binary_cross_entropy", "weight"): lambda w: F.binary_cross_entropy(torch.ones(4), torch.ones(4), w),
    ("binary_cross_entropy_with_logits", "pos_weight"): lambda w: F.binary_cross_entropy_with_logits(
        torch.ones(4), torch.ones(4), pos_weight=w
    ),
    ("multi_margin_loss", "weight"): lambda w: F.multi_margin_loss(torch.ones(3, 4), CLASSES, weight=w),
    ("soft_margin_loss", "target"): lambda w: F.soft_margin_loss(torch.ones(4), w),
    ("native_batch_norm", "running_mean"): lambda w: F.batch_norm(torch.ones(3, 4), w, torch.ones(4)),
    ("native_batch_norm", "running_var"): lambda w: F.instance_norm(
        torch.ones(3, 4, 2), torch.ones(4), w, use_input_stats=False
    ),
    ("fake_quantize_per_channel_affine_cachemask", "scale"): _scaled,
    ("linalg_pinv", "rtol"): lambda w: torch.linalg.pinv(torch.ones(3, 4), rtol=w[0]),
}


@pytest.mark.parametrize(("op", "name"), CASES)
def test_they_are_refused_every_time(op: str, name: str) -> None:
    operand = torch.ones(4, requires_grad=True)
    call = CASES[op, name]
    call(operand.detach())
    for _ in range(3):
        with pytest.raises(
            RuntimeError, match=f"'{op}' is not differentiable with respect to argument '{name}'"
        ):
            call(operand)
    with torch.no_grad():
        call(operand)


def test_weights_of_probabilities_have_a_gradient() -> None:
    weight = torch.ones(4, requires_grad=True)
    F.cross_entropy(torch.ones(3, 4), torch.full((3, 4), 0.25), weight).backward()
    assert weight.grad is not None
