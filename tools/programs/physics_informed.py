"""torchphysics: domains, samplers, conditions of differential equations."""

import warnings

import torch
import torchphysics as tp
from torchphysics.utils import div, jac, rot

warnings.filterwarnings("ignore")
torch.manual_seed(0)

X = tp.spaces.R2("x")
T = tp.spaces.R1("t")
U = tp.spaces.R1("u")
om = tp.domains.Parallelogram(X, [0, 0], [1, 0], [0, 1])
c = tp.domains.Circle(X, [0.5, 0.5], 0.2)
dom = om - c
torch.manual_seed(0)
ps = tp.samplers.RandomUniformSampler(dom, n_points=20)
p = ps.sample_points()
print(p.as_tensor.shape, p.as_tensor.sum())
bs = tp.samplers.GridSampler(om.boundary, n_points=12)
print(bs.sample_points().as_tensor.sum())
m = tp.models.Sequential(
    tp.models.NormalizationLayer(om), tp.models.FCN(input_space=X, output_space=U, hidden=(8, 8))
)


def pde(u, x):
    return tp.utils.laplacian(u, x) + 1


cond = tp.conditions.PINNCondition(m, tp.samplers.GridSampler(om, 25), pde)
bc = tp.conditions.PINNCondition(m, bs, lambda u: u)
o = torch.optim.Adam(m.parameters(), lr=1e-2)
for _ in range(4):
    o.zero_grad()
    loss = cond() + 10 * bc()
    loss.backward()
    o.step()
    print(loss.item())

x = torch.rand(4, 3, requires_grad=True)
u = torch.stack([x[:, 0] ** 2 * x[:, 1], x[:, 1] * x[:, 2], x[:, 2] ** 2], 1)
print(jac(u, x), div(u, x), rot(u, x))
