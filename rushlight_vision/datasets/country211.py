"""Country211: root/country211/<split>/<country>."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rushlight_vision.datasets.folder import ImageFolder, default_loader
from rushlight_vision.datasets.utils import fetch, sources, verify_str_arg


class Country211(ImageFolder):
    """Photographs by the country where they were taken."""

    def __init__(
        self,
        root: Any,
        split: str = "train",
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
        loader: Any = default_loader,
    ) -> None:
        self._split = verify_str_arg(split, "split", ("train", "valid", "test"))
        home = Path(root).expanduser()
        self._base_folder = home / "country211"
        if download and not self._check_exists():
            fetch(dict(sources("Country211"))["archive"], home)
        if not self._check_exists():
            raise RuntimeError("Dataset not found. You can use download=True to download it")
        super().__init__(
            str(self._base_folder / split), transform, target_transform=target_transform, loader=loader
        )
        self.root = str(home)

    def _check_exists(self) -> bool:
        return self._base_folder.is_dir()
