"""Padding by a tensor's own elements: against the rule for single positions, gradients, layouts."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.autograd import gradcheck, gradgradcheck

F = torch.nn.functional
SHAPES = [
    ((2, 3, 7), (3, 2)),
    ((3, 7), (6, 0)),
    ((2, 3, 5, 6), (1, 2, 0, 3)),
    ((1, 2, 4, 3, 5), (1, 1, 2, 0, 3, 3)),
    ((2, 2, 40, 30), (5, 6, 7, 8)),
    ((2, 3, 5, 6), (-1, 2, 0, 3)),
    ((2, 3, 5, 6), (0, 0, 0, 0)),
]
PLACES = {
    "reflect": lambda p, n: np.where(np.abs(p) >= n, 2 * (n - 1) - np.abs(p), np.abs(p)),
    "replicate": lambda p, n: np.clip(p, 0, n - 1),
    "circular": lambda p, n: p % n,
}


def padded(a, pad, mode):
    for i in range(len(pad) // 2):
        d, (low, high) = a.ndim - 1 - i, pad[2 * i : 2 * i + 2]
        if mode == "circular":  # what is cut off is gone first
            a = a[(slice(None),) * d + (slice(max(-low, 0), a.shape[d] - max(-high, 0)),)]
            low, high = max(low, 0), max(high, 0)
        a = a.take(PLACES[mode](np.arange(-low, a.shape[d] + high), a.shape[d]), d)
    return a


@pytest.mark.parametrize("mode", PLACES)
@pytest.mark.parametrize(("shape", "pad"), SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64, torch.int64])
def test_elements(mode, shape, pad, dtype):
    x = torch.arange(int(np.prod(shape))).remainder(120).reshape(shape).to(dtype)
    for given in (x, x.mT.contiguous().mT):
        for _ in range(3):  # by the body, recorded and by its plan
            found = F.pad(given, pad, mode=mode)
            assert found.dtype is dtype and np.array_equal(
                found.numpy() if dtype is not torch.bfloat16 else found.float().numpy(),
                padded(x.numpy() if dtype is not torch.bfloat16 else x.float().numpy(), pad, mode),
            )


@pytest.mark.parametrize("mode", PLACES)
@pytest.mark.parametrize(
    ("shape", "pad"), [((1, 2, 4), (2, 1)), ((1, 1, 3, 4), (1, 2, 0, 2)), ((1, 2, 3), (-1, 2))]
)
def test_gradients(mode, shape, pad):
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda t: F.pad(t, pad, mode=mode), (x,))
    assert gradgradcheck(lambda t: F.pad(t, pad, mode=mode), (x,))


def test_channels_last_stays_where_pytorch_keeps_it():
    x = torch.randn(2, 3, 5, 6).to(memory_format=torch.channels_last)
    for mode, last in (("reflect", True), ("replicate", True), ("circular", False)):
        found = F.pad(x, (1, 1, 2, 2), mode=mode)
        assert found.is_contiguous(memory_format=torch.channels_last) is last
        assert torch.equal(found, F.pad(x.contiguous(), (1, 1, 2, 2), mode=mode))


def test_under_vmap():
    x = torch.randn(3, 2, 4, 5)
    for mode in PLACES:

        def pad(t, mode=mode):
            return F.pad(t, (1, 2, 0, 1), mode=mode)

        assert torch.equal(torch.func.vmap(pad)(x), pad(x))
        grads = torch.func.vmap(torch.func.grad(lambda t: (pad(t) ** 2).sum()))(x)
        assert torch.allclose(grads, torch.func.grad(lambda t: (pad(t) ** 2).sum())(x))


def test_nothing_cannot_be_repeated():
    with pytest.raises(RuntimeError):
        F.pad(torch.zeros(2, 3, 0, 6), (1, 1, 1, 1), mode="replicate")
