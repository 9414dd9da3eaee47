"""Cityscapes: root/leftImg8bit and root/gtFine or root/gtCoarse, by split and city."""

from __future__ import annotations

import json
import os
from collections import namedtuple
from typing import Any

from rushlight_vision.datasets.utils import extract_archive, iterable_to_str, known_classes, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset, chosen, one_or_tuple, opened

_ENDINGS = {
    "instance": "instanceIds.png",
    "semantic": "labelIds.png",
    "color": "color.png",
    "polygon": "polygons.json",
}

CityscapesClass = namedtuple(
    "CityscapesClass",
    ["name", "id", "train_id", "category", "category_id", "has_instances", "ignore_in_eval", "color"],
)


def _class(
    name: str, number: str, train: str, category: str, group: str, several: str, ignored: str, colour: str
) -> CityscapesClass:
    rgb = tuple(int(v) for v in colour.split())
    flags = several == "1", ignored == "1"
    return CityscapesClass(name, int(number), int(train), category, int(group), *flags, rgb)


class Cityscapes(VisionDataset):
    """Streets; `target_type`: "instance", "semantic", "color" (images), "polygon" (a dict), or a list."""

    CityscapesClass = CityscapesClass
    classes = [_class(*row) for row in known_classes("Cityscapes")]

    def __init__(
        self,
        root: Any,
        split: str = "train",
        mode: str = "fine",
        target_type: Any = "instance",
        transform: Any = None,
        target_transform: Any = None,
        transforms: Any = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        verify_str_arg(mode, "mode", ("fine", "coarse"))
        self.mode = "gtFine" if mode == "fine" else "gtCoarse"
        splits = ("train", "test", "val") if mode == "fine" else ("train", "train_extra", "val")
        error = (
            f"Unknown value '{split}' for argument split if mode is '{mode}'. "
            f"Valid values are {{{iterable_to_str(splits)}}}."
        )
        self.split = verify_str_arg(split, "split", splits, error)
        self.images_dir = os.path.join(self.root, "leftImg8bit", split)
        self.targets_dir = os.path.join(self.root, self.mode, split)
        kinds = target_type if isinstance(target_type, list) else [target_type]
        self.target_type = chosen(kinds, "target_type", ("instance", "semantic", "polygon", "color"))
        if not (os.path.isdir(self.images_dir) and os.path.isdir(self.targets_dir)):
            self._unpack()
        self.images: list[str] = []
        self.targets: list[list[str]] = []
        for city in os.listdir(self.images_dir):
            for name in os.listdir(os.path.join(self.images_dir, city)):
                stem = os.path.join(self.targets_dir, city, name.split("_leftImg8bit")[0])
                self.images.append(os.path.join(self.images_dir, city, name))
                self.targets.append(
                    [f"{stem}_{self._get_target_suffix(self.mode, kind)}" for kind in self.target_type]
                )

    def _unpack(self) -> None:
        part = "trainextra" if self.split == "train_extra" else "trainvaltest"
        labels = f"{self.mode}_trainvaltest.zip" if self.mode == "gtFine" else f"{self.mode}.zip"
        archives = [os.path.join(self.root, name) for name in (f"leftImg8bit_{part}.zip", labels)]
        if not all(map(os.path.isfile, archives)):
            raise RuntimeError(
                "Dataset not found or incomplete. Please make sure all required folders for the "
                'specified "split" and "mode" are inside the "root" directory'
            )
        for archive in archives:
            extract_archive(archive, self.root)

    def _load_json(self, path: str) -> dict[str, Any]:
        with open(path, encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
        return found

    def _get_target_suffix(self, mode: str, target_type: str) -> str:
        return f"{mode}_{_ENDINGS[target_type]}"

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = opened(self.images[index], "RGB")
        targets = [
            self._load_json(path) if kind == "polygon" else opened(path)
            for kind, path in zip(self.target_type, self.targets[index])
        ]
        return self._together(image, one_or_tuple(targets))

    def __len__(self) -> int:
        return len(self.images)

    def extra_repr(self) -> str:
        """Split, mode and target types."""
        return f"Split: {self.split}\nMode: {self.mode}\nType: {self.target_type}"
