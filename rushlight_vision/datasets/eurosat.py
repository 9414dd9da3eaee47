"""EuroSAT: root/eurosat/2750/<class>."""

from __future__ import annotations

import os
from typing import Any

from rushlight_vision.datasets.folder import ImageFolder, default_loader
from rushlight_vision.datasets.utils import fetch, sources


class EuroSAT(ImageFolder):
    """27,000 views of the ground from Sentinel-2, 64 x 64, in 10 classes."""

    def __init__(
        self,
        root: Any,
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
        loader: Any = default_loader,
    ) -> None:
        home = os.path.expanduser(root)
        self._base_folder = os.path.join(home, "eurosat")
        self._data_folder = os.path.join(self._base_folder, "2750")
        if download:
            self.download()
        if not self._check_exists():
            raise RuntimeError("Dataset not found. You can use download=True to download it")
        super().__init__(self._data_folder, transform, target_transform=target_transform, loader=loader)
        self.root = home

    def _check_exists(self) -> bool:
        return os.path.exists(self._data_folder)

    def download(self) -> None:
        """Fetch and unpack the archive, unless its folder is there."""
        if not self._check_exists():
            os.makedirs(self._base_folder, exist_ok=True)
            fetch(dict(sources("EuroSAT"))["archive"], self._base_folder)
