"""azula, k-diffusion's samplers and S5: denoisers, their samplers, and a layer of a state space."""

import torch
from azula.denoise import KarrasDenoiser
from azula.nn.unet import UNet
from azula.noise import CosineSchedule, VESchedule, VPSchedule
from azula.sample import DDIMSampler, DDPMSampler, EulerSampler, HeunSampler
from s5 import S5, S5Block
from torch import nn

print([float(s(torch.tensor(0.3))[1]) for s in (VPSchedule(), VESchedule(), CosineSchedule())])


class Backbone(nn.Module):
    """A network of a noisy vector and a time."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 2))

    def forward(self, x, t, **kwargs):
        return self.layers(torch.cat([x, t.reshape(-1, 1).expand(x.shape[0], 1)], -1))


denoiser = KarrasDenoiser(Backbone(), VPSchedule())
optimizer = torch.optim.Adam(denoiser.parameters(), lr=1e-3)
data = torch.randn(64, 2) * torch.tensor([2.0, 0.5])
for _ in range(4):
    loss = denoiser.loss(data, torch.rand(64))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
for Sampler in (DDPMSampler, DDIMSampler, EulerSampler, HeunSampler):
    sampler = Sampler(denoiser, steps=6)
    start = sampler.init((8, 2))
    print(Sampler.__name__, sampler(start).square().sum().item())
unet = UNet(
    in_channels=3, out_channels=3, hid_channels=(8, 16), hid_blocks=(1, 1), mod_features=8, norm="layer"
)
print(unet(torch.randn(2, 3, 16, 16), torch.randn(2, 8)).square().mean())

layer = S5(8, 16)
x = torch.randn(2, 20, 8)
y = layer(x)
y.square().sum().backward()
print(y.sum(), sum(p.grad.abs().sum().item() for p in layer.parameters() if p.grad is not None))
print(S5Block(8, 16, False)(x).square().sum())
