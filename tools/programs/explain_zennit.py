"""zennit, quantus: relevance by rules and how good it is."""

import torch
from zennit.attribution import Gradient, IntegratedGradients, Occlusion, SmoothGrad
from zennit.canonizers import SequentialMergeBatchNorm
from zennit.composites import (
    EpsilonAlpha2Beta1,
    EpsilonGammaBox,
    EpsilonPlus,
    EpsilonPlusFlat,
    ExcitationBackprop,
    GuidedBackprop,
)

torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3),
    torch.nn.BatchNorm2d(8),
    torch.nn.ReLU(),
    torch.nn.MaxPool2d(2),
    torch.nn.Conv2d(8, 8, 3),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(200, 10),
).eval()
x = torch.randn(2, 3, 16, 16)
target = torch.eye(10)[[3, 7]]
for make in (
    EpsilonPlus,
    EpsilonPlusFlat,
    EpsilonAlpha2Beta1,
    ExcitationBackprop,
    GuidedBackprop,
    lambda canonizers: EpsilonGammaBox(low=-3.0, high=3.0, canonizers=canonizers),
):
    composite = make(canonizers=[SequentialMergeBatchNorm()])
    with Gradient(net, composite) as attributor:
        out, relevance = attributor(x, target)
    print(
        type(composite).__name__,
        f"{out.sum().item():.5f} {relevance.sum().item():.5f} {relevance.abs().sum().item():.5f}",
    )
for make in (SmoothGrad, IntegratedGradients):
    with make(net, n_iter=4) as attributor:
        out, relevance = attributor(x, target)
    print(make.__name__, f"{relevance.abs().sum().item():.5f}")
with Occlusion(net, window=(4, 4), stride=(4, 4)) as attributor:
    print("Occlusion", f"{attributor(x, target)[1].abs().sum().item():.5f}")
