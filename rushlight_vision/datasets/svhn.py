"""Street View House Numbers: root/<split>_32x32.mat."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rushlight_vision.datasets.utils import check_integrity, download_url, matlab, sources, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.pillow import image_of


class SVHN(VisionDataset):
    """Digits in photographs, 32 x 32 in colour: 73,257 for training, 26,032 for tests, 531,131 extra."""

    split_list = {part: list(source) for part, source in sources("SVHN")}

    def __init__(
        self,
        root: Any,
        split: str = "train",
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self.split = verify_str_arg(split, "split", tuple(self.split_list))
        self.url, self.filename, self.file_md5 = self.split_list[split]
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError("Dataset not found or corrupted. You can use download=True to download it")
        held = matlab(os.path.join(self.root, str(self.filename)))
        labels = held["y"].astype(np.int64).squeeze()
        self.labels = np.where(labels == 10, 0, labels)  # its file counts from 1
        self.data = held["X"].transpose(3, 2, 0, 1)

    def _check_integrity(self) -> bool:
        return check_integrity(os.path.join(self.root, str(self.filename)), self.split_list[self.split][2])

    def download(self) -> None:
        """Fetch the split's file."""
        download_url(str(self.url), self.root, self.filename, self.split_list[self.split][2])

    def extra_repr(self) -> str:
        """The split."""
        return f"Split: {self.split}"

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._sample(image_of(self.data[index].transpose(1, 2, 0), "RGB"), int(self.labels[index]))

    def __len__(self) -> int:
        return len(self.data)
