"""Gradient norms of a deep network over its first epochs, for three initialisations.

python -m rushlight examples/gradient_norms.py --logs runs/norms     (for TensorBoard)
"""

import argparse

import torch
import torch.nn as nn
from torch.utils.tensorboard import SummaryWriter

INITIALISATIONS = {
    "xavier uniform": nn.init.xavier_uniform_,
    "kaiming normal": nn.init.kaiming_normal_,
    "all ones": nn.init.ones_,
}


def build(initialise, depth=6, width=32):
    """A multilayer perceptron whose weights `initialise` has filled."""
    sizes = [10] + [width] * depth
    layers = [part for i, o in zip(sizes, sizes[1:]) for part in (nn.Linear(i, o), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(width, 1))
    for module in model.modules():
        if isinstance(module, nn.Linear):
            initialise(module.weight)
            nn.init.zeros_(module.bias)
    return model


def norm_of_gradients(model):
    """The L2 norm of all gradients together."""
    return torch.linalg.vector_norm(torch.stack([p.grad.norm() for p in model.parameters()])).item()


def train(model, x, y, epochs, rate=1e-3):
    """[(loss, norm)] after each backward pass, before the step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    history = []
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        history.append((loss.item(), norm_of_gradients(model)))
        optimizer.step()
    return history


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--logs", help="where to write the curves for TensorBoard")
    options = parser.parse_args()

    torch.manual_seed(0)
    x = torch.randn(128, 10)
    y = x.pow(2).sum(1, keepdim=True).sqrt()
    for name, initialise in INITIALISATIONS.items():
        history = train(build(initialise), x, y, options.epochs)
        first, last = history[0], history[-1]
        print(
            f"{name:15} first norm {first[1]:.3e} last norm {last[1]:.3e} "
            f"loss {first[0]:.3e} to {last[0]:.3e}"
        )
        if options.logs:
            with SummaryWriter(f"{options.logs}/{name.replace(' ', '_')}") as writer:
                for epoch, (loss, norm) in enumerate(history):
                    writer.add_scalar("loss", loss, epoch)
                    writer.add_scalar("gradient norm", norm, epoch)


if __name__ == "__main__":
    main()
