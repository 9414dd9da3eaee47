"""Train a small convolutional network on scikit-learn's handwritten digits (1797 images, 8 x 8).

    python -m rushlight examples/digits.py

Draws digits.png: the loss and the accuracy over the epochs, and the digits that it takes for others.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split
from tqdm import tqdm


def build(dropout):
    """Two convolutions with batch norm, pooling, and a linear classifier."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(dropout),
        nn.Linear(64 * 4 * 4, 10),
    )


def device_of(model):
    return next(model.parameters()).device


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    right = total = 0
    for images, labels in loader:
        right += (model(images.to(device_of(model))).argmax(1).cpu() == labels).sum().item()
        total += len(labels)
    model.train()
    return right / total


@torch.no_grad()
def mistakes(model, loader):
    """(image, digit, what it was taken for) of each test image that the model gets wrong."""
    model.eval()
    found = []
    for images, labels in loader:
        guesses = model(images.to(device_of(model))).argmax(1).cpu()
        for i in (guesses != labels).nonzero().flatten():
            found.append((images[i, 0], labels[i].item(), guesses[i].item()))
    return found


def draw(losses, accuracies, wrong, path):
    figure = plt.figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[3, 2])
    left.suptitle("Handwritten digits")
    upper, lower = left.subplots(2, 1, sharex=True)
    epochs = range(1, len(losses) + 1)
    upper.plot(epochs, losses, "o-", color="tab:blue")
    upper.set(ylabel="training loss", yscale="log")
    lower.plot(epochs, accuracies, "o-", color="tab:orange")
    lower.set(xlabel="epoch", ylabel="test accuracy")
    right.suptitle("what it takes for another digit")
    for place, axes in enumerate(right.subplots(2, 4).flat):
        axes.axis("off")
        if place < len(wrong):
            image, digit, guess = wrong[place]
            axes.imshow(image, cmap="gray_r")
            axes.set_title(f"{digit} as {guess}", fontsize=9)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dropout", type=float, default=0.3)
    parser.add_argument("--device", default="cpu", help="where to train, as in cuda")
    parser.add_argument("--out", default=".", help="folder for digits.png")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    labels = torch.tensor(digits.target, dtype=torch.long)
    train, test = random_split(TensorDataset(images, labels), [0.8, 0.2])
    train_loader = DataLoader(train, batch_size=64, shuffle=True)
    test_loader = DataLoader(test, batch_size=256)

    model = build(options.dropout).to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=1e-2, epochs=options.epochs, steps_per_epoch=len(train_loader)
    )
    criterion = nn.CrossEntropyLoss()
    losses, accuracies = [], []
    bar = tqdm(range(options.epochs), unit="epoch")
    for epoch in bar:
        running = 0.0
        for images, labels in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(images.to(options.device)), labels.to(options.device))
            loss.backward()
            optimizer.step()
            scheduler.step()
            running += loss.item() * len(labels)
        losses.append(running / len(train))
        accuracies.append(accuracy(model, test_loader))
        bar.write(f"epoch {epoch + 1:2d}  loss {losses[-1]:.4f}  accuracy {accuracies[-1]:.4f}")
    picture = Path(options.out) / "digits.png"
    draw(losses, accuracies, mistakes(model, test_loader), picture)
    print(f"saved {picture}")


if __name__ == "__main__":
    main()
