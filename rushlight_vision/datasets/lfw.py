"""Labeled Faces in the Wild: root/lfw-py, an archive, its folder of people and lists of them."""

from __future__ import annotations

import os
from typing import Any

from rushlight_vision.datasets.folder import default_loader
from rushlight_vision.datasets.utils import check_integrity, sources, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset

_FOLDERS = {"original": "lfw", "funneled": "lfw_funneled", "deepfunneled": "lfw-deepfunneled"}


class _LFW(VisionDataset):
    base_folder = "lfw-py"
    download_url_prefix = "http://vis-www.cs.umass.edu/lfw/"
    file_dict = {
        part: (_FOLDERS[part], source.filename, source.md5)
        for part, source in sources("LFW")
        if part in _FOLDERS
    }
    checksums = {source.filename: source.md5 for part, source in sources("LFW") if part == "text"}
    annot_file = {"10fold": "", "train": "DevTrain", "test": "DevTest"}
    names = "lfw-names.txt"

    def __init__(
        self,
        root: Any,
        split: str,
        image_set: str,
        view: str,
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
        loader: Any = default_loader,
    ) -> None:
        super().__init__(os.path.join(root, self.base_folder), None, transform, target_transform)
        self.image_set = verify_str_arg(image_set.lower(), "image_set", list(self.file_dict))
        folder, self.filename, self.md5 = self.file_dict[self.image_set]
        self.view = verify_str_arg(view.lower(), "view", ["people", "pairs"])
        self.split = verify_str_arg(split.lower(), "split", list(self.annot_file))
        self.labels_file = f"{self.view}{self.annot_file[self.split]}.txt"
        self.data: list[Any] = []
        self._loader = loader
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError("Dataset not found or corrupted. You can use download=True to download it")
        self.images_dir = os.path.join(self.root, folder)

    def _check_integrity(self) -> bool:
        files = [(self.filename, self.md5), (self.labels_file, self.checksums[self.labels_file])]
        if self.view == "people":
            files.append((self.names, self.checksums[self.names]))
        return all(check_integrity(os.path.join(self.root, name), md5) for name, md5 in files)

    def download(self) -> None:
        """ValueError: the address is gone."""
        raise ValueError(
            "LFW dataset is no longer available for automatic download. Please download the dataset "
            f"manually and place it in {self.root}. A commonly used mirror is "
            "https://www.kaggle.com/datasets/jessicali9530/lfw-dataset"
        )

    def _lines(self) -> list[list[str]]:
        with open(os.path.join(self.root, self.labels_file), encoding="utf-8") as file:
            return [line.strip().split("\t") for line in file]

    def _get_path(self, identity: str, no: Any) -> str:
        return os.path.join(self.images_dir, identity, f"{identity}_{int(no):04d}.jpg")

    def extra_repr(self) -> str:
        """Alignment and split."""
        return f"Alignment: {self.image_set}\nSplit: {self.split}"

    def __len__(self) -> int:
        return len(self.data)


class LFWPeople(_LFW):
    """Faces with the number of the person."""

    def __init__(
        self,
        root: Any,
        split: str = "10fold",
        image_set: str = "funneled",
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
        loader: Any = default_loader,
    ) -> None:
        super().__init__(root, split, image_set, "people", transform, target_transform, download, loader)
        self.class_to_idx = self._get_classes()
        self.data, self.targets = self._get_people()

    def _get_people(self) -> tuple[list[str], list[int]]:
        lines = self._lines()
        folds, at = (int(lines[0][0]), 1) if self.split == "10fold" else (1, 0)
        people: list[list[str]] = []
        for _ in range(folds):
            count = int(lines[at][0])
            people += lines[at + 1 : at + 1 + count]
            at += 1 + count
        each = [(name, k) for name, images in people for k in range(1, int(images) + 1)]
        return [self._get_path(name, k) for name, k in each], [self.class_to_idx[name] for name, _ in each]

    def _get_classes(self) -> dict[str, int]:
        with open(os.path.join(self.root, self.names), encoding="utf-8") as file:
            return {line.split()[0]: k for k, line in enumerate(file)}

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._sample(self._loader(self.data[index]), self.targets[index])

    def extra_repr(self) -> str:
        """Alignment, split and the number of people."""
        return f"{super().extra_repr()}\nClasses (identities): {len(self.class_to_idx)}"


class LFWPairs(_LFW):
    """Two faces, and whether they are one person's (1) or not (0)."""

    def __init__(
        self,
        root: Any,
        split: str = "10fold",
        image_set: str = "funneled",
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
        loader: Any = default_loader,
    ) -> None:
        super().__init__(root, split, image_set, "pairs", transform, target_transform, download, loader)
        self.pair_names, self.data, self.targets = self._get_pairs(self.images_dir)

    def _get_pairs(self, images_dir: str) -> tuple[list[tuple[str, str]], list[Any], list[int]]:
        """Of a fold the pairs of one person come first (name, two numbers), then as many of two people."""
        (*folds, each), *rows = self._lines()
        matched, count = int(each), int(folds[0]) if folds else 1
        names, data, targets = [], [], []
        for k, row in enumerate(rows[: 2 * matched * count]):
            same = k // matched % 2 == 0
            first, second = (row[0], row[1]), (row[0], row[2]) if same else (row[2], row[3])
            names.append((first[0], second[0]))
            data.append((self._get_path(*first), self._get_path(*second)))
            targets.append(int(same))
        return names, data, targets

    def __getitem__(self, index: int) -> tuple[Any, Any, Any]:
        images = [self._loader(path) for path in self.data[index]]
        first, second = images if self.transform is None else [self.transform(image) for image in images]
        target = self.targets[index]
        return first, second, target if self.target_transform is None else self.target_transform(target)
