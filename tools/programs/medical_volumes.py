"""torchio: transforms of volumes, sampling by grid, queues of patches."""

import random

import numpy as np
import torch
import torchio as tio
from torch.utils.data import DataLoader

torch.manual_seed(0)
np.random.seed(0)
random.seed(0)
s = tio.Subject(
    im=tio.ScalarImage(tensor=torch.rand(1, 16, 16, 12)),
    seg=tio.LabelMap(tensor=(torch.rand(1, 16, 16, 12) > 0.5).long()),
)
for t in (
    tio.RescaleIntensity((0, 1)),
    tio.ZNormalization(),
    tio.CropOrPad((12, 12, 12)),
    tio.Resample(2.0),
    tio.RandomFlip(axes=(0, 1)),
    tio.RandomNoise(),
    tio.RandomBlur(),
    tio.RandomGamma(),
    tio.RandomBiasField(),
    tio.RandomAffine(),
    tio.RandomElasticDeformation(max_displacement=1),
    tio.RandomMotion(),
    tio.RandomGhosting(),
    tio.RandomSpike(),
    tio.OneHot(),
    tio.ToCanonical(),
    tio.Pad(2),
    tio.Clamp(0.1, 0.9),
    tio.Mask("seg"),
):
    torch.manual_seed(1)
    o = t(s)
    print(
        t.name,
        tuple(o.im.shape),
        f"{o.im.data.double().abs().sum().item():.4f} {o.seg.data.double().sum().item():.3f}",
    )
sampler = tio.GridSampler(s, 8, 2)
agg = tio.GridAggregator(sampler, overlap_mode="hann")

for b in DataLoader(sampler, batch_size=4):
    agg.add_batch(b["im"][tio.DATA] * 2, b[tio.LOCATION])
print(f"{(agg.get_output_tensor() - 2 * s.im.data).abs().max().item():.5f}")
q = tio.Queue(tio.SubjectsDataset([s, s]), 8, 4, tio.UniformSampler(8), num_workers=0)
torch.manual_seed(2)
for b in DataLoader(q, batch_size=4):
    print(tuple(b["im"][tio.DATA].shape), f"{b['im'][tio.DATA].sum().item():.3f}")
