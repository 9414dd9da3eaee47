"""nflows, normflows, zuko: a density fit by each library's flows."""

import normflows as nf
import torch
import zuko
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms.autoregressive import (
    MaskedAffineAutoregressiveTransform,
    MaskedPiecewiseRationalQuadraticAutoregressiveTransform,
)
from nflows.transforms.base import CompositeTransform
from nflows.transforms.lu import LULinear
from nflows.transforms.permutations import ReversePermutation

torch.manual_seed(0)
x = torch.randn(64, 2) @ torch.tensor([[1.0, 0.5], [0.0, 0.3]]) + 0.5


def fit(name, module, nll, eps=1e-8):
    opt, losses = torch.optim.Adam(module.parameters(), 1e-2, eps=eps), []
    for _ in range(5):
        opt.zero_grad()
        loss = nll()
        loss.backward()
        opt.step()
        losses.append(f"{loss.item():.5f}")
    print(name, losses)


flow = Flow(
    CompositeTransform(
        [
            ReversePermutation(2),
            MaskedAffineAutoregressiveTransform(2, 8),
            LULinear(2),
            MaskedPiecewiseRationalQuadraticAutoregressiveTransform(2, 8, tails="linear", tail_bound=4.0),
        ]
    ),
    StandardNormal([2]),
)
fit("nflows", flow, lambda: -flow.log_prob(x).mean())
print(f"{flow.sample(5).sum().item():.4f}")
layers = []
for _ in range(2):
    layers += [
        nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 16, 2], init_zeros=True)),
        nf.flows.Permute(2, mode="swap"),
        nf.flows.ActNorm(2),
    ]
nfm = nf.NormalizingFlow(nf.distributions.base.DiagGaussian(2), layers)
# ActNorm begins where gradients are zero but for rounding: their signs must not be Adam's first steps.
fit("normflows", nfm, lambda: nfm.forward_kld(x), eps=1e-3)
print(f"{nfm.sample(5)[0].sum().item():.4f}")
real = nf.NormalizingFlow(
    nf.distributions.base.DiagGaussian(2),
    [nf.flows.Planar((2,)), nf.flows.Radial((2,))],
    nf.distributions.TwoMoons(),
)
fit("planar", real, lambda: real.reverse_kld(32))
for name, make in (
    ("MAF", lambda: zuko.flows.MAF(2, 1, transforms=2, hidden_features=(16,))),
    ("NSF", lambda: zuko.flows.NSF(2, 1, transforms=2, hidden_features=(16,))),
    ("NICE", lambda: zuko.flows.NICE(2, 1, transforms=2, hidden_features=(16,))),
    ("GMM", lambda: zuko.flows.GMM(2, 1, components=3)),
    ("NAF", lambda: zuko.flows.NAF(2, 1, transforms=1)),
    ("CNF", lambda: zuko.flows.CNF(2, 1, hidden_features=(8,))),
    ("SOSPF", lambda: zuko.flows.SOSPF(2, 1, transforms=1)),
    ("BPF", lambda: zuko.flows.BPF(2, 1, transforms=1)),
):
    z = make()
    c = torch.zeros(64, 1)
    fit(name, z, lambda: -z(c).log_prob(x).mean())
    if name not in ("NAF",):
        print(f"{z(c[:1]).sample((4,)).sum().item():.3f}")
