"""neuraloperator: Fourier neural operators of several kinds, a few steps of training."""

import torch
from neuralop.losses import H1Loss, LpLoss
from neuralop.models import FNO, TFNO, UNO

torch.manual_seed(0)
x = torch.randn(4, 1, 16, 16)
y = torch.roll(x, 1, -1) * 0.5
for name, make in (
    ("FNO", lambda: FNO(n_modes=(6, 6), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2)),
    (
        "TFNO",
        lambda: TFNO(
            n_modes=(6, 6),
            hidden_channels=8,
            in_channels=1,
            out_channels=1,
            n_layers=2,
            factorization="tucker",
            rank=0.5,
        ),
    ),
    ("FNO1d", lambda: FNO(n_modes=(6,), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2)),
    (
        "UNO",
        lambda: UNO(
            in_channels=1,
            out_channels=1,
            hidden_channels=8,
            n_layers=3,
            uno_out_channels=[8, 8, 8],
            uno_n_modes=[[4, 4]] * 3,
            uno_scalings=[[1.0, 1.0], [0.5, 0.5], [2, 2]],
            channel_mlp_skip="linear",
        ),
    ),
):
    model = make()
    a, b = (x[:, :, 0], y[:, :, 0]) if name == "FNO1d" else (x, y)
    opt = torch.optim.AdamW(model.parameters(), 1e-2)
    l2, losses = LpLoss(d=a.dim() - 2, p=2), []
    for _ in range(4):
        opt.zero_grad()
        loss = l2(model(a), b)
        loss.backward()
        opt.step()
        losses.append(f"{loss.item():.5f}")
    print(name, sum(p.numel() for p in model.parameters()), losses)
print(f"{H1Loss(d=2)(model(x), y).item():.4f}")
