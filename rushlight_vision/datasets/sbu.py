"""SBU Captioned Photo: root/dataset, photographs of Flickr and their captions."""

from __future__ import annotations

import os
from typing import Any

from rushlight_vision.datasets.folder import default_loader
from rushlight_vision.datasets.utils import check_integrity, download_url, fetch, sources
from rushlight_vision.datasets.vision import VisionDataset


class SBU(VisionDataset):
    """Photographs with a caption: those of a million that were downloaded."""

    url, filename, md5_checksum = dict(sources("SBU"))["archive"]

    def __init__(
        self,
        root: Any,
        transform: Any = None,
        target_transform: Any = None,
        download: bool = True,
        loader: Any = default_loader,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self.loader = loader
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError("Dataset not found or corrupted. You can use download=True to download it")
        names = [os.path.basename(url) for url in self._lines("urls")]
        there = [
            (name, caption)
            for name, caption in zip(names, self._lines("captions"))
            if os.path.exists(self._path(name))
        ]
        self.photos = [name for name, _ in there]
        self.captions = [caption for _, caption in there]

    def _path(self, name: str) -> str:
        return os.path.join(self.root, "dataset", name)

    def _lines(self, kind: str) -> list[str]:
        with open(self._path(f"SBU_captioned_photo_dataset_{kind}.txt"), encoding="utf-8") as file:
            return [line.rstrip() for line in file]

    def _check_integrity(self) -> bool:
        return check_integrity(os.path.join(self.root, self.filename), self.md5_checksum)

    def download(self) -> None:
        """Fetch the lists and every photograph that is still there."""
        if self._check_integrity():
            return
        fetch(dict(sources("SBU"))["archive"], self.root)
        for url in self._lines("urls"):
            try:
                download_url(url, os.path.join(self.root, "dataset"))
            except OSError:
                continue  # many have been taken away since

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._sample(self.loader(self._path(self.photos[index])), self.captions[index])

    def __len__(self) -> int:
        return len(self.photos)
