"""Large copies, additions of rows, the first of rows and layer norms with weights: laws that hold for any size."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.ops.creation.copying import assign

SIZES = [(700, 900), (3, 130, 350), (2, 3, 150, 180), (350, 400, 3)]


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_copies_of_permuted_arrays(dtype, shape):
    base = (np.random.default_rng(0).standard_normal(shape) * 50).astype(dtype)
    for order in permutations(range(len(shape))):
        a = base.transpose(order)
        room = np.zeros((*a.shape[:-1], a.shape[-1] + 7), dtype)
        for out in (np.zeros(a.shape, dtype), room[..., 3:-4]):
            assert (assign(out, a) == a).all()
        assert not room[..., :3].any() and not room[..., -4:].any()


def test_an_expanded_tensor_is_copied():
    x = torch.tensor(3.5).expand(400, 500)
    assert x.clone().stride() == x.contiguous().stride() == (500, 1) and bool((x.contiguous() == 3.5).all())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64", "int64"])
def test_rows_are_added_in_order_by_any_number_of_threads(dtype):
    torch.manual_seed(0)
    x, more = (torch.randn(n, 700).mul(10).to(getattr(torch, dtype)) for n in (500, 900))
    rows, threads = torch.randint(500, (900,)), torch.get_num_threads()
    try:
        found = []
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            found.append(x.index_add(0, rows, more))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(found[0], f) for f in found)
    if dtype == "int64":
        expected = x.numpy().copy()
        np.add.at(expected, rows.numpy(), more.numpy())
        assert (found[0].numpy() == expected).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "uint8"])
@pytest.mark.parametrize("largest", [True, False])
def test_topk_is_the_beginning_of_a_stable_sort(dtype, largest):
    x = torch.tensor(np.random.default_rng(0).integers(0, 40, (40, 1000))).to(getattr(torch, dtype))
    if "float" in dtype:
        x[0, 3] = x[0, 900] = float("nan")
        x[1], x[2, :700], x[3] = float("nan"), float("inf"), -float("inf")
    for k in (1, 10, 31, 32, 500):
        order = torch.topk(x, k, -1, largest)[1]
        expected = torch.sort(x, -1, descending=largest, stable=True)
        assert torch.equal(order, expected[1][:, :k])
        assert torch.equal(torch.topk(x.T.contiguous(), k, 0, largest)[1], order.T)


@pytest.mark.parametrize("given", ["", "w", "b", "wb"])
def test_layer_norm_with_weights_is_its_formula(given):
    torch.manual_seed(0)
    x = torch.randn(80, 1024, dtype=torch.float64, requires_grad=True)
    w, b = (torch.randn(1024, dtype=torch.float64, requires_grad=True) if n in given else None for n in "wb")
    c = x - x.mean(-1, True)
    hat = c * (c.square().mean(-1, True) + 1e-5).rsqrt()
    by_hand = hat * (1 if w is None else w) + (0 if b is None else b)
    fused, g = torch.nn.functional.layer_norm(x, (1024,), w, b), torch.randn(80, 1024, dtype=torch.float64)
    leaves = [t for t in (x, w, b) if t is not None]
    firsts = [torch.autograd.grad(y, leaves, g, create_graph=True) for y in (fused, by_hand)]
    seconds = [
        torch.autograd.grad(sum(f.square().sum() for f in first), leaves, allow_unused=True)
        for first in firsts
    ]
    torch.testing.assert_close(fused, by_hand)
    for one, other in zip((*firsts[0], *seconds[0]), (*firsts[1], *seconds[1]), strict=True):
        assert one is other is None or torch.allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64", "complex128"])
@pytest.mark.parametrize("shape", [(300, 512), (2, 3, 33, 700)], ids=str)
def test_copies_of_what_lies_backwards_or_repeats(dtype, shape):
    base = (np.random.default_rng(0).standard_normal(shape) * 50).astype(dtype)
    t = torch.from_numpy(base)
    for dims in [*[(d,) for d in range(len(shape))], tuple(range(len(shape)))]:
        for _ in range(3):
            assert (t.flip(dims).numpy() == np.flip(base, dims)).all()
    for apart in (base[..., :1], base[:1]):
        assert (assign(np.empty(shape, dtype), np.broadcast_to(apart, shape)) == apart).all()
    times = (*[2] * len(shape), 3)
    assert (t[:3].repeat(times).numpy() == np.tile(base[:3], times)).all()


@pytest.mark.parametrize("dtype", [torch.bool, torch.bfloat16, torch.float32, torch.int64, torch.complex128])
@pytest.mark.parametrize("value", [0, 2.0, -0.0])
def test_filled_arrays(dtype, value):
    for _ in range(3):  # by NumPy, then by machine code
        filled = torch.full((70, 1100), value, dtype=dtype)
        assert filled.equal(torch.tensor(value).to(dtype).expand(70, 1100))
        assert not dtype.is_floating_point or (filled.signbit() == (str(value) == "-0.0")).all()
