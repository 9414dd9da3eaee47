"""diffusers: schedulers step by step, small models, a pipeline made of them."""

import numpy as np
import torch
from diffusers import (
    AutoencoderKL,
    DDIMPipeline,
    DDIMScheduler,
    DDPMScheduler,
    DPMSolverMultistepScheduler,
    EulerAncestralDiscreteScheduler,
    EulerDiscreteScheduler,
    FlowMatchEulerDiscreteScheduler,
    HeunDiscreteScheduler,
    LMSDiscreteScheduler,
    PNDMScheduler,
    UNet2DConditionModel,
    UNet2DModel,
    UniPCMultistepScheduler,
)
from diffusers.optimization import get_cosine_schedule_with_warmup
from diffusers.training_utils import EMAModel

torch.manual_seed(0)
for kind in (
    DDPMScheduler,
    DDIMScheduler,
    PNDMScheduler,
    EulerDiscreteScheduler,
    EulerAncestralDiscreteScheduler,
    LMSDiscreteScheduler,
    HeunDiscreteScheduler,
    DPMSolverMultistepScheduler,
    UniPCMultistepScheduler,
):
    s = kind(num_train_timesteps=100)
    s.set_timesteps(6)
    x = torch.randn(1, 3, 4, 4, generator=torch.Generator().manual_seed(1)) * s.init_noise_sigma
    for t in s.timesteps:
        x = s.step(0.1 * s.scale_model_input(x, t), t, x).prev_sample
    print(kind.__name__, f"{x.sum().item():.4f} {x.abs().sum().item():.4f}")
unet = UNet2DModel(
    sample_size=16,
    in_channels=3,
    out_channels=3,
    layers_per_block=1,
    block_out_channels=(16, 32),
    norm_num_groups=8,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
)
noise, opt = DDPMScheduler(num_train_timesteps=50), torch.optim.AdamW(unet.parameters(), 1e-3)
plan, ema = get_cosine_schedule_with_warmup(opt, 1, 5), EMAModel(unet.parameters(), decay=0.9)
for _ in range(4):
    clean, eps, t = torch.randn(2, 3, 16, 16), torch.randn(2, 3, 16, 16), torch.randint(0, 50, (2,))
    loss = torch.nn.functional.mse_loss(unet(noise.add_noise(clean, eps, t), t).sample, eps)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(unet.parameters(), 1.0)
    opt.step()
    plan.step()
    opt.zero_grad()
    ema.step(unet.parameters())
    print(f"{loss.item():.5f}")
pipe = DDIMPipeline(unet, DDIMScheduler(num_train_timesteps=50))
pipe.set_progress_bar_config(disable=True)
image = pipe(
    batch_size=1, generator=torch.Generator().manual_seed(0), num_inference_steps=3, output_type="np"
).images
print("pipeline", image.shape, f"{np.abs(image).sum():.3f}")
cond = UNet2DConditionModel(
    sample_size=8,
    in_channels=4,
    out_channels=4,
    layers_per_block=1,
    block_out_channels=(16, 32),
    norm_num_groups=8,
    cross_attention_dim=16,
    attention_head_dim=8,
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
    up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
).eval()
print(f"{cond(torch.randn(1, 4, 8, 8), 3, torch.randn(1, 5, 16)).sample.sum().item():.4f}")
vae = AutoencoderKL(block_out_channels=(16,), norm_num_groups=8, latent_channels=2, sample_size=16).eval()
print(f"{vae(torch.randn(1, 3, 16, 16)).sample.sum().item():.4f}")
unet.save_pretrained("kept")
print(f"{sum(float(p.double().abs().sum()) for p in UNet2DModel.from_pretrained('kept').parameters()):.4f}")
flow = FlowMatchEulerDiscreteScheduler()
flow.set_timesteps(4)
print([f"{v:.3f}" for v in flow.sigmas.tolist()])
