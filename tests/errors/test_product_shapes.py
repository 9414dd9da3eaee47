"""Shapes that cannot be multiplied: one message, whoever finds out."""

import re

import pytest

import rushlight as torch
from rushlight.nn import functional as F


@pytest.mark.parametrize(
    ("call", "sizes"),
    [
        (lambda: torch.mm(torch.ones(2, 3), torch.ones(4, 5)), "2x3 and 4x5"),
        (lambda: torch.ones(2, 2, 3) @ torch.ones(4, 5), "4x3 and 4x5"),
        (lambda: torch.ones(3) @ torch.ones(4, 5), "1x3 and 4x5"),
        (lambda: torch.addmm(torch.ones(5), torch.ones(2, 3), torch.ones(4, 5)), "2x3 and 4x5"),
        (lambda: F.linear(torch.ones(2, 3), torch.ones(5, 4)), "2x3 and 4x5"),
        (lambda: F.linear(torch.ones(3), torch.ones(5, 4), torch.ones(5)), "1x3 and 4x5"),
        (lambda: F.linear(torch.ones(6, 2, 0), torch.ones(5, 4)), "12x0 and 4x5"),
        (lambda: F.linear(torch.ones(0, 2, 3), torch.ones(5, 4), torch.ones(5)), "0x3 and 4x5"),
        (lambda: torch.mm(torch.eye(3).to_sparse(), torch.ones(4, 5)), "3x3 and 4x5"),
    ],
)
def test_message(call, sizes):
    text = f"mat1 and mat2 shapes cannot be multiplied ({sizes})"
    with pytest.raises(RuntimeError, match=re.escape(text)):
        call()


@pytest.mark.parametrize(
    ("call", "sizes"),
    [
        (lambda: torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 5, 6)), "[2, 4] but got: [2, 5]"),
        (lambda: torch.ones(2, 3, 4) @ torch.ones(2, 5, 6), "[2, 4] but got: [2, 5]"),
    ],
)
def test_message_of_batches(call, sizes):
    text = f"Expected size for first two dimensions of batch2 tensor to be: {sizes}."
    with pytest.raises(RuntimeError, match=re.escape(text)):
        call()
