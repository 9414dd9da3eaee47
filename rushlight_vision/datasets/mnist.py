"""MNIST and what copies its format: root/CLASS/raw/*-ubyte, packed (.gz) or not."""

from __future__ import annotations

import gzip
import os
import warnings
from typing import Any

import numpy as np

import rushlight as torch
from rushlight_vision.datasets.utils import check_integrity, checksums, download_and_extract_archive
from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.pillow import image_of

_TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_sn3_pascalvincent_tensor(path: Any, strict: bool = True) -> Any:
    """The tensor of an idx file, packed by gzip or not; ValueError for what is none."""
    with (gzip.open if os.fspath(path).endswith(".gz") else open)(path, "rb") as file:
        data = file.read()
    dims, kind = (data[3], _TYPES.get(data[2])) if len(data) > 3 and data[:2] == b"\0\0" else (0, None)
    if kind is None or len(data) < 4 + 4 * dims:
        raise ValueError(f"{path}: expected an idx file (magic 0 0 type dims), got {data[:4]!r}")
    shape = np.frombuffer(data, ">i4", dims, 4)
    array = np.frombuffer(data, kind, offset=4 + 4 * dims)
    if array.size != shape.prod() and strict:
        raise ValueError(f"{path}: expected {shape.prod()} numbers ({shape.tolist()}), got {array.size}")
    return torch.from_numpy(array.astype(array.dtype.newbyteorder("=").name)).view(*shape.tolist())


class MNIST(VisionDataset):
    """Handwritten digits: 60,000 images of 28 x 28 for training, 10,000 for tests."""

    mirrors = ["https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/"]
    resources = checksums("MNIST")
    classes = [
        f"{i} - {name}"
        for i, name in enumerate(
            ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
        )
    ]

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
        if not self._check_exists():
            names = ", ".join(name for name, _ in self.resources)
            raise RuntimeError(
                "Dataset not found. You can use download=True to download it: expected "
                f"{names}, packed or not, in {self.raw_folder}"
            )
        part = "train" if train else "t10k"
        self.data, self.targets = (
            read_sn3_pascalvincent_tensor(self._found(f"{part}-{kind}-ubyte"))
            for kind in ("images-idx3", "labels-idx1")
        )
        self.targets = self.targets.to(torch.int64)

    def _found(self, name: str) -> str | None:
        path = os.path.join(self.raw_folder, name)
        return next((p for p in (path, f"{path}.gz") if check_integrity(p)), None)

    def _check_exists(self) -> bool:
        return all(self._found(name.removesuffix(".gz")) for name, _ in self.resources)

    def download(self) -> None:
        """Fetch what is missing, from the first mirror that has it."""
        for name, md5 in self.resources:
            errors: list[str] = []
            for mirror in () if self._found(name.removesuffix(".gz")) else self.mirrors:
                try:
                    download_and_extract_archive(mirror + name, self.raw_folder, filename=name, md5=md5)
                    break
                except OSError as error:
                    errors.append(str(error))
            else:
                if errors:
                    raise RuntimeError(f"Error downloading {name}:\n" + "\n".join(errors))

    @property
    def train_data(self) -> Any:
        """`data`, by its old name."""
        return self._renamed("train_data", "data")

    @property
    def test_data(self) -> Any:
        """`data`, by its old name."""
        return self._renamed("test_data", "data")

    @property
    def train_labels(self) -> Any:
        """`targets`, by their old name."""
        return self._renamed("train_labels", "targets")

    @property
    def test_labels(self) -> Any:
        """`targets`, by their old name."""
        return self._renamed("test_labels", "targets")

    def _renamed(self, old: str, new: str) -> Any:
        warnings.warn(f"{old} has been renamed {new}", stacklevel=3)
        return getattr(self, new)

    @property
    def processed_folder(self) -> str:
        """Where torchvision once kept tensors made from the files."""
        return os.path.join(self.root, type(self).__name__, "processed")

    @property
    def raw_folder(self) -> str:
        """Where the files are."""
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The number of each class."""
        return {name: i for i, name in enumerate(self.classes)}

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._sample(image_of(self.data[index].numpy(), "L"), int(self.targets[index]))

    def __len__(self) -> int:
        return len(self.data)


class FashionMNIST(MNIST):
    """Clothes, in MNIST's format."""

    mirrors = ["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"]
    resources = checksums("FashionMNIST")
    classes = [
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    ]


class KMNIST(MNIST):
    """Cursive Japanese characters, in MNIST's format."""

    mirrors = ["http://codh.rois.ac.jp/kmnist/dataset/kmnist/"]
    resources = checksums("KMNIST")
    classes = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]
