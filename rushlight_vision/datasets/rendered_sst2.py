"""Rendered SST2: root/rendered-sst2/<split>/<positive or negative>."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rushlight_vision.datasets.folder import default_loader, make_dataset
from rushlight_vision.datasets.utils import fetch, sources, verify_str_arg
from rushlight_vision.datasets.vision import Listed


class RenderedSST2(Listed):
    """Sentences about films as images of text, negative (0) or positive (1)."""

    _split_to_folder = {"train": "train", "val": "valid", "test": "test"}

    def __init__(
        self,
        root: Any,
        split: str = "train",
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
        loader: Any = default_loader,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self._split = verify_str_arg(split, "split", tuple(self._split_to_folder))
        self.loader = loader
        self._base_folder = Path(self.root) / "rendered-sst2"
        self.classes = ["negative", "positive"]
        self.class_to_idx = {"negative": 0, "positive": 1}
        self._open(download)
        self._list(make_dataset(str(self._folder), extensions=("png",)))

    @property
    def _folder(self) -> Path:
        return self._base_folder / self._split_to_folder[self._split]

    def _check_exists(self) -> bool:
        return all((self._folder / name).is_dir() for name in self.classes)

    def _download(self) -> None:
        fetch(dict(sources("RenderedSST2"))["archive"], self.root)

    def extra_repr(self) -> str:
        """The split."""
        return f"split={self._split}"
