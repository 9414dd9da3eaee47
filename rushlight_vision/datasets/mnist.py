"""MNIST and what copies its format: root/CLASS/raw/*-ubyte, packed (.gz) or not."""

from __future__ import annotations

import gzip
import os
import shutil
import string
import warnings
from typing import Any

import numpy as np

import rushlight as torch
from rushlight_vision.datasets.utils import (
    check_integrity,
    checksums,
    download_and_extract_archive,
    extract_archive,
    fetch,
    sources,
    verify_str_arg,
)
from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.pillow import image_of

SN3_PASCALVINCENT_TYPEMAP = {
    8: torch.uint8,
    9: torch.int8,
    11: torch.int16,
    12: torch.int32,
    13: torch.float32,
    14: torch.float64,
}
_ORDERS = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def get_int(b: bytes) -> int:
    """The number that bytes say, the greatest first."""
    return int.from_bytes(b, "big")


def read_sn3_pascalvincent_tensor(path: Any, strict: bool = True) -> Any:
    """The tensor of an idx file, packed by gzip or not; ValueError for what is none."""
    with (gzip.open if os.fspath(path).endswith(".gz") else open)(path, "rb") as file:
        data = file.read()
    dims, kind = (data[3], _ORDERS.get(data[2])) if len(data) > 3 and data[:2] == b"\0\0" else (0, None)
    if kind is None or len(data) < 4 + 4 * dims:
        raise ValueError(f"{path}: expected an idx file (magic 0 0 type dims), got {data[:4]!r}")
    shape = np.frombuffer(data, ">i4", dims, 4)
    array = np.frombuffer(data, kind, offset=4 + 4 * dims)
    if array.size != shape.prod() and strict:
        raise ValueError(f"{path}: expected {shape.prod()} numbers ({shape.tolist()}), got {array.size}")
    return torch.from_numpy(array.astype(array.dtype.newbyteorder("=").name)).view(*shape.tolist())


def _bytes(path: Any, dims: int) -> Any:
    """The bytes of an idx file of so many dims; TypeError or ValueError for other numbers."""
    found = read_sn3_pascalvincent_tensor(path, strict=False)
    if found.dtype is not torch.uint8:
        raise TypeError(f"x should be of dtype torch.uint8 instead of {found.dtype}")
    if found.ndim != dims:
        raise ValueError(f"x should have {dims} dimension instead of {found.ndim}")
    return found


def read_label_file(path: Any) -> Any:
    """(N,) of int64."""
    return _bytes(path, 1).long()


def read_image_file(path: Any) -> Any:
    """(N, H, W) of uint8."""
    return _bytes(path, 3)


class MNIST(VisionDataset):
    """Handwritten digits: 60,000 images of 28 x 28 for training, 10,000 for tests."""

    mirrors = ["https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/"]
    resources: Any = checksums("MNIST")
    training_file, test_file = "training.pt", "test.pt"
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
        kept = [os.path.join(self.processed_folder, name) for name in (self.training_file, self.test_file)]
        if all(map(os.path.isfile, kept)):  # made by torchvision before 0.9
            self.data, self.targets = torch.load(kept[0 if train else 1], weights_only=True)
            return
        if download:
            self.download()
        if not self._check_exists():
            raise RuntimeError(
                "Dataset not found. You can use download=True to download it: expected "
                f"{self._wanted()}, packed or not, in {self.raw_folder}"
            )
        self.data, self.targets = self._load_data()

    def _wanted(self) -> str:
        """The files that are looked for, for an error."""
        return ", ".join(name for name, _ in self.resources)

    def _load_data(self) -> tuple[Any, Any]:
        part = "train" if self.train else "t10k"
        return (
            read_image_file(self._found(f"{part}-images-idx3-ubyte")),
            read_label_file(self._found(f"{part}-labels-idx1-ubyte")),
        )

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

    def extra_repr(self) -> str:
        """The split."""
        return f"Split: {'Train' if self.train else 'Test'}"

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


_MERGED = sorted({*string.digits, *string.ascii_letters} - set("cijklmopsuvwxyz"))


class EMNIST(MNIST):
    """Handwritten digits and letters, in MNIST's format; bymerge, balanced: letters alike in both cases are
    one class.
    """

    url, _, md5 = dict(sources("EMNIST"))["archive"]
    splits = ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")
    classes_split_dict = {
        "byclass": sorted(string.digits + string.ascii_letters),
        "bymerge": _MERGED,
        "balanced": _MERGED,
        "letters": ["N/A", *string.ascii_lowercase],
        "digits": list(string.digits),
        "mnist": list(string.digits),
    }

    def __init__(self, root: Any, split: str, **kwargs: Any) -> None:
        self.split = verify_str_arg(split, "split", self.splits)
        self.training_file, self.test_file = f"training_{split}.pt", f"test_{split}.pt"
        super().__init__(root, **kwargs)
        self.classes = self.classes_split_dict[self.split]

    def _name(self, kind: str) -> str:
        return f"emnist-{self.split}-{'train' if self.train else 'test'}-{kind}-ubyte"

    @property
    def images_file(self) -> str:
        """The file of the images."""
        return os.path.join(self.raw_folder, self._name("images-idx3"))

    @property
    def labels_file(self) -> str:
        """The file of the labels."""
        return os.path.join(self.raw_folder, self._name("labels-idx1"))

    def _wanted(self) -> str:
        return f"{self._name('images-idx3')}, {self._name('labels-idx1')}"

    def _load_data(self) -> tuple[Any, Any]:
        return (
            read_image_file(self._found(self._name("images-idx3"))),
            read_label_file(self._found(self._name("labels-idx1"))),
        )

    def _check_exists(self) -> bool:
        return all(self._found(self._name(kind)) for kind in ("images-idx3", "labels-idx1"))

    def download(self) -> None:
        """Fetch the archive of all splits and unpack it and the files in it, unless they are there."""
        if self._check_exists():
            return
        fetch(dict(sources("EMNIST"))["archive"]._replace(url=self.url, md5=self.md5), self.raw_folder)
        inner = os.path.join(self.raw_folder, "gzip")
        for name in os.listdir(inner):
            if name.endswith(".gz"):
                extract_archive(os.path.join(inner, name), self.raw_folder)
        shutil.rmtree(inner)


class QMNIST(MNIST):
    """MNIST made anew, with 60,000 images for tests; `what`: "train", "test", "test10k", "test50k" or "nist".

    compat: targets are digits; otherwise (8,) tensors with the class, writer and place in NIST's set.
    """

    subsets = {"train": "train", "test": "test", "test10k": "test", "test50k": "test", "nist": "nist"}
    resources = {
        part: [(s.url, s.md5) for p, s in sources("QMNIST") if p == part]
        for part in ("train", "test", "nist")
    }

    def __init__(
        self, root: Any, what: str | None = None, compat: bool = True, train: bool = True, **kwargs: Any
    ) -> None:
        self.what = verify_str_arg(what or ("train" if train else "test"), "what", tuple(self.subsets))
        self.compat = compat
        self.data_file = self.training_file = self.test_file = f"{self.what}.pt"
        super().__init__(root, train, **kwargs)

    def _paths(self) -> list[str]:
        """The files of images and labels, unpacked."""
        urls = [url for url, _ in self.resources[self.subsets[self.what]]]
        names = [os.path.splitext(os.path.basename(url))[0] for url in urls]
        return [os.path.join(self.raw_folder, name) for name in names]

    @property
    def images_file(self) -> str:
        """The file of the images."""
        return self._paths()[0]

    @property
    def labels_file(self) -> str:
        """The file of the labels."""
        return self._paths()[1]

    def _wanted(self) -> str:
        return ", ".join(map(os.path.basename, self._paths()))

    def _check_exists(self) -> bool:
        return all(check_integrity(path) for path in self._paths())

    def _load_data(self) -> tuple[Any, Any]:
        data = _bytes(self.images_file, 3)
        targets = read_sn3_pascalvincent_tensor(self.labels_file).long()
        if targets.ndim != 2:
            raise ValueError(f"targets should have 2 dimensions instead of {targets.ndim}")
        part = {"test10k": slice(10000), "test50k": slice(10000, None)}.get(self.what, slice(None))
        return data[part].clone(), targets[part].clone()

    def download(self) -> None:
        """Fetch and unpack the files, unless they are there."""
        for url, md5 in () if self._check_exists() else self.resources[self.subsets[self.what]]:
            download_and_extract_archive(url, self.raw_folder, md5=md5)

    def extra_repr(self) -> str:
        """The part."""
        return f"Split: {self.what}"

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        target = self.targets[index]
        image = image_of(self.data[index].numpy(), "L")
        return self._sample(image, int(target[0]) if self.compat else target)
