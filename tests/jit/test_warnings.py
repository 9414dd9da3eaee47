"""Warnings of compiled programs."""

from __future__ import annotations

import pytest

import rushlight as torch


def test_a_compiled_module_warns():
    loss = torch.jit.script(torch.nn.KLDivLoss())
    with pytest.warns(UserWarning, match="batchmean"):
        loss(torch.zeros(2, 2), torch.ones(2, 2))
