"""Data sets of images (torchvision.datasets), from torchvision's files and folders."""

from __future__ import annotations

from rushlight._engine.lazy import lazy_names, public

_HOMES = {
    **dict.fromkeys(("MNIST", "FashionMNIST", "KMNIST"), "mnist"),
    **dict.fromkeys(("CIFAR10", "CIFAR100"), "cifar"),
    **dict.fromkeys(("DatasetFolder", "ImageFolder"), "folder"),
    **dict.fromkeys(("FakeData", "VisionDataset"), "vision"),
    **dict.fromkeys(("mnist", "cifar", "folder", "utils", "vision"), "."),
}
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = public(_HOMES)
