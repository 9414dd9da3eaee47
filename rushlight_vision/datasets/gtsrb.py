"""German Traffic Sign Recognition Benchmark: root/gtsrb/GTSRB."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path
from typing import Any

from rushlight_vision.datasets.folder import make_dataset
from rushlight_vision.datasets.utils import fetch, sources, verify_str_arg
from rushlight_vision.datasets.vision import Listed, opened


class GTSRB(Listed):
    """Traffic signs in 43 classes."""

    def __init__(
        self,
        root: Any,
        split: str = "train",
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        self.loader = partial(opened, mode="RGB")
        self._base_folder = Path(self.root) / "gtsrb"
        self._target_folder = (
            self._base_folder / "GTSRB" / ("Training" if split == "train" else "Final_Test/Images")
        )
        self._open(download)
        self._list(
            make_dataset(str(self._target_folder), extensions=(".ppm",))
            if split == "train"
            else self._tested()
        )

    def _tested(self) -> list[tuple[str, int]]:
        with open(self._base_folder / "GT-final_test.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter=";", skipinitialspace=True))
        return [(str(self._target_folder / row["Filename"]), int(row["ClassId"])) for row in rows]

    def _check_exists(self) -> bool:
        return self._target_folder.is_dir()

    def _download(self) -> None:
        parts = ("train",) if self._split == "train" else ("test", "labels")
        for part in parts:
            fetch(dict(sources("GTSRB"))[part], self._base_folder)

    def download(self) -> None:
        """Fetch the files, unless they are there."""
        if not self._check_exists():
            self._download()
