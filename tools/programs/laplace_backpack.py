"""laplace-torch and BackPACK: second-order quantities of a small network."""

import torch
from backpack import backpack, extend
from backpack.extensions import (
    KFAC,
    KFLR,
    BatchGrad,
    BatchL2Grad,
    DiagGGNExact,
    DiagGGNMC,
    DiagHessian,
    SumGradSquared,
    Variance,
)
from laplace import Laplace
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = torch.randn(20, 4), torch.randint(0, 3, (20,))
net = extend(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)))
loss_of = extend(nn.CrossEntropyLoss())
with backpack(
    BatchGrad(),
    BatchL2Grad(),
    Variance(),
    SumGradSquared(),
    DiagGGNExact(),
    DiagHessian(),
    KFLR(),
    DiagGGNMC(),
    KFAC(),
):
    loss_of(net(x), y).backward()
for p in net.parameters():
    print(
        f"{p.grad.sum().item():.5f} {p.grad_batch.abs().sum().item():.5f} {p.batch_l2.sum().item():.5f} "
        f"{p.variance.sum().item():.6f} {p.diag_ggn_exact.sum().item():.5f} {p.diag_h.sum().item():.5f} "
        f"{p.diag_ggn_mc.sum().item():.5f}",
        [f"{k.sum().item():.4f}" for k in p.kflr + p.kfac],
    )
plain = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
loader = DataLoader(TensorDataset(x, y), 10)
for subset, structure in (
    ("all", "diag"),
    ("all", "kron"),
    ("all", "full"),
    ("last_layer", "full"),
    ("last_layer", "kron"),
):
    la = Laplace(plain, "classification", subset_of_weights=subset, hessian_structure=structure)
    la.fit(loader)
    la.optimize_prior_precision(method="marglik")
    print(
        subset,
        structure,
        f"{la.log_marginal_likelihood().item():.4f} {la(x[:3], link_approx='probit').max().item():.4f}",
    )
