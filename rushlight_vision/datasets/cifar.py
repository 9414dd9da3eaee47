"""CIFAR-10 and CIFAR-100: root/cifar-10-batches-py, root/cifar-100-python; pickles of known checksums."""

from __future__ import annotations

import os
import pickle
from typing import Any

import numpy as np

from rushlight_vision.datasets.utils import check_integrity, checksums, download_and_extract_archive
from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.pillow import image_of


class CIFAR10(VisionDataset):
    """50,000 colour images of 32 x 32 in 10 classes for training, 10,000 for tests."""

    base_folder, filename = "cifar-10-batches-py", "cifar-10-python.tar.gz"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list, test_list = checksums("cifar-10 train"), checksums("cifar-10 test")
    meta = {"filename": "batches.meta", "key": "label_names", "md5": "5ff9c542aee3614f3951f8cda6e48888"}

    def __init__(
        self,
        root: Any,
        train: bool = True,
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self.train = train
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError(
                "Dataset not found or corrupted. You can use download=True to download it: "
                f"expected torchvision's files in {os.path.join(self.root, self.base_folder)}"
            )
        parts = [self._load(name) for name, _ in (self.train_list if train else self.test_list)]
        self.data = np.vstack([p["data"] for p in parts]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        self.targets = [t for p in parts for t in p.get("labels", p.get("fine_labels"))]
        self.classes = self._load(self.meta["filename"])[self.meta["key"]]
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}

    def _load(self, name: str) -> Any:
        """A pickle, whose checksum has been compared."""
        with open(os.path.join(self.root, self.base_folder, name), "rb") as file:
            return pickle.load(file, encoding="latin1")

    def _check_integrity(self) -> bool:
        folder, meta = os.path.join(self.root, self.base_folder), [self.meta["filename"], self.meta["md5"]]
        files = [*self.train_list, *self.test_list, meta]
        return all(check_integrity(os.path.join(folder, name), md5) for name, md5 in files)

    def download(self) -> None:
        """Fetch and unpack the archive, unless its files are there."""
        if not self._check_integrity():
            download_and_extract_archive(self.url, self.root, filename=self.filename, md5=self.tgz_md5)

    def extra_repr(self) -> str:
        """The split."""
        return f"Split: {'Train' if self.train else 'Test'}"

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._sample(image_of(self.data[index], "RGB"), self.targets[index])

    def __len__(self) -> int:
        return len(self.data)


class CIFAR100(CIFAR10):
    """The same sizes, in 100 classes."""

    base_folder, filename = "cifar-100-python", "cifar-100-python.tar.gz"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list, test_list = checksums("cifar-100 train"), checksums("cifar-100 test")
    meta = {"filename": "meta", "key": "fine_label_names", "md5": "7973b15100ade9c7d40fb424638fde48"}
