"""Ops that layers are made of, segments, hashes and fractional pools."""

import math

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("initial", [None, 2.0])
def test_segments(reduce, initial):
    x = torch.arange(1.0, 11).reshape(5, 2).requires_grad_()
    lengths = torch.tensor([2, 0, 3])
    found = torch.segment_reduce(x, reduce, lengths=lengths, initial=initial)
    start = () if initial is None else (initial,)
    for row, part in zip(found, x.detach().split(lengths.tolist()), strict=True):
        for value, column in zip(row, part.T, strict=True):
            values = [*start, *column.tolist()]
            wanted = {
                "sum": sum,
                "prod": math.prod,
                "max": lambda v: max(v, default=-math.inf),
                "min": lambda v: min(v, default=math.inf),
                "mean": lambda v: sum(v) / max(len(column), bool(start)) if v else math.nan,
            }[reduce](values)
            assert value.item() == pytest.approx(wanted, nan_ok=True)
    again = torch.segment_reduce(x, reduce, offsets=torch.tensor([0, 2, 2, 5]), initial=initial)
    torch.testing.assert_close(found, again, equal_nan=True)
    found[0].sum().backward()
    assert (x.grad[2:] == 0).all()


def test_segments_refuse():
    x = torch.ones(4)
    for options, text in (
        ({"lengths": torch.tensor([2, 1])}, "sum to data.size"),
        ({}, "lengths or offsets"),
        ({"lengths": torch.tensor([-1, 5])}, "negative"),
    ):
        with pytest.raises(RuntimeError, match=text):
            torch.segment_reduce(x, "sum", **options)


def test_hash():
    x = torch.tensor([[1.5, 2.0], [3.0, -1.0]])
    bits = np.asarray(x.tolist()).view(np.uint64)
    assert torch.hash_tensor(x).item() == int(np.bitwise_xor.reduce(bits, axis=None))
    assert torch.hash_tensor(x, 1).tolist() == np.bitwise_xor.reduce(bits, axis=1).tolist()
    assert torch.hash_tensor(torch.tensor([-1], dtype=torch.int8)).item() == 2**64 - 1
    with pytest.raises(RuntimeError, match="Unknown hash_tensor mode"):
        torch.hash_tensor(x, mode=1)


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_pool(n):
    torch.manual_seed(0)
    x = torch.randn(2, 3, *[7] * n, dtype=torch.float64, requires_grad=True)
    pool = getattr(F, f"fractional_max_pool{n}d")
    samples = torch.rand(2, 3, n, dtype=torch.float64)
    found, places = pool(x, 2, 3, return_indices=True, _random_samples=samples)
    assert found.shape == (2, 3, *[3] * n)
    assert (x.flatten(2).gather(2, places.flatten(2)) == found.flatten(2)).all()
    assert (found[(..., *[-1] * n)] == x[(..., *[slice(-2, None)] * n)].flatten(2).amax(2)).all()
    assert torch.autograd.gradcheck(lambda x: pool(x, 2, 3, _random_samples=samples), (x,))
    with pytest.raises(RuntimeError, match="too large"):
        pool(x, 2, 7)


def test_fractional_pool_draws_what_pytorch_draws():
    torch.manual_seed(0)
    found = F.fractional_max_pool2d(torch.arange(36.0).reshape(1, 6, 6), 2, 3)
    assert found.tolist() == [[[7, 9, 11], [19, 21, 23], [31, 33, 35]]]


def test_softmax_of_nothing():
    x = torch.tensor([[-math.inf, -math.inf], [0.0, -math.inf]], requires_grad=True)
    found = torch._safe_softmax(x, -1)
    assert found.tolist() == [[0, 0], [1, 0]]
    found.sum().backward()
    assert (x.grad == 0).all()


def test_native_batch_norm():
    x = torch.randn(4, 3, 5)
    found, mean, rstd = torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    torch.testing.assert_close(found, (x - mean[:, None]) * rstd[:, None])
    torch.testing.assert_close(torch._native_batch_norm_legit(x, None, None, True, 0.1, 1e-5)[0], found)
    kept = torch.native_batch_norm(x, None, None, torch.zeros(3), torch.ones(3), False, 0.1, 0.0)
    torch.testing.assert_close(kept[0], x)
    assert kept[1].shape == (0,)


def test_internal_names():
    x = torch.randn(3, 4)
    torch.testing.assert_close(torch.ops.aten.add.Tensor(x, x), 2 * x)
    torch.testing.assert_close(torch.ops.aten.relu(x), x.relu())
    y = x.softmax(1)
    torch.testing.assert_close(
        torch.ops.aten._softmax_backward_data(x, y, 1, torch.float32), y * (x - (x * y).sum(1, True))
    )
    with pytest.raises(AttributeError, match="no_such_op"):
        torch.ops.aten.no_such_op


def test_chunk_cat():
    a, b = torch.arange(5.0), torch.arange(4.0).reshape(2, 2)
    assert torch._chunk_cat([a, b], 0, 2).tolist() == [[0, 1, 2, 0, 1], [3, 4, 0, 2, 3]]
    with pytest.raises(RuntimeError, match="positive num_chunks"):
        torch._chunk_cat([a], 0, 0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_two_byte_products_are_rounded_once(dtype):
    torch.manual_seed(1)
    a, b, c = (torch.randn(8, 8).to(dtype) for _ in range(3))
    wanted = (0.5 * c.float() + 2 * (a.float() @ b.float())).to(dtype)
    assert torch.equal(torch.addmm(c, a, b, beta=0.5, alpha=2), wanted)
    assert torch.equal(torch.baddbmm(c[None], a[None], b[None], beta=0.5, alpha=2)[0], wanted)
    assert torch.equal(F.linear(a, b, c[0]), (a.float() @ b.float().T + c[0].float()).to(dtype))
    assert torch.equal(
        torch.add(a, b, alpha=0.7), (a.float() + torch.tensor(0.7, dtype=dtype).float() * b.float()).to(dtype)
    )


def test_pools_of_infinite_norm():
    x = torch.arange(16.0).reshape(1, 4, 4) - 5
    assert F.lp_pool2d(x, math.inf, 2).tolist() == [[[5, 3], [8, 10]]]
    assert F.lp_pool2d(x, -math.inf, 2).tolist() == [[[0, 1], [3, 5]]]


def test_nan_to_num_of_every_dtype():
    x = torch.tensor([math.nan, 1.0, math.inf], dtype=torch.bfloat16)
    assert torch.nan_to_num(x).tolist() == [0, 1, torch.finfo(torch.bfloat16).max]
    assert torch.nan_to_num(torch.tensor([True, False])).tolist() == [True, False]


def test_older_signatures_and_numbered_reductions() -> None:
    """What PyTorch's compiled functions took before, and their losses."""
    x, w = torch.randn(2, 3, 5, 5), torch.randn(4, 3, 3, 3)
    plain = x, w, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1, False, True, True
    want = torch.nn.functional.conv2d(x, w)
    assert torch.equal(torch._convolution(*plain), want)
    assert torch.equal(torch._convolution(*plain, True), want)
    logits, classes = torch.rand(2, 3, 4, 4), torch.zeros(2, 4, 4, dtype=torch.int64)
    each = torch.nn.functional.nll_loss(logits, classes, reduction="none")
    assert torch._C._nn.nll_loss2d(logits, classes) == each.mean()
    assert torch.equal(torch.ops.aten.nll_loss2d(logits, classes, None, 0), each)
