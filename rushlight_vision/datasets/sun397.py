"""SUN397: root/SUN397/<letter>/<class>/sun_*.jpg."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rushlight_vision.datasets.folder import default_loader
from rushlight_vision.datasets.utils import fetch, sources
from rushlight_vision.datasets.vision import Listed


class SUN397(Listed):
    """108,754 scenes in 397 classes."""

    def __init__(
        self,
        root: Any,
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
        loader: Any = default_loader,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self.loader = loader
        self._data_dir = Path(self.root) / "SUN397"
        self._open(download)
        with open(self._data_dir / "ClassName.txt", encoding="utf-8") as file:
            self.classes = [line[3:].strip() for line in file]  # without "/a/"
        self.class_to_idx = {name: k for k, name in enumerate(self.classes)}
        paths = list(self._data_dir.rglob("sun_*.jpg"))
        names = ["/".join(path.relative_to(self._data_dir).parts[1:-1]) for path in paths]
        self._list((path, self.class_to_idx[name]) for path, name in zip(paths, names))

    def _check_exists(self) -> bool:
        return self._data_dir.is_dir()

    def _download(self) -> None:
        fetch(dict(sources("SUN397"))["archive"], self.root)
