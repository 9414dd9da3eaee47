"""CelebA: root/celeba, faces with attributes, identities, boxes and landmarks."""

from __future__ import annotations

import csv
import os
from collections import namedtuple
from typing import Any

import rushlight as torch
from rushlight_vision.datasets.utils import (
    check_integrity,
    download_file_from_google_drive,
    extract_archive,
    sources,
    verify_str_arg,
)
from rushlight_vision.datasets.vision import VisionDataset, one_or_tuple, opened

CSV = namedtuple("CSV", ["header", "index", "data"])
_SPLITS = {"train": 0, "valid": 1, "test": 2, "all": None}


class CelebA(VisionDataset):
    """202,599 faces; `target_type`: "attr" (40 of 0 or 1), "identity", "bbox" (x, y, w, h) or "landmarks"
    (10 numbers), or a list of them.
    """

    base_folder = "celeba"
    file_list = [(s.url, s.md5, s.filename) for _, s in sources("CelebA")]

    def __init__(
        self,
        root: Any,
        split: str = "train",
        target_type: Any = "attr",
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self.split = split
        self.target_type = target_type if isinstance(target_type, list) else [target_type]
        if not self.target_type and self.target_transform is not None:
            raise RuntimeError("target_transform is specified but target_type is empty")
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError("Dataset not found or corrupted. You can use download=True to download it")
        low = split.lower() if isinstance(split, str) else split
        number = _SPLITS[verify_str_arg(low, "split", tuple(_SPLITS))]
        parts = self._load_csv("list_eval_partition.txt")
        taken = torch.arange(len(parts.index))
        if number is not None:
            taken = taken[parts.data[:, 0] == number]
        self.filename = [parts.index[k] for k in taken.tolist()]
        self.identity = self._load_csv("identity_CelebA.txt").data[taken]
        self.bbox = self._load_csv("list_bbox_celeba.txt", 1).data[taken]
        self.landmarks_align = self._load_csv("list_landmarks_align_celeba.txt", 1).data[taken]
        attributes = self._load_csv("list_attr_celeba.txt", 1)
        self.attr = torch.div(attributes.data[taken] + 1, 2, rounding_mode="floor")  # -1 and 1 as 0 and 1
        self.attr_names = attributes.header

    def _load_csv(self, filename: str, header: int | None = None) -> Any:
        """(the names of columns, the first column, the numbers of the others)."""
        with open(os.path.join(self.root, self.base_folder, filename), encoding="utf-8") as file:
            rows = list(csv.reader(file, delimiter=" ", skipinitialspace=True))
        names = [] if header is None else rows[header]
        rows = rows if header is None else rows[header + 1 :]
        numbers = torch.tensor([[int(v) for v in row[1:]] for row in rows])
        return CSV(names, [row[0] for row in rows], numbers)

    def _check_integrity(self) -> bool:
        folder = os.path.join(self.root, self.base_folder)
        texts = [(name, md5) for _, md5, name in self.file_list if not name.endswith((".zip", ".7z"))]
        whole = all(check_integrity(os.path.join(folder, name), md5) for name, md5 in texts)
        return whole and os.path.isdir(os.path.join(folder, "img_align_celeba"))

    def download(self) -> None:
        """Fetch the files from Google Drive and unpack the images."""
        if self._check_integrity():
            return
        folder = os.path.join(self.root, self.base_folder)
        for number, md5, name in self.file_list:
            download_file_from_google_drive(number, folder, name, md5)
        extract_archive(os.path.join(folder, "img_align_celeba.zip"))

    def _target(self, kind: str, index: int) -> Any:
        if kind == "identity":
            return self.identity[index, 0]
        held = {"attr": self.attr, "bbox": self.bbox, "landmarks": self.landmarks_align}
        if kind not in held:
            raise ValueError(f'Target type "{kind}" is not recognized.')
        return held[kind][index, :]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path = os.path.join(self.root, self.base_folder, "img_align_celeba", self.filename[index])
        targets = [self._target(kind, index) for kind in self.target_type]
        if targets:
            return self._sample(opened(path), one_or_tuple(targets))
        return (opened(path) if self.transform is None else self.transform(opened(path))), None

    def __len__(self) -> int:
        return len(self.attr)

    def extra_repr(self) -> str:
        """Target types and split."""
        return f"Target type: {self.target_type}\nSplit: {self.split}"
