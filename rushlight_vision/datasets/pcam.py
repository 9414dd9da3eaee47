"""PatchCamelyon: root/pcam/*.h5, read by the package h5py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rushlight_vision.datasets.utils import (
    _decompress,
    download_file_from_google_drive,
    sources,
    verify_str_arg,
)
from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.pillow import image_of


class PCAM(VisionDataset):
    """327,680 views of lymph nodes, 96 x 96 in colour, with a tumour (1) in the middle or without (0)."""

    _FILES = dict(sources("PCAM"))

    def __init__(
        self,
        root: Any,
        split: str = "train",
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
    ) -> None:
        try:
            import h5py
        except ImportError as error:
            raise RuntimeError(
                "h5py is not found. This dataset needs to have h5py installed: please run pip install h5py"
            ) from error
        self.h5py = h5py
        self._split = verify_str_arg(split, "split", ("train", "test", "val"))
        super().__init__(root, None, transform, target_transform)
        self._base_folder = Path(self.root) / "pcam"
        if download:
            self._download()
        if not self._check_exists():
            raise RuntimeError("Dataset not found. You can use download=True to download it")

    def _path(self, part: str) -> Path:
        return self._base_folder / self._FILES[f"{self._split} {part}"].filename

    def _check_exists(self) -> bool:
        return self._path("images").exists() and self._path("targets").exists()

    def _download(self) -> None:
        for part in () if self._check_exists() else ("images", "targets"):
            number, name, md5 = self._FILES[f"{self._split} {part}"]
            download_file_from_google_drive(number, self._base_folder, f"{name}.gz", md5)
            _decompress(self._base_folder / f"{name}.gz")

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        with self.h5py.File(self._path("images")) as held:
            image = image_of(held["x"][index], "RGB")
        with self.h5py.File(self._path("targets")) as held:
            target = int(held["y"][index, 0, 0, 0])
        return self._sample(image, target)

    def __len__(self) -> int:
        with self.h5py.File(self._path("images")) as held:
            count: int = held["x"].shape[0]
        return count
