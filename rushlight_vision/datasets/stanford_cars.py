"""Stanford Cars: root/stanford_cars, labels in files of MATLAB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rushlight_vision.datasets.folder import default_loader
from rushlight_vision.datasets.utils import matlab, verify_str_arg
from rushlight_vision.datasets.vision import Listed


class StanfordCars(Listed):
    """16,185 cars in 196 classes. There is no address to download them from any more."""

    not_found = "Dataset not found."

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
        self._split = verify_str_arg(split, "split", ("train", "test"))
        self.loader = loader
        self._base_folder = Path(self.root) / "stanford_cars"
        devkit = self._base_folder / "devkit"
        self._annotations_mat_path = (
            devkit / "cars_train_annos.mat"
            if split == "train"
            else self._base_folder / "cars_test_annos_withlabels.mat"
        )
        self._images_base_path = self._base_folder / f"cars_{split}"
        if download:
            self.download()
        self._open(False)
        rows = matlab(self._annotations_mat_path, squeeze_me=True)["annotations"]
        self._list((str(self._images_base_path / row["fname"]), row["class"] - 1) for row in rows)
        self.classes = matlab(devkit / "cars_meta.mat", squeeze_me=True)["class_names"].tolist()
        self.class_to_idx = {name: k for k, name in enumerate(self.classes)}

    def _check_exists(self) -> bool:
        devkit = self._base_folder / "devkit"
        return devkit.is_dir() and self._annotations_mat_path.exists() and self._images_base_path.is_dir()

    def download(self) -> None:
        """ValueError: the address is gone."""
        raise ValueError(
            "The original URL is broken so the StanfordCars dataset cannot be downloaded anymore."
        )
