"""Attention by fused kernels: numbers and gradients of the CPU's, over the imitated driver; assembled elsewhere."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight._engine.devices.cuda.kernels.simulator import has_fibers
from tests.cuda.fake_driver import FakeDriver

pytest.importorskip("llvmlite")
pytestmark = [
    pytest.mark.devices("driver", 1),
    pytest.mark.skipif(not has_fibers(), reason="fibers need x86-64 and Linux"),
]
F = torch.nn.functional
# As far from the CPU's results, which are rounded once, as rounded weights bring them.
TOLERANCE = {torch.float32: 5e-6, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def compared(
    dtype: torch.dtype, shape: tuple[int, ...], keys: int, causal: bool, scale: float | None = None
) -> None:
    """The results and gradients of a call on the device are the CPU's."""
    q = torch.randn(*shape)
    k, v = (torch.randn(*shape[:-2], keys, shape[-1]) for _ in range(2))
    g, found = torch.randn(*shape), list[list[torch.Tensor]]()
    for where in ("cpu", "cuda"):
        given = [t.to(dtype).to(where).detach().clone().requires_grad_() for t in (q, k, v)]
        out = F.scaled_dot_product_attention(*given, is_causal=causal, scale=scale)
        assert out.dtype is dtype
        out.backward(g.to(dtype).to(where))
        found.append([out.detach().cpu(), *[t.grad.cpu() for t in given if t.grad is not None]])
    for here, there in zip(*found, strict=True):
        torch.testing.assert_close(there, here, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_rows_that_fill_no_tile(dtype: torch.dtype, causal: bool) -> None:
    compared(dtype, (1, 2, 21, 16), 37, causal)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_other_dims_and_scales(dtype: torch.dtype) -> None:
    compared(dtype, (5, 16), 3, False, 0.5)
    compared(dtype, (2, 33, 32), 33, True)
    compared(dtype, (1, 1, 2, 4, 16), 4, False, -0.25)
    compared(dtype, (19, 80), 18, True)


def test_widths_that_tensor_cores_do_not_take() -> None:
    for width in (1, 20, 40):
        compared(torch.float32, (2, 5, width), 6, True)
        compared(torch.float16, (2, 5, width), 6, False)


def test_views_are_read_where_they_lie(fake: FakeDriver) -> None:
    for dtype in (torch.float32, torch.float16):
        mixed = torch.randn(2, 5, 3, 2, 16).to(dtype)
        want = F.scaled_dot_product_attention(*mixed.permute(2, 0, 3, 1, 4).unbind(), is_causal=True)
        given = mixed.cuda().permute(2, 0, 3, 1, 4).unbind()
        F.scaled_dot_product_attention(*given, is_causal=True)
        before = fake.calls["cuLaunchKernel"]
        found = F.scaled_dot_product_attention(*given, is_causal=True)
        assert fake.calls["cuLaunchKernel"] - before == 1
        torch.testing.assert_close(found.cpu(), want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_odd_addresses_are_copied() -> None:
    storage = torch.randn(3 * 64 + 1).half()
    here = [storage[1 + 64 * i :][:64].view(4, 16) for i in range(3)]
    there = storage.cuda()
    found = F.scaled_dot_product_attention(*[there[1 + 64 * i :][:64].view(4, 16) for i in range(3)])
    torch.testing.assert_close(found.cpu(), F.scaled_dot_product_attention(*here), rtol=4e-3, atol=4e-3)


def test_nan_and_large_scores() -> None:
    q, k, v = (torch.randn(3, 16) for _ in range(3))
    k[1] *= 1e4
    found = F.scaled_dot_product_attention(q.cuda(), k.cuda(), v.cuda())
    torch.testing.assert_close(found.cpu(), F.scaled_dot_product_attention(q, k, v), rtol=1e-5, atol=1e-5)
    v[0, 0] = float("nan")
    found = F.scaled_dot_product_attention(q.cuda(), k.cuda(), v.cuda())
    assert bool(found.cpu()[:, 0].isnan().all())
