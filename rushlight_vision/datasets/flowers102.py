"""Oxford Flowers 102: root/flowers-102, images, and labels and splits in files of MATLAB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rushlight_vision.datasets.folder import default_loader
from rushlight_vision.datasets.utils import (
    check_integrity,
    download_url,
    fetch,
    known_classes,
    matlab,
    sources,
    verify_str_arg,
)
from rushlight_vision.datasets.vision import Listed


class Flowers102(Listed):
    """Flowers in 102 classes of 40 to 258 images."""

    not_found = "Dataset not found or corrupted. You can use download=True to download it"
    classes = known_classes("Flowers102")[0]
    _files = dict(sources("Flowers102"))
    _splits_map = {"train": "trnid", "val": "valid", "test": "tstid"}

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
        self._split = verify_str_arg(split, "split", tuple(self._splits_map))
        self.loader = loader
        self._base_folder = Path(self.root) / "flowers-102"
        self._images_folder = self._base_folder / "jpg"
        self._open(download)
        splits, held = (
            matlab(self._base_folder / self._files[part].filename, squeeze_me=True)
            for part in ("setid", "label")
        )
        labels = held["labels"] - 1
        self._list(
            (self._images_folder / f"image_{number:05d}.jpg", int(labels[number - 1]))
            for number in splits[self._splits_map[split]].tolist()
        )

    def _check_exists(self) -> bool:
        tables = (self._files["label"], self._files["setid"])
        return self._images_folder.is_dir() and all(
            check_integrity(self._base_folder / table.filename, table.md5) for table in tables
        )

    def _download(self) -> None:
        fetch(self._files["image"], self._base_folder)
        for part in ("label", "setid"):
            table = self._files[part]
            download_url(table.url, self._base_folder, table.filename, table.md5)

    def download(self) -> None:
        """Fetch the files, unless they are there."""
        if not self._check_exists():
            self._download()

    def extra_repr(self) -> str:
        """The split."""
        return f"split={self._split}"
