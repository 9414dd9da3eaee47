"""FrEIA, ncps and torchsurv."""

import warnings

import FrEIA.framework as Ff
import FrEIA.modules as Fm
import numpy
import torch
from ncps.torch import LTC, CfC
from ncps.wirings import AutoNCP
from torchsurv.loss import cox, weibull
from torchsurv.metrics.auc import Auc
from torchsurv.metrics.cindex import ConcordanceIndex

warnings.filterwarnings("ignore")
torch.manual_seed(0)

numpy.random.seed(0)


def sub(a, b):
    return torch.nn.Sequential(torch.nn.Linear(a, 16), torch.nn.ReLU(), torch.nn.Linear(16, b))


inn = Ff.SequenceINN(6)
for _ in range(3):
    inn.append(Fm.AllInOneBlock, subnet_constructor=sub, permute_soft=True)
inn.append(Fm.RNVPCouplingBlock, subnet_constructor=sub)
inn.append(Fm.GLOWCouplingBlock, subnet_constructor=sub)
inn.append(Fm.ActNorm)
x = torch.randn(8, 6)
z, j = inn(x)
print(z.sum(), j.sum())
xr, _ = inn(z, rev=True)
print((xr - x).abs().max() < 1e-3)
o = torch.optim.Adam(inn.parameters(), 1e-3)
for _ in range(4):
    o.zero_grad()
    z, j = inn(x)
    loss = 0.5 * (z**2).sum(1).mean() - j.mean()
    loss.backward()
    o.step()
    print(loss.item())
nodes = [Ff.InputNode(3, 8, 8, name="in")]
nodes.append(Ff.Node(nodes[-1], Fm.IRevNetDownsampling, {}))
nodes.append(
    Ff.Node(
        nodes[-1], Fm.AllInOneBlock, {"subnet_constructor": lambda a, b: torch.nn.Conv2d(a, b, 3, padding=1)}
    )
)
nodes.append(Ff.Node(nodes[-1], Fm.Flatten, {}))
nodes.append(Ff.OutputNode(nodes[-1]))
g = Ff.GraphINN(nodes)
z, j = g(torch.randn(2, 3, 8, 8))
print(z.sum(), j)

w = AutoNCP(12, 2, seed=0)
for M in (LTC, CfC):
    torch.manual_seed(1)
    m = M(4, w, batch_first=True)
    y, h = m(torch.randn(2, 5, 4))
    print(y.sum(), h.sum())
    y.sum().backward()
    print(sum(p.grad.norm() for p in m.parameters() if p.grad is not None))
m = CfC(4, 8, batch_first=True)
print(m(torch.randn(2, 5, 4))[0].sum())

h = torch.randn(16, requires_grad=True)
e = torch.randint(0, 2, (16,)).bool()
t = torch.rand(16) * 10
loss = cox.neg_partial_log_likelihood(h, e, t)
loss.backward()
print(loss, h.grad.norm())
wp = torch.randn(16, 2)
print(weibull.neg_log_likelihood_weibull(wp, e, t))
c = ConcordanceIndex()
print(c(h.detach(), e, t), c.confidence_interval())
print(Auc()(h.detach(), e, t))
