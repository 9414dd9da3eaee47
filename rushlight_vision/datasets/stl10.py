"""STL-10: root/stl10_binary, images of 96 x 96 as bytes, column by column."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rushlight_vision.datasets.utils import check_integrity, fetch, sources, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.pillow import image_of


class STL10(VisionDataset):
    """5,000 labelled colour images of 96 x 96 in 10 classes, 100,000 without labels, 8,000 for tests."""

    base_folder = "stl10_binary"
    url, filename, tgz_md5 = dict(sources("STL10"))["archive"]
    class_names_file, folds_list_file = "class_names.txt", "fold_indices.txt"
    train_list: Any = [[s.filename, s.md5] for part, s in sources("STL10") if part == "train"]
    test_list: Any = [[s.filename, s.md5] for part, s in sources("STL10") if part == "test"]
    splits = ("train", "train+unlabeled", "unlabeled", "test")

    def __init__(
        self,
        root: Any,
        split: str = "train",
        folds: int | None = None,
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self.split = verify_str_arg(split, "split", self.splits)
        self.folds = self._verify_folds(folds)
        if download:
            self.download()
        elif not self._check_integrity():
            raise RuntimeError("Dataset not found or corrupted. You can use download=True to download it")
        if split == "unlabeled":
            self.data, self.labels = self._without_labels()
        else:
            files = self.test_list if split == "test" else self.train_list
            self.data, self.labels = self._images(files[0][0]), self._bytes(files[1][0]) - 1
        if folds is not None and split.startswith("train"):
            self._take_fold(folds)
        if split == "train+unlabeled":
            data, labels = self._without_labels()
            self.data = np.concatenate((self.data, data))
            self.labels = np.concatenate((self.labels, labels))
        names = os.path.join(self.root, self.base_folder, self.class_names_file)
        if os.path.isfile(names):
            with open(names, encoding="utf-8") as file:
                self.classes = file.read().splitlines()

    def _verify_folds(self, folds: Any) -> int | None:
        if folds is None or (isinstance(folds, int) and folds in range(10)):
            return folds
        if isinstance(folds, int):
            raise ValueError(f"Value for argument folds should be in the range [0, 10), but got {folds}.")
        raise ValueError(f"Expected type None or int for argument folds, but got type {type(folds)}.")

    def _bytes(self, name: str) -> Any:
        return np.fromfile(os.path.join(self.root, self.base_folder, name), np.uint8)

    def _images(self, name: str) -> Any:
        return self._bytes(name).reshape(-1, 3, 96, 96).transpose(0, 1, 3, 2)

    def _without_labels(self) -> tuple[Any, Any]:
        data = self._images(self.train_list[2][0])
        return data, np.full(len(data), -1)

    def _take_fold(self, fold: int) -> None:
        with open(os.path.join(self.root, self.base_folder, self.folds_list_file), encoding="utf-8") as file:
            taken = np.array(file.read().splitlines()[fold].split(), np.int64)
        self.data, self.labels = self.data[taken], self.labels[taken]

    def _check_integrity(self) -> bool:
        folder = os.path.join(self.root, self.base_folder)
        files = [*self.train_list, *self.test_list]
        return all(check_integrity(os.path.join(folder, name), md5) for name, md5 in files)

    def download(self) -> None:
        """Fetch and unpack the archive, unless its files are there."""
        if not self._check_integrity():
            archive = dict(sources("STL10"))["archive"]
            fetch(archive._replace(url=self.url, filename=self.filename, md5=self.tgz_md5), self.root)

    def extra_repr(self) -> str:
        """The split."""
        return f"Split: {self.split}"

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._sample(image_of(self.data[index].transpose(1, 2, 0), "RGB"), int(self.labels[index]))

    def __len__(self) -> int:
        return len(self.data)
