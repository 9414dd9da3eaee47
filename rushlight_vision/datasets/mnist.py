"""MNIST and what copies its format: root/CLASS/raw/*-ubyte, packed (.gz) or not."""
from __future__ import annotations

import gzip
import os
from typing import Any

import numpy as np

import rushlight as torch
from rushlight_vision.datasets.utils import check_integrity, download_and_extract_archive
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
    resources = [("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
                 ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
                 ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
                 ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c")]
    classes = [f"{i} - {name}" for i, name in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"))]

    def __init__(self, root: Any, train: bool = True, transform: Any = None, target_transform: Any = None,
                 download: bool = False) -> None:
        super().__init__(root, None, transform, target_transform)
        self.train = train
        if download:
            self.download()
        if not self._check_exists():
            names = ", ".join(name for name, _ in self.resources)
            raise RuntimeError("Dataset not found. You can use download=True to download it: expected "
                               f"{names}, packed or not, in {self.raw_folder}")
        part = "train" if train else "t10k"
        self.data, self.targets = (read_sn3_pascalvincent_tensor(self._found(f"{part}-{kind}-ubyte"))
                                   for kind in ("images-idx3", "labels-idx1"))
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
    resources = [("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
                 ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
                 ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
                 ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310")]
    classes = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
               "Ankle boot"]


class KMNIST(MNIST):
    """Cursive Japanese characters, in MNIST's format."""

    mirrors = ["http://codh.rois.ac.jp/kmnist/dataset/kmnist/"]
    resources = [("train-images-idx3-ubyte.gz", "bdb82020997e1d708af4cf47b453dcf7"),
                 ("train-labels-idx1-ubyte.gz", "e144d726b3acfaa3e44228e80efcd344"),
                 ("t10k-images-idx3-ubyte.gz", "5c965bf0a639b31b8f53240b1b52f4d7"),
                 ("t10k-labels-idx1-ubyte.gz", "7320c461ea6c1c855c0b718fb2a4b134")]
    classes = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]
