"""Train a fully connected classifier on FashionMNIST (28 x 28 pictures of clothes, ten kinds).

    python -m rushlight examples/fashion_mnist.py --data FOLDER

FOLDER holds the data set's four files (train-images-idx3-ubyte.gz, ...), as they are distributed. Without
--data, pictures of simple shapes in the same format stand in for it.
"""

import argparse
import gzip
import math
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

MEAN, STD = 0.2860, 0.3530


class FashionClassifier(nn.Module):
    """784 pixels, two hidden layers with dropout, ten logits."""

    def __init__(self, hidden):
        super().__init__()
        self.net = nn.Sequential(
            nn.Flatten(),
            nn.Linear(784, hidden),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(hidden, 10),
        )

    def forward(self, x):
        return self.net(x)


def read(path):
    """An IDX file of bytes as an array: two zeros, the type, the number of dims, the sizes, the data."""
    raw = gzip.decompress(path.read_bytes())
    sizes = np.frombuffer(raw, ">i4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(sizes)


def real(folder, kind):
    images, labels = (
        read(Path(folder) / f"{kind}-{part}-ubyte.gz") for part in ("images-idx3", "labels-idx1")
    )
    return dataset(torch.from_numpy(images.copy()), torch.from_numpy(labels.copy()))


def stand_in(count, seed):
    """Ten shapes: waves of five frequencies across and down, at random places and in noise."""
    g = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (count,), generator=g)
    phase = torch.rand(count, 1, 1, generator=g) * 2 * math.pi
    place = torch.linspace(0, 2 * math.pi, 28)
    grid = torch.where((labels < 5)[:, None, None], place[None, :, None], place[None, None, :])
    waves = torch.sin(grid * (labels % 5 + 1)[:, None, None] + phase)
    noise = torch.randn(count, 28, 28, generator=g)
    return dataset(((waves + noise) * 50 + 128).clamp(0, 255).to(torch.uint8), labels)


def dataset(images, labels):
    return TensorDataset(((images.float() / 255 - MEAN) / STD).unsqueeze(1), labels.long())


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    total_loss = correct = total = 0
    for images, labels in loader:
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=5.0)
        optimizer.step()
        total_loss += loss.item() * len(labels)
        correct += (outputs.argmax(1) == labels).sum().item()
        total += len(labels)
    return total_loss / total, correct / total


@torch.no_grad()
def evaluate(model, loader, criterion):
    model.eval()
    total_loss = correct = total = 0
    for images, labels in loader:
        outputs = model(images)
        total_loss += criterion(outputs, labels).item() * len(labels)
        correct += (outputs.argmax(1) == labels).sum().item()
        total += len(labels)
    return total_loss / total, correct / total


def overfit(model, batch, criterion, steps):
    """The loss after `steps` steps on one batch: near zero if model and training loop are right."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = criterion(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="folder with the data set's files")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--out", default="fashion_classifier_checkpoint.pth")
    options = parser.parse_args()

    torch.manual_seed(0)
    train = real(options.data, "train") if options.data else stand_in(6000, 1)
    test = real(options.data, "t10k") if options.data else stand_in(1000, 2)
    train_loader = DataLoader(train, batch_size=64, shuffle=True)
    test_loader = DataLoader(test, batch_size=64)
    criterion = nn.CrossEntropyLoss()
    print(f"one batch: loss {overfit(FashionClassifier(options.hidden), train[:64], criterion, 100):.4f}")

    model = FashionClassifier(options.hidden)
    print(f"{model}\nParameters: {sum(p.numel() for p in model.parameters()):,}")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.1)
    for epoch in range(options.epochs):
        train_loss, train_acc = train_one_epoch(model, train_loader, criterion, optimizer)
        test_loss, test_acc = evaluate(model, test_loader, criterion)
        scheduler.step()
        print(
            f"Epoch {epoch + 1:2d}/{options.epochs} train loss {train_loss:.4f} acc {train_acc:.4f} "
            f"test loss {test_loss:.4f} acc {test_acc:.4f}"
        )
    torch.save(
        {
            "model_state_dict": model.state_dict(),
            "optimizer_state_dict": optimizer.state_dict(),
            "test_acc": test_acc,
        },
        options.out,
    )
    print(f"saved {options.out}; test accuracy {test_acc:.4f}")


if __name__ == "__main__":
    main()
