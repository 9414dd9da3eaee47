"""A learning-rate range test (Smith 2015): the rate grows from batch to batch until the loss diverges.

python -m rushlight examples/lr_range_test.py --plot lr_range.png     (the plot needs matplotlib)
"""

import argparse
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def data(count=2000, seed=0):
    """Points of two classes that a small network can tell apart."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 20, generator=generator)
    w = torch.randn(20, generator=generator)
    return TensorDataset(x, ((x @ w + 0.5 * torch.sin(3 * x[:, 0])) > 0).long())


def range_test(model, loader, criterion, optimizer, low=1e-6, high=10.0, batches=100, diverged=4.0):
    """[(rate, loss)] of up to `batches` steps at rates that grow by one factor from `low` to `high`."""
    for group in optimizer.param_groups:
        group["lr"] = low
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, (high / low) ** (1 / (batches - 1)))
    found, best = [], math.inf
    while len(found) < batches:
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            found.append((optimizer.param_groups[0]["lr"], loss.item()))
            best = min(best, loss.item())
            if len(found) == batches or not math.isfinite(loss.item()) or loss.item() > diverged * best:
                return found
            optimizer.step()
            scheduler.step()
    return found


def suggestion(found):
    """One decade below the rate at which the smoothed loss is lowest: where it begins to diverge."""
    smooth, average = [], None
    for rate, loss in found:
        average = loss if average is None else 0.8 * average + 0.2 * loss
        smooth.append((average, rate))
    return min(smooth)[1] / 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--plot", help="where to draw loss over learning rate")
    options = parser.parse_args()

    torch.manual_seed(0)
    loader = DataLoader(data(), batch_size=64, shuffle=True)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6, momentum=0.9)
    found = range_test(model, loader, nn.CrossEntropyLoss(), optimizer, batches=options.batches)
    for rate, loss in found[::10]:
        print(f"rate {rate:.2e} loss {loss:.4f}")
    print(f"{len(found)} batches, suggested rate {suggestion(found):.2e}")
    if options.plot:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(layout="constrained")
        axes.semilogx(*zip(*found))
        axes.axvline(suggestion(found), color="tab:orange", linestyle="--", label="suggested")
        axes.set(title="A learning rate range test", xlabel="learning rate", ylabel="loss")
        axes.legend()
        figure.savefig(options.plot)
        print(f"drew {options.plot}")


if __name__ == "__main__":
    main()
