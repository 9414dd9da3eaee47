"""Pascal VOC of 2007 to 2012: root/VOCdevkit/VOC<year>."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any
from xml.etree import ElementTree

from rushlight_vision.datasets.utils import fetch, sources, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset, opened

# Where an archive puts the year's folder; the test images of 2007 lie beside the others of that year.
DATASET_YEAR_DICT = {
    part: {
        **source._asdict(),
        "base_dir": os.path.join(*(["TrainVal"] if part == "2011" else []), "VOCdevkit", f"VOC{part[:4]}"),
    }
    for part, source in sources("VOC")
}


class _VOCBase(VisionDataset):
    _SPLITS_DIR: str
    _TARGET_DIR: str
    _TARGET_FILE_EXT: str

    def __init__(
        self,
        root: Any,
        year: str = "2012",
        image_set: str = "train",
        download: bool = False,
        transform: Any = None,
        target_transform: Any = None,
        transforms: Any = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.year = verify_str_arg(year, "year", [str(y) for y in range(2007, 2013)])
        sets = ["train", "trainval", "val", *(["test"] if year == "2007" else [])]
        self.image_set = verify_str_arg(image_set, "image_set", sets)
        key = "2007-test" if image_set == "test" else year
        where: dict[str, Any] = dict(DATASET_YEAR_DICT[key])
        folder = os.path.join(self.root, where.pop("base_dir"))
        self.url, self.filename, self.md5 = where["url"], where["filename"], where["md5"]
        if download:
            fetch(dict(sources("VOC"))[key]._replace(**where), self.root)
        if not os.path.isdir(folder):
            raise RuntimeError(
                "Dataset not found or corrupted. You can use download=True to download it: "
                f"expected the folder {folder}"
            )
        listed = os.path.join(folder, "ImageSets", self._SPLITS_DIR, image_set.rstrip("\n") + ".txt")
        with open(listed, encoding="utf-8") as file:
            names = [line.strip() for line in file]
        self.images = [os.path.join(folder, "JPEGImages", f"{name}.jpg") for name in names]
        self.targets = [
            os.path.join(folder, self._TARGET_DIR, name + self._TARGET_FILE_EXT) for name in names
        ]

    def __len__(self) -> int:
        return len(self.images)


class VOCSegmentation(_VOCBase):
    """Images with an image of each pixel's class."""

    _SPLITS_DIR, _TARGET_DIR, _TARGET_FILE_EXT = "Segmentation", "SegmentationClass", ".png"

    @property
    def masks(self) -> list[str]:
        """The files of the targets."""
        return self.targets

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._together(opened(self.images[index], "RGB"), opened(self.masks[index]))


class VOCDetection(_VOCBase):
    """Images with their annotations: the XML file as nested dicts."""

    _SPLITS_DIR, _TARGET_DIR, _TARGET_FILE_EXT = "Main", "Annotations", ".xml"

    @property
    def annotations(self) -> list[str]:
        """The files of the targets."""
        return self.targets

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        target = self.parse_voc_xml(ElementTree.parse(self.annotations[index]).getroot())
        return self._together(opened(self.images[index], "RGB"), target)

    @staticmethod
    def parse_voc_xml(node: Any) -> dict[str, Any]:
        """{tag: text}, or {tag: {tag of a child: what it holds, a list for several}}; a list of objects."""
        children = list(node)
        if not children:
            return {node.tag: node.text.strip()} if node.text else {}
        inside: dict[str, Any] = defaultdict(list)
        for child in children:
            for tag, held in VOCDetection.parse_voc_xml(child).items():
                inside[tag].append(held)
        if node.tag == "annotation":
            inside["object"] = [inside["object"]]
        return {node.tag: {tag: held[0] if len(held) == 1 else held for tag, held in inside.items()}}
