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


def scaled_steps(cls, device, **options):
    """Parameters, counts and factors along five steps, the second of which overflows."""
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2).to(device)
    optimizer = cls(model.parameters(), lr=0.1, **options)
    scaler = torch.amp.GradScaler(device, init_scale=8.0, growth_interval=2)
    found = []
    for step in range(5):
        optimizer.zero_grad()
        loss = model(torch.ones(4, 3, device=device)).square().sum()
        scaler.scale(loss * (torch.inf if step == 1 else 1)).backward()
        if step == 3:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        torch.cuda.set_sync_debug_mode("error")  # nobody waits for the factor
        try:
            scaler.update()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        counts = [state["step"].item() for state in optimizer.state.values() if "step" in state]
        found.append((scaler.get_scale(), scaler._get_growth_tracker(), counts))
        found.append([p.tolist() for p in model.parameters()])
    return found


@pytest.mark.parametrize("cls", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_fused_optimizers_take_what_the_scaler_found(cls, device) -> None:
    fused, plain = scaled_steps(cls, device, fused=True), scaled_steps(cls, device)
    assert fused[::2] == plain[::2]
    torch.testing.assert_close(fused[1::2], plain[1::2])
    assert [factor for factor, *_ in fused[::2]] == [8.0, 4.0, 4.0, 8.0, 8.0]
