"""FGVC Aircraft: root/fgvc-aircraft-2013b/data."""

from __future__ import annotations

import os
from typing import Any

from rushlight_vision.datasets.folder import default_loader
from rushlight_vision.datasets.utils import fetch, sources, verify_str_arg
from rushlight_vision.datasets.vision import Listed

_NAMES = {"variant": "variants.txt", "family": "families.txt", "manufacturer": "manufacturers.txt"}


class FGVCAircraft(Listed):
    """10,000 aircraft by variant (100), family (70) or manufacturer (30)."""

    def __init__(
        self,
        root: Any,
        split: str = "trainval",
        annotation_level: str = "variant",
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
        loader: Any = default_loader,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self._split = verify_str_arg(split, "split", ("train", "val", "trainval", "test"))
        self._annotation_level = verify_str_arg(annotation_level, "annotation_level", tuple(_NAMES))
        self.loader = loader
        self._data_path = os.path.join(self.root, "fgvc-aircraft-2013b")
        self._open(download)
        folder = os.path.join(self._data_path, "data")
        with open(os.path.join(folder, _NAMES[annotation_level]), encoding="utf-8") as file:
            self.classes = [line.strip() for line in file]
        self.class_to_idx = {name: k for k, name in enumerate(self.classes)}
        listed = os.path.join(folder, f"images_{annotation_level}_{split}.txt")
        with open(listed, encoding="utf-8") as file:
            lines = [line.strip().split(" ", 1) for line in file]
        images = os.path.join(folder, "images")
        self._list((os.path.join(images, f"{image}.jpg"), self.class_to_idx[name]) for image, name in lines)

    def _check_exists(self) -> bool:
        return os.path.isdir(self._data_path)

    def _download(self) -> None:
        fetch(dict(sources("FGVCAircraft"))["archive"], self.root)
