"""Semantic Boundaries: root/img, root/cls and root/<set>.txt."""

from __future__ import annotations

import os
import shutil
from typing import Any

import numpy as np

from rushlight_vision.datasets.utils import download_url, fetch, matlab, sources, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset, opened
from rushlight_vision.pillow import image_of


class SBDataset(VisionDataset):
    """Images with boundaries ("boundaries": an array (20, H, W) of 0 and 1) or classes ("segmentation": an
    image). "train_noval" leaves out what VOC 2012 validates with.
    """

    url, filename, md5 = dict(sources("SBDataset"))["archive"]
    voc_train_url, voc_split_filename, voc_split_md5 = dict(sources("SBDataset"))["train_noval"]

    def __init__(
        self,
        root: Any,
        image_set: str = "train",
        mode: str = "boundaries",
        download: bool = False,
        transforms: Any = None,
    ) -> None:
        super().__init__(root, transforms)
        self.image_set = verify_str_arg(image_set, "image_set", ("train", "val", "train_noval"))
        self.mode = verify_str_arg(mode, "mode", ("segmentation", "boundaries"))
        self.num_classes = 20
        if download:
            self._download()
        if not os.path.isdir(self.root):
            raise RuntimeError("Dataset not found or corrupted. You can use download=True to download it")
        with open(os.path.join(self.root, image_set.rstrip("\n") + ".txt"), encoding="utf-8") as file:
            names = [line.strip() for line in file]
        self.images = [os.path.join(self.root, "img", f"{name}.jpg") for name in names]
        self.masks = [os.path.join(self.root, "cls", f"{name}.mat") for name in names]

    def _download(self) -> None:
        fetch(dict(sources("SBDataset"))["archive"], self.root)
        unpacked = os.path.join(self.root, "benchmark_RELEASE", "dataset")
        for name in ("cls", "img", "inst", "train.txt", "val.txt"):
            shutil.move(os.path.join(unpacked, name), self.root)
        if self.image_set == "train_noval":
            download_url(self.voc_train_url, self.root, self.voc_split_filename, self.voc_split_md5)

    def _get_target(self, path: str) -> Any:
        held = matlab(path)["GTcls"][0]
        if self.mode == "segmentation":
            return image_of(held["Segmentation"][0], "L")
        outlines = held["Boundaries"][0]
        return np.stack([outlines[k][0].toarray() for k in range(self.num_classes)])

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._together(opened(self.images[index], "RGB"), self._get_target(self.masks[index]))

    def __len__(self) -> int:
        return len(self.images)

    def extra_repr(self) -> str:
        """Set and mode."""
        return f"Image set: {self.image_set}\nMode: {self.mode}"
