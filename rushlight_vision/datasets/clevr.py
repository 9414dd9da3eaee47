"""CLEVR: root/clevr/CLEVR_v1.0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rushlight_vision.datasets.folder import default_loader
from rushlight_vision.datasets.utils import fetch, sources, verify_str_arg
from rushlight_vision.datasets.vision import Listed


class CLEVRClassification(Listed):
    """Scenes, and how many things are in them; None for those of the tests."""

    not_found = "Dataset not found or corrupted. You can use download=True to download it"

    def __init__(
        self,
        root: Any,
        split: str = "train",
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
        loader: Any = default_loader,
    ) -> None:
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        super().__init__(root, None, transform, target_transform)
        self.loader = loader
        self._base_folder = Path(self.root) / "clevr"
        self._data_folder = self._base_folder / "CLEVR_v1.0"
        self._open(download)
        paths = sorted((self._data_folder / "images" / split).glob("*"))
        counts: dict[str, int] = {}
        if split != "test":
            scenes = self._data_folder / "scenes" / f"CLEVR_{split}_scenes.json"
            held = json.loads(scenes.read_text(encoding="utf-8"))["scenes"]
            counts = {scene["image_filename"]: len(scene["objects"]) for scene in held}
        self._list((path, None if split == "test" else counts[path.name]) for path in paths)

    def _check_exists(self) -> bool:
        return self._data_folder.is_dir()

    def _download(self) -> None:
        fetch(dict(sources("CLEVR"))["archive"], self._base_folder)

    def extra_repr(self) -> str:
        """The split."""
        return f"split={self._split}"
