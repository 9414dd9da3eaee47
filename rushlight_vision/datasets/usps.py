"""USPS: root/usps.bz2 and root/usps.t.bz2, digits in LIBSVM's format."""

from __future__ import annotations

import bz2
import os
from typing import Any

import numpy as np

from rushlight_vision.datasets.utils import download_url, sources
from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.pillow import image_of


class USPS(VisionDataset):
    """Handwritten digits of 16 x 16: 7,291 for training, 2,007 for tests."""

    split_list = {part: list(source) for part, source in sources("USPS")}

    def __init__(
        self,
        root: Any,
        train: bool = True,
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        url, filename, md5 = self.split_list["train" if train else "test"]
        path = os.path.join(self.root, str(filename))
        if download and not os.path.exists(path):
            download_url(str(url), self.root, filename, md5)
        with bz2.open(path, "rt", encoding="utf-8") as file:
            rows = [line.split() for line in file]
        values = np.array([[v.split(":")[-1] for v in row[1:]] for row in rows], np.float32)
        self.data = ((values.reshape(-1, 16, 16) + 1) / 2 * 255).astype(np.uint8)
        self.targets = [int(row[0]) - 1 for row in rows]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._sample(image_of(self.data[index], "L"), int(self.targets[index]))

    def __len__(self) -> int:
        return len(self.data)
