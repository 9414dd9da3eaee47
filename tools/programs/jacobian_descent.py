"""torchjd: Jacobian descent of several losses, with its aggregators."""

import torch
from torch import nn
from torchjd import autojac
from torchjd.aggregation import (
    IMTLG,
    MGDA,
    AlignedMTL,
    Constant,
    GradDrop,
    Krum,
    Mean,
    PCGrad,
    Random,
    Sum,
    TrimmedMean,
)

J = torch.tensor([[-4.0, 1.0, 1.0], [6.0, 1.0, 1.0], [1.0, 2.0, -1.0], [0.5, -0.5, 3.0]])
for aggregator in (
    Mean(),
    Sum(),
    MGDA(),
    PCGrad(),
    IMTLG(),
    AlignedMTL(),
    Constant(torch.tensor([0.1, 0.2, 0.3, 0.4])),
    Krum(n_byzantine=1),
    TrimmedMean(trim_number=1),
    GradDrop(),
    Random(),
):
    print(type(aggregator).__name__, aggregator(J))

model = nn.Sequential(nn.Linear(10, 5), nn.ReLU(), nn.Linear(5, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, target = torch.randn(16, 10), torch.randn(16, 2)
for step in range(5):
    output = model(x)
    losses = (output - target).square().mean(0)
    optimizer.zero_grad()
    autojac.backward(list(losses))
    autojac.jac_to_grad(model.parameters(), MGDA())
    optimizer.step()
    print(step, losses.tolist())

shared = nn.Sequential(nn.Linear(10, 5), nn.ReLU())
heads = [nn.Linear(5, 1), nn.Linear(5, 1)]
features = shared(x)
losses = [(head(features) - target[:, i : i + 1]).square().mean() for i, head in enumerate(heads)]
print([loss.item() for loss in losses])
print(autojac.jac(losses, list(shared.parameters()))[0].sum())
