"""pytorch-toolbelt, pytorch-adapt and torchstain."""

import warnings

import numpy as np
import pytorch_adapt.layers as adapted
import torch
import torchstain
from pytorch_toolbelt import losses as L

warnings.filterwarnings("ignore")
torch.manual_seed(0)
np.random.seed(0)

x = torch.randn(2, 4, 16, 16)
y = torch.randint(0, 4, (2, 16, 16))
b = (torch.rand(2, 1, 16, 16) > 0.5).float()
xb = torch.randn(2, 1, 16, 16, requires_grad=True)
for loss in (
    L.DiceLoss("binary"),
    L.JaccardLoss("binary"),
    L.BinaryFocalLoss(),
    L.BinaryLovaszLoss(),
    L.WingLoss(),
    L.SoftBCEWithLogitsLoss(smooth_factor=0.1),
    L.BalancedBCEWithLogitsLoss(),
):
    v = loss(xb, b)
    print(type(loss).__name__, v)
    xb.grad = None
    v.backward()
    print(xb.grad.norm())
for loss in (
    L.DiceLoss("multiclass"),
    L.LovaszLoss(),
    L.SoftCrossEntropyLoss(smooth_factor=0.1),
    L.CrossEntropyFocalLoss(),
):
    print(type(loss).__name__, loss(x, y))

x = torch.randn(10, 6, requires_grad=True)
y = torch.randn(10, 6)
for n in ("MMDLoss", "CORALLoss", "SlicedWasserstein", "BatchSpectralLoss"):
    loss = getattr(adapted, n)
    loss = loss(m=8) if n == "SlicedWasserstein" else loss()
    try:
        v = loss(x, y)
    except TypeError:
        v = loss(x)
    print(n, v)
for n in ("EntropyLoss", "DiversityLoss", "MCCLoss", "BNMLoss"):
    print(n, getattr(adapted, n)()(x))
z = adapted.GradientReversal()(x).sum()
z.backward()
print(x.grad.sum())

g = np.random.RandomState(0)
im = g.randint(0, 255, (3, 32, 32)).astype(np.uint8)
tgt = g.randint(0, 255, (3, 32, 32)).astype(np.uint8)
n = torchstain.normalizers.MacenkoNormalizer(backend="torch")
n.fit(torch.from_numpy(tgt))
a, b, c = n.normalize(I=torch.from_numpy(im), stains=True)
print(a.float().sum(), b.float().sum())
n = torchstain.normalizers.ReinhardNormalizer(backend="torch")
n.fit(torch.from_numpy(tgt))
print(n.normalize(I=torch.from_numpy(im)).float().sum())
au = torchstain.augmentors.MacenkoAugmentor(backend="torch")
au.fit(torch.from_numpy(im))
print(au.augment().float().shape)
