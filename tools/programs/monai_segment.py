"""monai: transforms with dictionaries, networks, losses, sliding windows and metrics of medical images."""

import monai
import numpy as np
import torch
from monai.data import DataLoader, Dataset
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, DiceLoss, FocalLoss
from monai.metrics import DiceMetric, compute_hausdorff_distance
from monai.networks.nets import UNETR, AttentionUnet, BasicUNet, SegResNet, UNet
from monai.transforms import (
    Compose,
    EnsureChannelFirstd,
    NormalizeIntensityd,
    RandFlipd,
    RandGaussianNoised,
    RandRotate90d,
    RandSpatialCropd,
    ScaleIntensityd,
)

monai.utils.set_determinism(0)
rng = np.random.default_rng(0)
files = [
    {
        "image": rng.random((32, 32), dtype=np.float32),
        "label": (rng.random((32, 32)) > 0.6).astype(np.float32),
    }
    for _ in range(8)
]
keys = ["image", "label"]
pipe = Compose(
    [
        EnsureChannelFirstd(keys, channel_dim="no_channel"),
        ScaleIntensityd("image"),
        RandSpatialCropd(keys, (24, 24), random_size=False),
        RandFlipd(keys, 0.5),
        RandRotate90d(keys, 0.5),
        RandGaussianNoised("image", 0.5),
        NormalizeIntensityd("image"),
    ]
)
loader = DataLoader(Dataset(files, pipe), batch_size=4, shuffle=True, num_workers=0)
model = UNet(2, 1, 1, channels=(4, 8, 16), strides=(2, 2), num_res_units=1)
opt, loss_of = torch.optim.Adam(model.parameters(), 1e-2), DiceLoss(sigmoid=True)
for epoch in range(2):
    for batch in loader:
        opt.zero_grad()
        loss = loss_of(model(batch["image"]), batch["label"])
        loss.backward()
        opt.step()
        print(epoch, type(batch["image"]).__name__, f"{loss.item():.5f}")
x = torch.rand(1, 1, 40, 40)
with torch.no_grad():
    print("window", f"{sliding_window_inference(x, (24, 24), 2, model.eval(), overlap=0.5).sum().item():.4f}")
for net in (
    BasicUNet(2, 1, 2, features=(4, 4, 8, 8, 8, 4)),
    SegResNet(2, 8, 1, 2),
    AttentionUnet(2, 1, 2, (4, 8), (2,)),
    UNETR(1, 2, (32, 32), 4, 24, 48, 4, spatial_dims=2),
):
    net.eval()
    out = net(torch.rand(1, 1, 32, 32))
    print(type(net).__name__, tuple(out.shape), f"{out.sum().item():.4f}")
a, b = (torch.rand(2, 2, 8, 8) > 0.5).float(), (torch.rand(2, 2, 8, 8) > 0.5).float()
metric = DiceMetric()
metric(a, b)
print(f"{metric.aggregate().item():.5f}", compute_hausdorff_distance(a, b).tolist())
print(f"{DiceCELoss(softmax=True)(a, b).item():.5f} {FocalLoss()(a, b).item():.5f}")
