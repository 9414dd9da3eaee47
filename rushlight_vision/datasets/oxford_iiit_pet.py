"""Oxford-IIIT Pet: root/oxford-iiit-pet, images and annotations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rushlight_vision.datasets.utils import fetch, sources, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset, chosen, one_or_tuple, opened


class OxfordIIITPet(VisionDataset):
    """Cats and dogs of 37 breeds; `target_types`: "category", "binary-category" (0: cat, 1: dog),
    "segmentation" (an image) or a list of them.
    """

    _VALID_TARGET_TYPES = ("category", "binary-category", "segmentation")

    def __init__(
        self,
        root: Any,
        split: str = "trainval",
        target_types: Any = "category",
        transforms: Any = None,
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
    ) -> None:
        self._split = verify_str_arg(split, "split", ("trainval", "test"))
        self._target_types = chosen(target_types, "target_types", self._VALID_TARGET_TYPES)
        super().__init__(root, transforms, transform, target_transform)
        self._base_folder = Path(self.root) / "oxford-iiit-pet"
        self._images_folder = self._base_folder / "images"
        self._anns_folder = self._base_folder / "annotations"
        self._segs_folder = self._anns_folder / "trimaps"
        if download and not self._check_exists():
            for _, source in sources("OxfordIIITPet"):
                fetch(source, self._base_folder)
        if not self._check_exists():
            raise RuntimeError("Dataset not found. You can use download=True to download it")
        with open(self._anns_folder / f"{split}.txt", encoding="utf-8") as file:
            rows = [line.split() for line in file]
        self._labels = [int(row[1]) - 1 for row in rows]
        self._bin_labels = [int(row[2]) - 1 for row in rows]
        breeds = {label: row[0].rsplit("_", 1)[0] for row, label in zip(rows, self._labels)}
        self.bin_classes = ["Cat", "Dog"]
        self.classes = [
            " ".join(part.title() for part in breed.split("_")) for _, breed in sorted(breeds.items())
        ]
        self.bin_class_to_idx = {name: k for k, name in enumerate(self.bin_classes)}
        self.class_to_idx = {name: k for k, name in enumerate(self.classes)}
        self._images = [self._images_folder / f"{row[0]}.jpg" for row in rows]
        self._segs = [self._segs_folder / f"{row[0]}.png" for row in rows]

    def _check_exists(self) -> bool:
        return self._images_folder.is_dir() and self._anns_folder.is_dir()

    def _target(self, kind: str, index: int) -> Any:
        if kind == "segmentation":
            return opened(self._segs[index])
        return (self._labels if kind == "category" else self._bin_labels)[index]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        targets = [self._target(kind, index) for kind in self._target_types]
        return self._together(opened(self._images[index], "RGB"), one_or_tuple(targets) if targets else None)

    def __len__(self) -> int:
        return len(self._images)
