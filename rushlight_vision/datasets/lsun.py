"""LSUN: root/<class>_<split>_lmdb, read by the package lmdb."""

from __future__ import annotations

import io
import os
import pickle
import string
from collections.abc import Iterable
from typing import Any

from rushlight_vision.datasets.utils import iterable_to_str, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset, opened
from rushlight_vision.pillow import needed

_CATEGORIES = [
    "bedroom",
    "bridge",
    "church_outdoor",
    "classroom",
    "conference_room",
    "dining_room",
    "kitchen",
    "living_room",
    "restaurant",
    "tower",
]
_SPLITS = ["train", "val", "test"]


class LSUNClass(VisionDataset):
    """The images of one database, without targets. Its keys are kept in a file of the working directory."""

    def __init__(self, root: str, transform: Any = None, target_transform: Any = None) -> None:
        super().__init__(root, None, transform, target_transform)
        self.env = needed("lmdb", "lmdb").open(
            root, max_readers=1, readonly=True, lock=False, readahead=False, meminit=False
        )
        with self.env.begin(write=False) as transaction:
            self.length: int = transaction.stat()["entries"]
        cache = "_cache_" + "".join(c for c in root if c in string.ascii_letters)
        if os.path.isfile(cache):
            with open(cache, "rb") as file:
                self.keys = pickle.load(file)
            return
        with self.env.begin(write=False) as transaction:
            self.keys = list(transaction.cursor().iternext(keys=True, values=False))
        with open(cache, "wb") as file:
            pickle.dump(self.keys, file)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        with self.env.begin(write=False) as transaction:
            held = transaction.get(self.keys[index])
        return self._sample(opened(io.BytesIO(held), "RGB"), None)

    def __len__(self) -> int:
        return self.length


class LSUN(VisionDataset):
    """Scenes; `classes`: "train", "val", "test", or a list such as ["bedroom_train", "tower_val"]."""

    def __init__(
        self, root: Any, classes: Any = "train", transform: Any = None, target_transform: Any = None
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self.classes = self._verify_classes(classes)
        self.dbs = [
            LSUNClass(os.path.join(root, f"{name}_lmdb"), transform=transform) for name in self.classes
        ]
        self.indices = [sum(map(len, self.dbs[: k + 1])) for k in range(len(self.dbs))]
        self.length = self.indices[-1] if self.indices else 0

    def _verify_classes(self, classes: Any) -> list[str]:
        if isinstance(classes, str) and classes in _SPLITS:
            return [classes] if classes == "test" else [f"{name}_{classes}" for name in _CATEGORIES]
        if not isinstance(classes, Iterable):
            raise ValueError(
                f"Expected type str or Iterable for argument classes, but got type {type(classes)}."
            )
        names = list(classes)
        for name in names:
            verify_str_arg(name)
            category, _, split = name.rpartition("_")
            for value, valid, what in ((category, _CATEGORIES, "LSUN class"), (split, _SPLITS, "postfix")):
                known = iterable_to_str(valid)
                error = f"Unknown value '{value}' for {what}. Valid values are {{{known}}}."
                verify_str_arg(value, valid_values=valid, custom_msg=error)
        return names

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        target = next((k for k, end in enumerate(self.indices) if index < end), len(self.dbs))
        image, _ = self.dbs[target][index - (self.indices[target - 1] if target else 0)]
        return image, target if self.target_transform is None else self.target_transform(target)

    def __len__(self) -> int:
        return self.length

    def extra_repr(self) -> str:
        """The classes."""
        return f"Classes: {self.classes}"
