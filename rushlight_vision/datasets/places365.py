"""Places365: root/places365_*.txt and folders of images."""

from __future__ import annotations

import os
from typing import Any

from rushlight_vision.datasets.folder import default_loader
from rushlight_vision.datasets.utils import check_integrity, fetch, sources, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset


class Places365(VisionDataset):
    """Scenes in 365 classes; small: 256 x 256. Those for tests have the label None."""

    _SPLITS = ("train-standard", "train-challenge", "val", "test")
    _files = dict(sources("Places365"))

    def __init__(
        self,
        root: Any,
        split: str = "train-standard",
        small: bool = False,
        download: bool = False,
        transform: Any = None,
        target_transform: Any = None,
        loader: Any = default_loader,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self.split = verify_str_arg(split, "split", self._SPLITS)
        self.small, self.loader = small, loader
        self.classes, self.class_to_idx = self.load_categories(download)
        self.imgs, self.targets = self.load_file_list(download)
        if download:
            self.download_images()

    @property
    def variant(self) -> str:
        """ "challenge" or "standard"."""
        return "challenge" if "challenge" in self.split else "standard"

    @property
    def images_dir(self) -> str:
        """The folder of the split's images."""
        size = "256" if self.small else "large"
        trained = self.split.startswith("train")
        name = f"data_{size}_{self.variant}" if trained else f"{self.split}_{size}"
        return os.path.join(self.root, name)

    def _lines(self, part: str, download: bool) -> list[list[str]]:
        """The words of each line of one of the set's texts, which are fetched together."""
        _, name, md5 = self._files[part]
        path = os.path.join(self.root, name)
        if not check_integrity(path, md5):
            if not download:
                raise RuntimeError(
                    f"The file {path} does not exist or is corrupted. "
                    "You can set download=True to download it."
                )
            self.download_devkit()
        with open(path, encoding="utf-8") as file:
            return [line.split() for line in file]

    def load_categories(self, download: bool = True) -> tuple[list[str], dict[str, int]]:
        """The names of the classes, in order, and their numbers."""
        numbers = {name: int(number) for name, number in self._lines("categories", download)}
        return sorted(numbers), numbers

    def load_file_list(self, download: bool = True) -> tuple[list[tuple[str, int | None]], list[int | None]]:
        """(file, label) of every image, and the labels."""
        lines = self._lines(f"list {self.split}", download)
        labels = [int(rest[0]) if rest else None for _, *rest in lines]
        paths = [os.path.join(self.images_dir, *name.strip("/").split("/")) for name, *_ in lines]
        return list(zip(paths, labels)), labels

    def download_devkit(self) -> None:
        """Fetch the lists of files and classes."""
        fetch(self._files[f"devkit {self.variant}"], self.root)

    def download_images(self) -> None:
        """Fetch the images, unless their folder is there."""
        if os.path.exists(self.images_dir):
            return
        fetch(self._files[f"{'small' if self.small else 'large'} {self.split}"], self.root)
        if self.split.startswith("train"):
            os.rename(self.images_dir.rsplit("_", 1)[0], self.images_dir)

    def extra_repr(self) -> str:
        """Split and size."""
        return f"Split: {self.split}\nSmall: {self.small}"

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.imgs[index]
        return self._together(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.imgs)
