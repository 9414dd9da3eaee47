"""poutyne, pytorch-pfn-extras, torchensemble, torch-lr-finder, torchinfo: training loops of others."""

import logging
import warnings

import numpy as np
import torch
from poutyne import Model, set_seeds
from torch_lr_finder import LRFinder
from torchensemble import (
    BaggingRegressor,
    FusionRegressor,
    GradientBoostingRegressor,
    SnapshotEnsembleRegressor,
    VotingRegressor,
)
from torchinfo import summary

warnings.filterwarnings("ignore")
set_seeds(0)
x, y = torch.randn(64, 4), torch.randn(64, 1)


def make():
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))


net = make()
print(summary(net, (1, 4), verbose=0))
conv = (
    torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.LSTM(6, 5))
    if False
    else torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3),
        torch.nn.BatchNorm2d(8),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(8, 2),
    )
)
print(
    summary(
        conv, (2, 3, 16, 16), verbose=0, col_names=("input_size", "output_size", "num_params", "mult_adds")
    )
)
model = Model(net, "adam", "mse", batch_metrics=["l1"], epoch_metrics=[])
log = model.fit(x.numpy(), y.numpy(), epochs=3, batch_size=16, verbose=False)
print([{k: round(v, 5) for k, v in e.items() if k != "time"} for e in log])
print([np.round(v, 5) for v in model.evaluate(x.numpy(), y.numpy(), verbose=False)])
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 16, shuffle=True)
finder = LRFinder(net, torch.optim.SGD(net.parameters(), 1e-4), torch.nn.MSELoss(), device="cpu")
finder.range_test(loader, end_lr=1, num_iter=8)
print([round(v, 5) for v in finder.history["loss"]])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = make()

    def forward(self, v):
        return self.net(v)


logging.disable(logging.CRITICAL)
for cls in (
    VotingRegressor,
    BaggingRegressor,
    GradientBoostingRegressor,
    FusionRegressor,
    SnapshotEnsembleRegressor,
):
    torch.manual_seed(0)
    e = cls(
        estimator=Net,
        n_estimators=2,
        cuda=False,
        **({"n_jobs": 1} if cls in (VotingRegressor, BaggingRegressor) else {}),
    )
    e.set_criterion(torch.nn.MSELoss())
    e.set_optimizer("Adam", lr=1e-2)
    e.fit(loader, epochs=2, save_model=False)
    print(cls.__name__, f"{e.evaluate(loader):.5f}")
