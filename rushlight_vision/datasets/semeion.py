"""SEMEION: root/semeion.data, a line of 256 pixels and 10 flags for each digit."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rushlight_vision.datasets.utils import check_integrity, download_url, sources
from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.pillow import image_of


class SEMEION(VisionDataset):
    """1,593 handwritten digits of 16 x 16."""

    url, filename, md5_checksum = dict(sources("SEMEION"))["data"]

    def __init__(
        self, root: Any, transform: Any = None, target_transform: Any = None, download: bool = True
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError("Dataset not found or corrupted. You can use download=True to download it")
        rows = np.loadtxt(os.path.join(self.root, self.filename), ndmin=2)
        self.data = (rows[:, :256] * 255).astype("uint8").reshape(-1, 16, 16)
        self.labels = np.nonzero(rows[:, 256:])[1]

    def _check_integrity(self) -> bool:
        return check_integrity(os.path.join(self.root, self.filename), self.md5_checksum)

    def download(self) -> None:
        """Fetch the file, unless it is there."""
        if not self._check_integrity():
            download_url(self.url, self.root, self.filename, self.md5_checksum)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._sample(image_of(self.data[index], "L"), int(self.labels[index]))

    def __len__(self) -> int:
        return len(self.data)
