"""Caltech 101 and 256: root/caltech101, root/caltech256, a folder for each category."""

from __future__ import annotations

import os
import shutil
from typing import Any

from rushlight_vision.datasets.utils import extract_archive, fetch, matlab, sources
from rushlight_vision.datasets.vision import VisionDataset, chosen, one_or_tuple, opened

# The folders of annotations that are called otherwise than those of images.
_ANNOTATED = {
    "Faces": "Faces_2",
    "Faces_easy": "Faces_3",
    "Motorbikes": "Motorbikes_16",
    "airplanes": "Airplanes_Side_2",
}


class _Caltech(VisionDataset):
    images: str

    def _open(self, download: bool) -> None:
        os.makedirs(self.root, exist_ok=True)
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError("Dataset not found or corrupted. You can use download=True to download it")
        self.categories = sorted(os.listdir(os.path.join(self.root, self.images)))

    def _count(self, ending: str) -> None:
        """Number the images of each category from 1."""
        self.index: list[int] = []
        self.y: list[int] = []
        for number, category in enumerate(self.categories):
            names = os.listdir(os.path.join(self.root, self.images, category))
            count = sum(name.endswith(ending) for name in names)
            self.index += range(1, count + 1)
            self.y += [number] * count

    def _check_integrity(self) -> bool:
        return os.path.exists(os.path.join(self.root, self.images))

    def download(self) -> None:
        """Fetch and unpack the archive, unless its folder is there."""
        if not self._check_integrity():
            fetch(dict(sources(type(self).__name__))["archive"], self.root)

    def __len__(self) -> int:
        return len(self.index)


class Caltech101(_Caltech):
    """Things in 101 categories; `target_type`: "category", "annotation" (the outline) or a list of them."""

    images = "101_ObjectCategories"

    def __init__(
        self,
        root: Any,
        target_type: Any = "category",
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
    ) -> None:
        super().__init__(os.path.join(root, "caltech101"), None, transform, target_transform)
        self.target_type = chosen(target_type, "target_type", ("category", "annotation"))
        self._open(download)
        self.categories.remove("BACKGROUND_Google")  # no category
        self.annotation_categories = [_ANNOTATED.get(name, name) for name in self.categories]
        self._count("")

    def _outline(self, index: int) -> Any:
        category = self.annotation_categories[self.y[index]]
        name = f"annotation_{self.index[index]:04d}.mat"
        return matlab(os.path.join(self.root, "Annotations", category, name))["obj_contour"]

    def download(self) -> None:
        """Fetch and unpack the archive and the archives in it."""
        if self._check_integrity():
            return
        super().download()
        inner = os.path.join(self.root, "caltech-101")
        for name in os.listdir(inner):
            if name.endswith(".gz"):
                extract_archive(os.path.join(inner, name), self.root)
        shutil.rmtree(inner)
        os.remove(os.path.join(self.root, "caltech-101.zip"))

    def extra_repr(self) -> str:
        """The target types."""
        return f"Target type: {self.target_type}"

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        name = f"image_{self.index[index]:04d}.jpg"
        image = opened(os.path.join(self.root, self.images, self.categories[self.y[index]], name))
        targets = [self.y[index] if kind == "category" else self._outline(index) for kind in self.target_type]
        return self._sample(image, one_or_tuple(targets))


class Caltech256(_Caltech):
    """Things in 256 categories."""

    images = "256_ObjectCategories"

    def __init__(
        self, root: Any, transform: Any = None, target_transform: Any = None, download: bool = False
    ) -> None:
        super().__init__(os.path.join(root, "caltech256"), None, transform, target_transform)
        self._open(download)
        self._count(".jpg")

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        number = self.y[index]
        name = f"{number + 1:03d}_{self.index[index]:04d}.jpg"
        image = opened(os.path.join(self.root, self.images, self.categories[number], name))
        return self._sample(image, number)
