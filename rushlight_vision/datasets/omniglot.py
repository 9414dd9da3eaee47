"""Omniglot: root/omniglot-py, characters by alphabet."""

from __future__ import annotations

import os
from typing import Any

from rushlight_vision.datasets.utils import check_integrity, fetch, list_dir, list_files, sources
from rushlight_vision.datasets.vision import VisionDataset, opened


class Omniglot(VisionDataset):
    """Characters of 50 alphabets, 20 drawings of each; background: the 964 for training, else 659 others."""

    folder = "omniglot-py"
    download_url_prefix = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python"
    zips_md5 = {part: source.md5 for part, source in sources("Omniglot")}

    def __init__(
        self,
        root: Any,
        background: bool = True,
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
        loader: Any = None,
    ) -> None:
        super().__init__(os.path.join(root, self.folder), None, transform, target_transform)
        self.background, self.loader = background, loader
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError("Dataset not found or corrupted. You can use download=True to download it")
        self.target_folder = os.path.join(self.root, self._get_target_folder())
        self._alphabets = list_dir(self.target_folder)
        self._characters = [
            os.path.join(alphabet, character)
            for alphabet in self._alphabets
            for character in list_dir(os.path.join(self.target_folder, alphabet))
        ]
        self._character_images = [
            [(image, k) for image in list_files(os.path.join(self.target_folder, character), ".png")]
            for k, character in enumerate(self._characters)
        ]
        self._flat_character_images = [pair for images in self._character_images for pair in images]

    def _get_target_folder(self) -> str:
        return "images_background" if self.background else "images_evaluation"

    def _check_integrity(self) -> bool:
        part = self._get_target_folder()
        return check_integrity(os.path.join(self.root, f"{part}.zip"), self.zips_md5[part])

    def download(self) -> None:
        """Fetch and unpack the archive, unless it is there."""
        part = self._get_target_folder()
        if not self._check_integrity():
            fetch(dict(sources("Omniglot"))[part]._replace(md5=self.zips_md5[part]), self.root)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        name, label = self._flat_character_images[index]
        path = os.path.join(self.target_folder, self._characters[label], name)
        return self._sample(opened(path, "L") if self.loader is None else self.loader(path), label)

    def __len__(self) -> int:
        return len(self._flat_character_images)
