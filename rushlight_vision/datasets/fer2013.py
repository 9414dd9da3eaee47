"""FER2013: root/fer2013, faces of 48 x 48 in a table of Kaggle's."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

import rushlight as torch
from rushlight_vision.datasets.utils import check_integrity, sources, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.pillow import image_of


class FER2013(VisionDataset):
    """Faces with one of 7 emotions; those of test.csv have none, other files know those of the tests."""

    _RESOURCES = dict(sources("FER2013"))

    def __init__(
        self, root: Any, split: str = "train", transform: Any = None, target_transform: Any = None
    ) -> None:
        self._split = verify_str_arg(split, "split", ("train", "test"))
        super().__init__(root, None, transform, target_transform)
        folder = Path(self.root) / "fer2013"
        whole = [part for part in ("fer", "icml") if (folder / self._RESOURCES[part].filename).exists()]
        part = [*whole, split][0]
        _, name, md5 = self._RESOURCES[part]
        if not check_integrity(folder / name, md5):
            raise RuntimeError(
                f"{name} not found in {folder} or corrupted. You can download it from "
                "https://www.kaggle.com/c/challenges-in-representation-learning-facial-expression-"
                "recognition-challenge"
            )
        with open(folder / name, newline="", encoding="utf-8") as file:
            rows = [{key.strip(): value for key, value in row.items()} for row in csv.DictReader(file)]
        if whole:
            wanted = ("Training",) if split == "train" else ("PublicTest", "PrivateTest")
            rows = [row for row in rows if row["Usage"] in wanted]
        labelled = bool(whole) or split == "train"
        self._samples = [(_pixels(row["pixels"]), int(row["emotion"]) if labelled else None) for row in rows]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        pixels, target = self._samples[index]
        return self._sample(image_of(pixels.numpy(), "L"), target)

    def __len__(self) -> int:
        return len(self._samples)

    def extra_repr(self) -> str:
        """The split."""
        return f"split={self._split}"


def _pixels(text: str) -> Any:
    return torch.from_numpy(np.fromstring(text, np.uint8, sep=" ")).reshape(48, 48)
