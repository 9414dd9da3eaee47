"""Food-101: root/food-101."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rushlight_vision.datasets.folder import default_loader
from rushlight_vision.datasets.utils import fetch, sources, verify_str_arg
from rushlight_vision.datasets.vision import Listed


class Food101(Listed):
    """Dishes in 101 classes, 750 of each for training and 250 for tests."""

    def __init__(
        self,
        root: Any,
        split: str = "train",
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
        loader: Any = default_loader,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        self.loader = loader
        self._base_folder = Path(self.root) / "food-101"
        self._meta_folder, self._images_folder = self._base_folder / "meta", self._base_folder / "images"
        self._open(download)
        listed = json.loads((self._meta_folder / f"{split}.json").read_text(encoding="utf-8"))
        self.classes = sorted(listed)
        self.class_to_idx = {name: k for k, name in enumerate(self.classes)}
        self._list(
            (self._images_folder.joinpath(*f"{path}.jpg".split("/")), self.class_to_idx[name])
            for name, paths in listed.items()
            for path in paths
        )

    def _check_exists(self) -> bool:
        return self._meta_folder.is_dir() and self._images_folder.is_dir()

    def _download(self) -> None:
        fetch(dict(sources("Food101"))["archive"], self.root)

    def extra_repr(self) -> str:
        """The split."""
        return f"split={self._split}"
