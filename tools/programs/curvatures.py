"""curvlinops and unfoldNd: curvatures as linear operators, unfolding in any number of dims."""

import warnings

import curvlinops as cl
import torch
import unfoldNd
from torch import nn

warnings.filterwarnings("ignore")

torch.manual_seed(0)

net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
X, y = torch.randn(8, 4), torch.randn(8, 2)
data = [(X[:5], y[:5]), (X[5:], y[5:])]
ps = [p for p in net.parameters()]
lf = nn.MSELoss()
v = torch.randn(sum(p.numel() for p in ps))
for C in (cl.HessianLinearOperator, cl.GGNLinearOperator, cl.EFLinearOperator):
    H = C(net, lf, ps, data)
    print(C.__name__, (H @ v).norm(), (H @ torch.eye(len(v))[:, :3]).shape)
F = cl.FisherMCLinearOperator(net, lf, ps, data)
print((F @ v).norm())
K = cl.KFACLinearOperator(net, lf, ps, data, fisher_type="type-2") if True else None
print((K @ v).norm())
E = cl.EKFACLinearOperator(net, lf, ps, data, fisher_type="type-2")
print((E @ v).norm())
print(
    cl.hutchinson_trace(cl.HessianLinearOperator(net, lf, ps, data), num_matvecs=5)
    if hasattr(cl, "hutchinson_trace")
    else ""
)

u = unfoldNd.UnfoldNd(3, padding=1)
print(u(torch.randn(2, 3, 4, 4, 4)).shape)
print(
    torch.equal(
        unfoldNd.unfoldNd(torch.arange(64.0).reshape(1, 1, 8, 8), 3),
        nn.functional.unfold(torch.arange(64.0).reshape(1, 1, 8, 8), 3),
    )
)
f = unfoldNd.FoldNd((8, 8), 3)
print(f(torch.ones(1, 9, 36)).sum())
print(unfoldNd.UnfoldTransposeNd(3)(torch.randn(1, 2, 5)).shape)
