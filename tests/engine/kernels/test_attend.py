"""Attention a strip of scores at a time equals the formula, forwards and backwards, in any layout."""

import random

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.kernels.products.attention import attend, unattend

pytest.importorskip("llvmlite")


def _by_formula(q, k, v, g, causal, scale):
    scores = q @ k.swapaxes(-1, -2) * scale
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    dp = g @ v.swapaxes(-1, -2)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) * scale
    return p @ v, ds @ k, ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ g


@pytest.mark.parametrize("seed", range(60))
def test_equals_the_formula(seed):
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    lead = draw.choice([(), (2,), (2, 3), (1, 2, 2)])
    length, keys = draw.choice([1, 5, 16, 33, 100, 300]), draw.choice([1, 7, 16, 64, 130])
    deep, out = draw.choice([1, 3, 8, 32, 40]), draw.choice([1, 5, 16, 64])
    dtype, causal = draw.choice([np.float32, np.float64]), draw.random() < 0.5

    def made(n, d):
        turned = draw.random() < 0.3
        a = rng.standard_normal((*lead, d, n) if turned else (*lead, n, d)).astype(dtype)
        return a.swapaxes(-1, -2) if turned else a

    q, k, v, g = made(length, deep), made(keys, deep), made(keys, out), made(length, out)
    scale = draw.choice([0.1, 0.5, deep**-0.5, -0.3])
    found, kept = attend(q, k, v, causal, scale)(q, k, v)
    expected = _by_formula(*(a.astype(np.float64) for a in (q, k, v, g)), causal, scale)
    for a, b in zip((found, *unattend(g, q, k, v, kept, causal, scale)), expected, strict=True):
        assert a.shape == b.shape and a.dtype == dtype
        np.testing.assert_allclose(
            a, b, rtol=0, atol=(2e-5 if dtype is np.float32 else 1e-12) * np.abs(b).max()
        )


def test_nans_stay_in_their_rows():
    q, k, v = (np.random.default_rng(0).standard_normal((2, 9, 4)) for _ in range(3))
    q[0, 3, 1] = np.nan
    found = attend(q, k, v, False, 0.5)(q, k, v)[0]
    assert np.isnan(found[0, 3]).all() and np.isfinite(np.delete(found[0], 3, 0)).all()


def test_memory_is_a_strip_of_scores_not_all():
    import resource

    q = torch.randn(1, 1, 12000, 8)
    torch.nn.functional.scaled_dot_product_attention(q[:, :, :16], q[:, :, :16], q[:, :, :16])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    # The matrix of scores would be 576 MB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_second_gradients():
    q, k, v = (torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True) for _ in range(3))
    for causal in (False, True):

        def function(*qkv, causal=causal):
            return torch.nn.functional.scaled_dot_product_attention(*qkv, is_causal=causal)

        assert torch.autograd.gradcheck(function, (q, k, v))
        assert torch.autograd.gradgradcheck(function, (q, k, v))


@pytest.mark.parametrize("shape", [(5, 5), (2, 3, 5, 5), (2, 1, 1, 5)])
def test_a_mask_beside_is_causal_is_one_more_mask(shape: tuple[int, ...]) -> None:
    attend = torch.nn.functional.scaled_dot_product_attention
    q, k, v = (torch.randn(2, 3, 5, 4) for _ in range(3))
    ahead = torch.ones(5, 5, dtype=torch.bool).triu(1)
    mask = torch.randn(shape)
    wanted = attend(q, k, v, mask + torch.zeros(5, 5).masked_fill(ahead, -torch.inf))
    torch.testing.assert_close(attend(q, k, v, mask, is_causal=True), wanted)
    wanted = attend(q, k, v, (mask > -1) & ~ahead)
    torch.testing.assert_close(attend(q, k, v, mask > -1, is_causal=True), wanted)


def test_where_a_mask_beside_is_causal_is_refused() -> None:
    attend = torch.nn.functional.scaled_dot_product_attention
    q, mask = torch.randn(2, 3, 5, 4), torch.zeros(5, 5)
    for args in ((q[0],) * 3, (q, q[:, :1], q[:, :1]), (q, q, q[..., :3]), (q.mT.contiguous().mT, q, q)):
        with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set"):
            attend(*args, mask, is_causal=True)
    with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set"):
        attend(q, q, q, mask, 0.5, True)
    with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set"):
        attend(q, q, q, mask.requires_grad_(), is_causal=True)
