"""torchebm: samplers, data sets and losses of energy-based models."""

import inspect

import torch
import torchebm.core as C
import torchebm.datasets as D
import torchebm.losses as L
import torchebm.samplers as S

torch.manual_seed(0)
print(sorted(n for n in dir(C) if n[0].isupper()))
e = C.DoubleWellModel()
x = torch.randn(64, 2)
for s in (
    S.LangevinDynamics(e, step_size=0.01),
    S.HamiltonianMonteCarlo(e, step_size=0.05, n_leapfrog_steps=4),
):
    torch.manual_seed(1)
    r = s.sample(x.clone(), n_steps=20)
    print(type(s).__name__, r.shape, r.sum(), r.std())


class Net(C.BaseModel):
    def __init__(s):
        super().__init__()
        s.n = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.SiLU(), torch.nn.Linear(16, 1))

    def forward(s, x):
        return s.n(x).squeeze(-1)


for n, c in inspect.getmembers(D, inspect.isclass):
    try:
        d = c(n_samples=50)
        t = d.get_data() if hasattr(d, "get_data") else d[0]
        print(n, t.shape, float(t.sum()))
    except Exception as ex:
        print(n, type(ex).__name__)
data = torch.randn(128, 2) * 0.5 + 1


def train(mk):
    torch.manual_seed(2)
    m = Net()
    loss = mk(m)
    o = torch.optim.Adam(m.parameters(), 1e-2)
    for _i in range(5):
        o.zero_grad()
        r = loss(data)
        r = r[0] if isinstance(r, tuple) else r
        r.backward()
        o.step()
    print(type(loss).__name__, float(r), sum(float(p.abs().sum()) for p in m.parameters()))


train(lambda m: L.ScoreMatching(m, hessian_method="exact"))
train(lambda m: L.ScoreMatching(m))
train(lambda m: L.DenoisingScoreMatching(m, noise_scale=0.1))
train(lambda m: L.SlicedScoreMatching(m, n_projections=3))
train(lambda m: L.ContrastiveDivergence(m, sampler=S.LangevinDynamics(m, step_size=0.01), k_steps=3))
