"""Imagenette: root/imagenette2[-320|-160]/<split>/<synset>."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rushlight_vision.datasets.folder import default_loader, find_classes, make_dataset
from rushlight_vision.datasets.utils import fetch, known_classes, sources, verify_str_arg
from rushlight_vision.datasets.vision import Listed


class Imagenette(Listed):
    """Ten classes of ImageNet that are easy to tell apart; `size`: "full", "320px" or "160px"."""

    not_found = "Dataset not found. You can use download=True to download it."
    _ARCHIVES = dict(sources("Imagenette"))
    _WNID_TO_CLASS = {wnid: tuple(names) for wnid, *names in known_classes("Imagenette")}

    def __init__(
        self,
        root: Any,
        split: str = "train",
        size: str = "full",
        download: bool = False,
        transform: Any = None,
        target_transform: Any = None,
        loader: Any = default_loader,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self._split = verify_str_arg(split, "split", ["train", "val"])
        self._size = verify_str_arg(size, "size", ["full", "320px", "160px"])
        self.loader = loader
        self._size_root = Path(self.root) / Path(self._ARCHIVES[size].url).stem
        self._image_root = str(self._size_root / split)
        self._open(download)
        self.wnids, self.wnid_to_idx = find_classes(self._image_root)
        self.classes = [self._WNID_TO_CLASS[wnid] for wnid in self.wnids]
        self.class_to_idx = {name: k for k, names in enumerate(self.classes) for name in names}
        self._list(make_dataset(self._image_root, self.wnid_to_idx, extensions=".jpeg"))

    def _check_exists(self) -> bool:
        return self._size_root.exists()

    def _download(self) -> None:
        fetch(self._ARCHIVES[self._size], self.root)
