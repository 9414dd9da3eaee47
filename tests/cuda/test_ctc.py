"""CTC's loss and its gradient by the device's kernels: what the CPU gives."""

from __future__ import annotations

import pytest

import rushlight as torch

pytest.importorskip("llvmlite")
F = torch.nn.functional

# Times, sequences, classes, lengths of targets and of inputs: repeated labels, none, too many for the times.
SIZES: dict[str, tuple[int, int, int, tuple[int, ...], tuple[int, ...]]] = {
    "three": (12, 3, 6, (4, 2, 3), (12, 9, 11)),
    "one without labels": (7, 2, 5, (0, 3), (7, 4)),
    "many": (30, 4, 20, (10, 12, 8, 1), (30, 25, 28, 3)),
    "impossible": (4, 2, 5, (3, 3), (4, 2)),
    "wide": (90, 2, 7, (40, 35), (90, 88)),
}


@pytest.mark.parametrize(
    "devices", [("driver", 2), ("simulated,kernels,check",)], indirect=True, ids=["driver", "simulated"]
)
@pytest.mark.parametrize(("name", "of"), [*[(name, "float32") for name in SIZES], ("three", "float64")])
def test_losses_and_gradients(name: str, of: str) -> None:
    steps, sequences, classes, lengths, times = SIZES[name]
    targets = torch.randint(1, classes, (sequences, max(lengths)))
    targets[0, 1:2] = targets[0, :1]
    flat = torch.cat([row[:n] for row, n in zip(targets, lengths, strict=True)])
    x = torch.randn(steps, sequences, classes, dtype=getattr(torch, of))
    for given, how in (
        (targets, {}),
        (flat, {"zero_infinity": True}),
        (flat, {"reduction": "sum", "blank": 2}),
    ):
        here, there = x.clone().requires_grad_(), x.cuda().requires_grad_()
        want = F.ctc_loss(here.log_softmax(2), given, times, lengths, **how)
        found = F.ctc_loss(there.log_softmax(2), given.cuda(), times, lengths, **how)
        torch.testing.assert_close(found.cpu(), want, rtol=1e-4, atol=1e-5)
        want.backward()
        found.backward()
        assert here.grad is not None and there.grad is not None
        torch.testing.assert_close(there.grad.cpu(), here.grad, rtol=1e-4, atol=1e-5, equal_nan=True)
