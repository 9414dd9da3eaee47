"""Convolutions with a filter for each channel: by shifted planes, beside windows laid out as columns."""

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.kernels.products import depthwise
from rushlight._engine.ops.nn.sliding_windows import out_size

CASES = [
    # space, kernel, stride, padding, dilation
    ((20,), 4, 1, 3, 1),
    ((9, 11), 3, 1, 1, 1),
    ((9, 11), 3, 2, 1, 1),
    ((9, 11), 3, 2, 0, 2),
    ((7, 7), 3, 1, 4, 1),
    ((8, 8), 2, 3, 0, 1),
    ((8, 8), 1, 2, 0, 1),
    ((12, 12), 9, 1, 4, 1),  # more taps than one pass has
    ((6, 7, 8), 3, 2, 1, 1),
]


def _operands(space, kernel, dtype, last):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 6, *space)).astype(dtype)
    if last:
        x = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    return x, rng.standard_normal((6, 1, *[kernel] * len(space))).astype(dtype)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_three_products(case, dtype, last, monkeypatch):
    monkeypatch.setattr(depthwise, "_FEWEST", {True: 0, False: 0})
    space, kernel, *how = case
    if last and len(space) == 1:
        pytest.skip("lines have no channels last")
    x, w = _operands(space, kernel, dtype, last)
    stride, padding, dilation = ((n,) * len(space) for n in how)
    out = tuple([out_size(n, kernel, s, p, d) for n, s, p, d in zip(space, stride, padding, dilation)])
    g = np.random.default_rng(1).standard_normal((3, 6, *out)).astype(dtype)
    forward = depthwise.convolution("forward", x, w, stride, padding, dilation, 6, out)
    to_input = depthwise.convolution("to_input", g, w, space, stride, padding, dilation, 6)
    to_weight = depthwise.convolution("to_weight", x, g, w.shape[2:], stride, padding, dilation, 6)
    if forward is None:
        pytest.skip("there is no machine code")
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-11, "atol": 1e-11}
    found = forward(x, w)
    # Each channel alone is an ordinary convolution.
    name = f"conv{len(space)}d"
    for c in range(6):
        one = torch.from_numpy(np.ascontiguousarray(x[:, c : c + 1])).requires_grad_()
        filters = torch.from_numpy(w[c : c + 1].copy()).requires_grad_()
        expected = getattr(torch.nn.functional, name)(one, filters, None, *how)
        expected.backward(torch.from_numpy(np.ascontiguousarray(g[:, c : c + 1])))
        np.testing.assert_allclose(found[:, c : c + 1], expected.detach().numpy(), **close)
        np.testing.assert_allclose(to_input(g, w)[:, c : c + 1], one.grad.numpy(), **close)
        np.testing.assert_allclose(to_weight(x, g)[c : c + 1], filters.grad.numpy(), **close)


def test_others_are_left_alone():
    x, w = _operands((8, 8), 3, "float32", False)
    how = (1, 1), (1, 1), (1, 1)
    assert depthwise.convolution("forward", x, w, *how, 1, (8, 8)) is None
    whole = x.astype(np.int64), w.astype(np.int64)
    assert depthwise.convolution("forward", *whole, *how, 6, (8, 8)) is None


@pytest.mark.parametrize("threads", [1, 2])
def test_the_bits_do_not_depend_on_threads(threads):
    torch.manual_seed(0)
    x, w = torch.randn(4, 64, 40, 40), torch.randn(64, 1, 3, 3)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        expected = torch.nn.functional.conv2d(x, w, padding=1, groups=64)
        torch.set_num_threads(threads)
        assert torch.equal(torch.nn.functional.conv2d(x, w, padding=1, groups=64), expected)
    finally:
        torch.set_num_threads(before)
