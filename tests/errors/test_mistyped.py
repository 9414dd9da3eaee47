"""Arguments of another type are refused as PyTorch refuses them, and the message says the public name."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight.nn import functional as F

X = torch.zeros(2, 3)
IMAGE, WEIGHT = torch.zeros(1, 2, 5, 5), torch.zeros(4, 2, 3, 3)
CASES = {
    "dims of a dict": (lambda: X.sum(dim={}), TypeError, "sum(): argument 'dim'"),
    "dims of a set": (lambda: X.sum(dim={0}), TypeError, "must be tuple of ints, not set"),
    "dims of a range": (lambda: X.permute(range(2)), TypeError, "must be tuple of ints, not range"),
    "a shape of an array": (lambda: torch.zeros(np.array([2, 3])), TypeError, "must be tuple of ints"),
    "a text as a shape": (lambda: X.view("a"), TypeError, "view(): argument 'size'"),
    "a text as a dim": (lambda: F.softmax(X, dim="a"), TypeError, "softmax(): argument 'dim'"),
    "a text as a stride": (lambda: F.conv2d(IMAGE, WEIGHT, stride="a"), TypeError, "argument 'stride'"),
    "a fraction as a stride": (lambda: F.conv2d(IMAGE, WEIGHT, stride=[1.5]), TypeError, "argument 'stride'"),
    "texts as a window": (lambda: F.avg_pool2d(IMAGE, ["a"]), TypeError, "argument 'kernel_size'"),
    "a text as a format": (
        lambda: X.to(memory_format="a"),
        TypeError,
        "must be torch.memory_format, not str",
    ),
    "a format by position": (lambda: X.float(torch.preserve_format), TypeError, ""),
    "a text among tensors": (lambda: torch.block_diag(X, "a"), TypeError, "expected Tensor as element 1"),
    "a number to grow": (lambda: torch.atleast_2d(3), TypeError, "atleast_2d(): expected Tensor"),
    "a text as a size": (lambda: F.adaptive_avg_pool2d(IMAGE, "a"), TypeError, "argument 'output_size'"),
    "no equation": (lambda: torch.einsum(None, X), TypeError, "argument 'equation' (position 1) must be str"),
    "no reduction": (lambda: F.mse_loss(X, X, reduction=None), ValueError, "None is not a valid value"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_refused(case: str) -> None:
    call, kind, words = CASES[case]
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)


def test_what_is_taken() -> None:
    assert torch.zeros(2, requires_grad=None, pin_memory=None).requires_grad is False
    assert torch.zeros((torch.tensor(2), np.int64(3))).shape == (2, 3)
    assert F.conv2d(IMAGE, WEIGHT, stride=[torch.tensor(1)]).shape == (1, 4, 3, 3)


def test_a_name_that_is_nowhere_loads_nothing() -> None:
    import subprocess
    import sys

    program = (
        "import sys, rushlight as torch; x = torch.zeros(2); before = set(sys.modules)\n"
        "assert not hasattr(x, 'nothing') and not hasattr(torch, 'nothing')\n"
        "print([m for m in sys.modules if m not in before and '.ops.' in m])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
