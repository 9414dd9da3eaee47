"""WIDER FACE: root/widerface, faces in 61 kinds of events."""

from __future__ import annotations

import os
from typing import Any

import rushlight as torch
from rushlight_vision.datasets.utils import (
    download_file_from_google_drive,
    extract_archive,
    fetch,
    sources,
    verify_str_arg,
)
from rushlight_vision.datasets.vision import VisionDataset, opened

_COLUMNS = ("blur", "expression", "illumination", "occlusion", "pose", "invalid")


class WIDERFace(VisionDataset):
    """Images with a dict of tensors, a row for each face: bbox (x, y, w, h), blur, expression, illumination,
    occlusion, pose, invalid; None for those of the tests.
    """

    BASE_FOLDER = "widerface"
    FILE_LIST = [(s.url, s.md5, s.filename) for part, s in sources("WIDERFace") if part == "images"]

    def __init__(
        self,
        root: Any,
        split: str = "train",
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
    ) -> None:
        super().__init__(os.path.join(root, self.BASE_FOLDER), None, transform, target_transform)
        self.split = verify_str_arg(split, "split", ("train", "val", "test"))
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError(
                "Dataset not found or corrupted. You can use download=True to download and prepare it"
            )
        self.img_info: list[dict[str, Any]] = []
        if split == "test":
            self.parse_test_annotations_file()
        else:
            self.parse_train_val_annotations_file()

    def _lines(self, name: str) -> list[str]:
        with open(os.path.join(self.root, "wider_face_split", name), encoding="utf-8") as file:
            return [line.rstrip() for line in file]

    def _path(self, name: str) -> str:
        return os.path.abspath(os.path.join(self.root, f"WIDER_{self.split}", "images", name))

    def parse_train_val_annotations_file(self) -> None:
        """A file's name, the number of faces, ten numbers for each; a line of zeros where there is none."""
        lines, at = self._lines(f"wider_face_{self.split}_bbx_gt.txt"), 0
        while at < len(lines):
            path, count = self._path(lines[at]), max(int(lines[at + 1]), 1)
            rows = torch.tensor(
                [[int(v) for v in line.split(" ")] for line in lines[at + 2 : at + 2 + count]]
            )
            marks = {name: rows[:, 4 + k].clone() for k, name in enumerate(_COLUMNS)}
            self.img_info.append({"img_path": path, "annotations": {"bbox": rows[:, :4].clone(), **marks}})
            at += 2 + count

    def parse_test_annotations_file(self) -> None:
        """A file's name on each line."""
        names = self._lines("wider_face_test_filelist.txt")
        self.img_info += [{"img_path": self._path(name)} for name in names]

    def _check_integrity(self) -> bool:
        folders = [os.path.splitext(source.filename)[0] for _, source in sources("WIDERFace")]
        return all(os.path.exists(os.path.join(self.root, folder)) for folder in folders)

    def download(self) -> None:
        """Fetch and unpack images and annotations, unless their folders are there."""
        if self._check_integrity():
            return
        for number, md5, name in self.FILE_LIST:
            download_file_from_google_drive(number, self.root, name, md5)
            extract_archive(os.path.join(self.root, name))
        fetch(dict(sources("WIDERFace"))["annotations"], self.root)

    def extra_repr(self) -> str:
        """The split."""
        return f"Split: {self.split}"

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        info = self.img_info[index]
        target = None if self.split == "test" else info["annotations"]
        return self._sample(opened(info["img_path"]), target)

    def __len__(self) -> int:
        return len(self.img_info)
