"""KITTI's objects: root/Kitti/raw/<training or testing>."""

from __future__ import annotations

import csv
import os
from typing import Any

from rushlight_vision.datasets.utils import fetch, sources
from rushlight_vision.datasets.vision import VisionDataset, opened


class Kitti(VisionDataset):
    """Streets with a list of objects (dicts of type, truncated, occluded, alpha, bbox, dimensions, location,
    rotation_y); None for those of the tests.
    """

    data_url = "https://s3.eu-central-1.amazonaws.com/avg-kitti/"
    resources = [source.filename for _, source in sources("Kitti")]
    image_dir_name, labels_dir_name = "image_2", "label_2"

    def __init__(
        self,
        root: Any,
        train: bool = True,
        transform: Any = None,
        target_transform: Any = None,
        transforms: Any = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.train = train
        self._location = "training" if train else "testing"
        if download:
            self.download()
        if not self._check_exists():
            raise RuntimeError("Dataset not found. You may use download=True to download it.")
        names = os.listdir(self._folder(self.image_dir_name))
        self.images = [os.path.join(self._folder(self.image_dir_name), name) for name in names]
        labels = self._folder(self.labels_dir_name)
        stems = [name.split(".")[0] for name in names] if train else []
        self.targets = [os.path.join(labels, f"{stem}.txt") for stem in stems]

    @property
    def _raw_folder(self) -> str:
        return os.path.join(self.root, type(self).__name__, "raw")

    def _folder(self, name: str) -> str:
        return os.path.join(self._raw_folder, self._location, name)

    def _check_exists(self) -> bool:
        names = [self.image_dir_name, *([self.labels_dir_name] if self.train else [])]
        return all(os.path.isdir(self._folder(name)) for name in names)

    def download(self) -> None:
        """Fetch and unpack the archives, unless their folders are there."""
        if not self._check_exists():
            os.makedirs(self._raw_folder, exist_ok=True)
            for _, source in sources("Kitti"):
                fetch(source, self._raw_folder)

    def _parse_target(self, index: int) -> list[dict[str, Any]]:
        with open(self.targets[index], encoding="utf-8") as file:
            rows = list(csv.reader(file, delimiter=" "))
        return [
            {
                "type": row[0],
                "truncated": float(row[1]),
                "occluded": int(row[2]),
                "alpha": float(row[3]),
                "bbox": [float(v) for v in row[4:8]],
                "dimensions": [float(v) for v in row[8:11]],
                "location": [float(v) for v in row[11:14]],
                "rotation_y": float(row[14]),
            }
            for row in rows
        ]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._together(opened(self.images[index]), self._parse_target(index) if self.train else None)

    def __len__(self) -> int:
        return len(self.images)
