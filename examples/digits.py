"""Train a small convolutional network on scikit-learn's handwritten digits (1797 images, 8 x 8).

    python -m rushlight examples/digits.py
"""
import argparse
import time

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split


def build():
    """Two convolutions with batch norm, pooling, and a linear classifier."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * 4 * 4, 10))


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    right = total = 0
    for images, labels in loader:
        right += (model(images).argmax(1) == labels).sum().item()
        total += len(labels)
    model.train()
    return right / total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    labels = torch.tensor(digits.target, dtype=torch.long)
    train, test = random_split(TensorDataset(images, labels), [0.8, 0.2])
    train_loader = DataLoader(train, batch_size=64, shuffle=True)
    test_loader = DataLoader(test, batch_size=256)

    model = build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, epochs=options.epochs,
                                                    steps_per_epoch=len(train_loader))
    criterion = nn.CrossEntropyLoss()
    start = time.perf_counter()
    for epoch in range(options.epochs):
        running = 0.0
        for images, labels in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            scheduler.step()
            running += loss.item() * len(labels)
        print(f"epoch {epoch + 1:2d}  loss {running / len(train):.4f}  "
              f"accuracy {accuracy(model, test_loader):.4f}  {time.perf_counter() - start:5.1f} s")


if __name__ == "__main__":
    main()
