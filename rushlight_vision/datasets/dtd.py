"""Describable Textures: root/dtd/dtd."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rushlight_vision.datasets.folder import default_loader
from rushlight_vision.datasets.utils import fetch, sources, verify_str_arg
from rushlight_vision.datasets.vision import Listed


class DTD(Listed):
    """Textures in 47 classes; `partition` (1 to 10) says which of ten ways to split them."""

    def __init__(
        self,
        root: Any,
        split: str = "train",
        partition: int = 1,
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
        loader: Any = default_loader,
    ) -> None:
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        if not isinstance(partition, int) or not 1 <= partition <= 10:
            raise ValueError(
                "Parameter 'partition' should be an integer with `1 <= partition <= 10`, "
                f"but got {partition} instead"
            )
        self._partition = partition
        super().__init__(root, None, transform, target_transform)
        self.loader = loader
        self._base_folder = Path(self.root) / type(self).__name__.lower()
        self._data_folder = self._base_folder / "dtd"
        self._open(download)
        listed = self._data_folder / "labels" / f"{split}{partition}.txt"
        with open(listed, encoding="utf-8") as file:
            names = [line.strip().split("/") for line in file]
        self.classes = sorted({name for name, _ in names})
        self.class_to_idx = {name: k for k, name in enumerate(self.classes)}
        images = self._data_folder / "images"
        self._list((images / name / image, self.class_to_idx[name]) for name, image in names)

    def _check_exists(self) -> bool:
        return self._data_folder.is_dir()

    def _download(self) -> None:
        fetch(dict(sources("DTD"))["archive"], self._base_folder)

    def extra_repr(self) -> str:
        """Split and partition."""
        return f"split={self._split}, partition={self._partition}"
