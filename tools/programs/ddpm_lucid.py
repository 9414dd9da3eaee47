"""denoising-diffusion-pytorch, ema-pytorch and lion-pytorch: training and sampling of small diffusion models."""

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, GaussianDiffusion1D, Unet, Unet1D
from ema_pytorch import EMA
from lion_pytorch import Lion

torch.manual_seed(0)
for objective in ("pred_noise", "pred_v", "pred_x0"):
    model = Unet(dim=8, dim_mults=(1, 2), flash_attn=False)
    diffusion = GaussianDiffusion(
        model, image_size=16, timesteps=20, sampling_timesteps=5, objective=objective
    )
    ema, opt = EMA(model, beta=0.9, update_every=1, update_after_step=0), Lion(model.parameters(), lr=1e-3)
    for _ in range(3):
        loss = diffusion(torch.rand(2, 3, 16, 16))
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update()
        print(objective, f"{loss.item():.5f}")
    print("ema", f"{sum(float(p.double().abs().sum()) for p in ema.ema_model.parameters()):.4f}")
    print("sample", f"{diffusion.sample(batch_size=2).sum().item():.3f}")
one = GaussianDiffusion1D(
    Unet1D(dim=8, dim_mults=(1, 2), channels=2), seq_length=16, timesteps=10, objective="pred_v"
)
loss = one(torch.rand(2, 2, 16))
loss.backward()
print("1d", f"{loss.item():.5f} {one.sample(batch_size=2).sum().item():.3f}")
