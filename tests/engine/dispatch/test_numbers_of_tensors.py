"""Tensors where ops take numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import rushlight as torch


@pytest.mark.parametrize(
    "call",
    [
        lambda x, t: x.addcmul(x, x, value=t),
        lambda x, t: x.add(x, alpha=t),
        lambda x, t: torch.full((2,), t),
        lambda x, t: torch.nn.functional.leaky_relu(x, t),
    ],
)
def test_a_tensor_that_requires_grad_is_no_number(
    call: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> None:
    x = torch.zeros(2)
    assert call(x, torch.tensor(1.5)).shape == (2,)
    with pytest.raises(TypeError, match="must be Number, not Tensor"):
        call(x, torch.tensor(1.5, requires_grad=True))
