"""Moving MNIST: root/MovingMNIST/mnist_test_seq.npy."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import rushlight as torch
from rushlight_vision.datasets.utils import download_url, sources, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset


class MovingMNIST(VisionDataset):
    """10,000 videos (20, 1, 64, 64) of two moving digits: their first `split_ratio` frames for "train",
    the others for "test", all without a split.
    """

    _source = dict(sources("MovingMNIST"))["data"]

    def __init__(
        self,
        root: Any,
        split: str | None = None,
        split_ratio: int = 10,
        download: bool = False,
        transform: Any = None,
    ) -> None:
        super().__init__(root, None, transform)
        self._base_folder = os.path.join(self.root, type(self).__name__)
        self._filename = self._source.filename
        self.split = split if split is None else verify_str_arg(split, "split", ("train", "test"))
        if not isinstance(split_ratio, int):
            raise TypeError(f"`split_ratio` should be an integer, but got {type(split_ratio)}")
        if not 1 <= split_ratio <= 19:
            raise ValueError(
                f"`split_ratio` should be `1 <= split_ratio <= 19`, but got {split_ratio} instead."
            )
        self.split_ratio = split_ratio
        if download:
            self.download()
        if not self._check_exists():
            raise RuntimeError("Dataset not found. You can use download=True to download it.")
        frames = np.load(os.path.join(self._base_folder, self._filename))
        part = {None: slice(None), "train": slice(split_ratio), "test": slice(split_ratio, None)}[split]
        self.data = torch.from_numpy(frames)[part].transpose(0, 1).unsqueeze(2).contiguous()

    def _check_exists(self) -> bool:
        return os.path.exists(os.path.join(self._base_folder, self._filename))

    def download(self) -> None:
        """Fetch the file, unless it is there."""
        if not self._check_exists():
            download_url(self._source.url, self._base_folder, self._filename, self._source.md5)

    def __getitem__(self, index: int) -> Any:
        video = self.data[index]
        return video if self.transform is None else self.transform(video)

    def __len__(self) -> int:
        return len(self.data)
