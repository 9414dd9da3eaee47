"""Mixed precision on a device: autocast by CUDA's own lists, and GradScaler."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight import nn

F = nn.functional


def x(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Numbers on the device."""
    return torch.randn(*shape, device="cuda", dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_cudas_lists(dtype: torch.dtype) -> None:
    half = x(4, 4, dtype=dtype)
    with torch.autocast("cuda", dtype=dtype):
        assert torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") is dtype
        for lower in (x(4, 4) @ x(4, 4), nn.Linear(4, 2).cuda()(x(3, 4)), torch.bmm(x(1, 2, 2), x(1, 2, 2))):
            assert lower.dtype is dtype
        assert F.conv2d(x(1, 2, 4, 4), x(3, 2, 2, 2)).dtype is dtype
        for single in (
            half.softmax(1),
            half.exp(),
            half.sum(),
            F.layer_norm(half, (4,)),
            half.pow(2),
            half.norm(),
        ):
            assert single.dtype is torch.float32
        assert F.mse_loss(half, half).dtype is torch.float32 and F.gelu(half).dtype is dtype
        assert torch.cat([half, x(1, 4)]).dtype is torch.float32 and (half + half).dtype is dtype
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32  # the CPU's have their own
        with torch.autocast("cuda", enabled=False):
            assert (x(2, 2) @ x(2, 2)).dtype is torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (x(2, 2) @ x(2, 2)).dtype is torch.float32


def test_scaled_training_reaches_what_float32_does() -> None:
    losses = []
    for enabled in (False, True):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 3)).cuda()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
        scaler = torch.amp.GradScaler("cuda", enabled=enabled)
        inputs, labels = torch.randn(64, 8).cuda(), torch.arange(64).cuda() % 3
        for _ in range(15):
            with torch.autocast("cuda", dtype=torch.float16, enabled=enabled):
                loss = F.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        losses.append(loss.item())
    assert losses[1] == pytest.approx(losses[0], abs=0.02) and losses[0] < 1.0


def test_an_overflow_skips_the_step_and_lowers_the_scale() -> None:
    p = nn.Parameter(torch.ones(2, device="cuda"))
    optimizer, scaler = torch.optim.SGD([p], 0.1), torch.amp.GradScaler("cuda", init_scale=1024.0)
    for factor, scale, moved in ((float("inf"), 512.0, False), (1.0, 512.0, True)):
        before = p.detach().clone()
        optimizer.zero_grad()
        scaler.scale((p * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == scale and torch.equal(before, p.detach()) is not moved


def test_older_spellings() -> None:
    with pytest.warns(FutureWarning), torch.cuda.amp.autocast():
        assert (x(2, 2) @ x(2, 2)).dtype is torch.float16
    assert not torch.cuda.amp.amp_definitely_not_available()


def test_the_factor_may_be_made_before() -> None:
    scaler = torch.amp.GradScaler("cuda", init_scale=8.0)
    scaler._lazy_init_scale_growth_tracker(torch.device("cuda"))
    assert scaler._scale.is_cuda and scaler.scale(torch.ones(1, device="cuda")).item() == 8
    with pytest.raises(AssertionError, match="_growth_tracker initialized before _scale"):
        scaler._lazy_init_scale_growth_tracker(torch.device("cuda"))
