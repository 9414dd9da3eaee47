"""torch._fused_sdp_choice: the implementation of attention that PyTorch takes on the CPU."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight.nn.attention import SDPBackend, sdpa_kernel


def test_backends_are_no_numbers() -> None:
    flash: Any = SDPBackend(1)
    number: Any = 1
    assert flash is SDPBackend.FLASH_ATTENTION and flash != number and int(flash) == 1
    assert (repr(flash), str(flash)) == ("<SDPBackend.FLASH_ATTENTION: 1>", "SDPBackend.FLASH_ATTENTION")


def test_the_choice() -> None:
    choice: Any = torch._fused_sdp_choice
    q = torch.rand(2, 3, 5, 8)
    one = q[:, :1]
    assert choice(q, q, q) == choice(q, one, one, enable_gqa=True) == SDPBackend.FLASH_ATTENTION.value
    assert choice(q, q, q, torch.ones(5, 5)) == choice(q, q, q, torch.ones(2, 1, 5, 1)) == 1
    assert choice(q, one, one) == choice(q, q, q, dropout_p=0.5) == choice(q[0], q[0], q[0]) == 0
    assert choice(q, q, q, torch.ones(3, 5, 5)) == choice(q, q, q, torch.ones(5, 5, requires_grad=True)) == 0
    assert choice(q, q, q, torch.ones(1, 2, 3, 5, 5)) == 0
    with pytest.raises(IndexError, match="tensor has no dimensions"):
        choice(q, q, q, torch.ones(()))
    with sdpa_kernel([SDPBackend.MATH]):
        assert choice(q, q, q) == 0
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION]), pytest.raises(RuntimeError, match="No available kernel"):
        choice(q, q, q, dropout_p=0.5)
