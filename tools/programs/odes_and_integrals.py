"""torchode and torchquad."""

import torch
import torchode as to
from torchquad import (
    VEGAS,
    Boole,
    GaussLegendre,
    MonteCarlo,
    Simpson,
    Trapezoid,
    set_log_level,
    set_up_backend,
)


def f(t, y):
    return -0.5 * y


y0 = torch.tensor([[1.2], [5.0]])
t_eval = torch.stack((torch.linspace(0, 5, 10), torch.linspace(3, 4, 10)))
term = to.ODETerm(f)
m = to.Dopri5(term=term)
c = to.IntegralController(atol=1e-6, rtol=1e-3, term=term)
s = to.AutoDiffAdjoint(m, c)
sol = s.solve(to.InitialValueProblem(y0=y0, t_eval=t_eval))
print(sol.ys, sol.stats)
for M in (to.Tsit5, to.Heun):
    s = to.AutoDiffAdjoint(M(term=term), c)
    print(s.solve(to.InitialValueProblem(y0=y0, t_eval=t_eval)).ys.sum())
a = torch.tensor(0.5, requires_grad=True)
term = to.ODETerm(lambda t, y, args: -args * y, with_args=True)
s = to.AutoDiffAdjoint(to.Dopri5(term=term), to.IntegralController(1e-6, 1e-3, term=term))
ys = s.solve(to.InitialValueProblem(y0=y0, t_eval=t_eval), args=a).ys
ys.sum().backward()
print(a.grad)

set_up_backend("torch", data_type="float64", torch_enable_cuda=False)
set_log_level("ERROR")


def g(x):
    return torch.sin(x[:, 0]) + torch.exp(x[:, 1])


dom = [[0, 1], [-1, 1]]
for Rule in (Trapezoid, Simpson, Boole, GaussLegendre):
    print(Rule.__name__, Rule().integrate(g, dim=2, N=401, integration_domain=dom, backend="torch"))
print(MonteCarlo().integrate(g, dim=2, N=1000, integration_domain=dom, seed=0, backend="torch"))
print(VEGAS().integrate(g, dim=2, N=3000, integration_domain=dom, seed=0, backend="torch"))
d = torch.tensor(dom, requires_grad=True, dtype=torch.float64)
r = Simpson().integrate(g, 2, 401, d)
r.backward()
print(r, d.grad)
