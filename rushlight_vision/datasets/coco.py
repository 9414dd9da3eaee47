"""COCO: images with objects or captions, read off its JSON by the package pycocotools."""

from __future__ import annotations

import os
from typing import Any

from rushlight_vision.datasets.vision import VisionDataset, opened
from rushlight_vision.pillow import needed


class CocoDetection(VisionDataset):
    """Images with a list of their annotations (dicts of COCO's), in the order of the images' numbers."""

    def __init__(
        self,
        root: Any,
        annFile: str,
        transform: Any = None,
        target_transform: Any = None,
        transforms: Any = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.coco = needed("pycocotools.coco", "pycocotools").COCO(annFile)
        self.ids = sorted(self.coco.imgs.keys())

    def _load_image(self, id: int) -> Any:
        return opened(os.path.join(self.root, self.coco.loadImgs(id)[0]["file_name"]), "RGB")

    def _load_target(self, id: int) -> Any:
        return self.coco.loadAnns(self.coco.getAnnIds(id))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not isinstance(index, int):
            raise ValueError(f"Index must be of type integer, got {type(index)} instead.")
        number = self.ids[index]
        return self._together(self._load_image(number), self._load_target(number))

    def __len__(self) -> int:
        return len(self.ids)


class CocoCaptions(CocoDetection):
    """Images with a list of their captions."""

    def _load_target(self, id: int) -> list[str]:
        return [annotation["caption"] for annotation in super()._load_target(id)]
