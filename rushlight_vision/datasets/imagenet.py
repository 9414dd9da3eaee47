"""ImageNet (ILSVRC 2012): root/train and root/val by synset, made of the archives at first."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

import rushlight as torch
from rushlight_vision.datasets.folder import ImageFolder
from rushlight_vision.datasets.utils import check_integrity, extract_archive, matlab, sources, verify_str_arg

ARCHIVE_META = {part: (source.filename, source.md5) for part, source in sources("ImageNet")}
META_FILE = "meta.bin"


class ImageNet(ImageFolder):
    """1,281,167 images in 1,000 classes for training, 50,000 for validation. `classes` has a tuple of names
    for each, `class_to_idx` each of those names.
    """

    def __init__(self, root: Any, split: str = "train", **kwargs: Any) -> None:
        home = self.root = os.path.expanduser(root)
        self.split = verify_str_arg(split, "split", ("train", "val"))
        self.parse_archives()
        names = load_meta_file(home)[0]
        super().__init__(self.split_folder, **kwargs)
        self.root = home
        self.wnids, self.wnid_to_idx = self.classes, self.class_to_idx
        self.classes = [names[wnid] for wnid in self.wnids]
        self.class_to_idx = {name: k for k, several in enumerate(self.classes) for name in several}

    def parse_archives(self) -> None:
        """Make the meta file and the split's folder of the archives in root, unless they are there."""
        if not check_integrity(os.path.join(self.root, META_FILE)):
            parse_devkit_archive(self.root)
        if not os.path.isdir(self.split_folder):
            (parse_train_archive if self.split == "train" else parse_val_archive)(self.root)

    @property
    def split_folder(self) -> str:
        """The folder of the split's images."""
        return os.path.join(self.root, self.split)

    def extra_repr(self) -> str:
        """The split."""
        return f"Split: {self.split}"


def load_meta_file(root: Any, file: str | None = None) -> tuple[dict[str, Any], list[str]]:
    """({synset: names}, the synset of each validation image)."""
    name = file or META_FILE
    path = os.path.join(root, name)
    if not check_integrity(path):
        raise RuntimeError(
            f"The meta file {path} is not present in the root directory or is corrupted. "
            "This file is automatically created by the ImageNet dataset."
        )
    found: tuple[dict[str, Any], list[str]] = torch.load(path, weights_only=True)
    return found


def _archive(root: Any, part: str, file: str | None) -> str:
    """The path of an archive, whose checksum has been compared."""
    name, md5 = ARCHIVE_META[part]
    path = os.path.join(root, file or name)
    if not check_integrity(path, md5):
        raise RuntimeError(
            f"The archive {file or name} is not present in the root directory or is corrupted. "
            f"You need to download it externally and place it in {root}."
        )
    return path


def parse_devkit_archive(root: Any, file: str | None = None) -> None:
    """Make root/meta.bin of the development kit: the names of the synsets, the labels of validation."""
    archive = _archive(root, "devkit", file)
    with tempfile.TemporaryDirectory() as folder:
        extract_archive(archive, folder)
        data = os.path.join(folder, "ILSVRC2012_devkit_t12", "data")
        rows = matlab(os.path.join(data, "meta.mat"), squeeze_me=True)["synsets"]
        leaves = [row for row in (row.item() for row in rows) if row[4] == 0]  # no synsets below
        with open(os.path.join(data, "ILSVRC2012_validation_ground_truth.txt"), encoding="utf-8") as text:
            numbers = [int(line) for line in text]
    names = {str(row[1]): tuple(str(row[2]).split(", ")) for row in leaves}
    wnids = {int(row[0]): str(row[1]) for row in leaves}
    torch.save((names, [wnids[number] for number in numbers]), os.path.join(root, META_FILE))


def parse_train_archive(root: Any, file: str | None = None, folder: str = "train") -> None:
    """Unpack the training images and the archive of each synset among them."""
    archive, target = _archive(root, "train", file), os.path.join(root, folder)
    extract_archive(archive, target)
    for name in os.listdir(target):
        inner = os.path.join(target, name)
        extract_archive(inner, os.path.splitext(inner)[0], remove_finished=True)


def parse_val_archive(
    root: Any, file: str | None = None, wnids: list[str] | None = None, folder: str = "val"
) -> None:
    """Unpack the validation images, in name order of the synsets `wnids`, into their synsets' folders."""
    wnids = load_meta_file(root)[1] if wnids is None else wnids
    archive, target = _archive(root, "val", file), os.path.join(root, folder)
    extract_archive(archive, target)
    images = sorted(os.listdir(target))
    for wnid in set(wnids):
        os.mkdir(os.path.join(target, wnid))
    for wnid, image in zip(wnids, images):
        shutil.move(os.path.join(target, image), os.path.join(target, wnid, image))
