"""Flickr8k and Flickr30k: images with captions, from an HTML page or a table."""

from __future__ import annotations

import glob
import os
from collections import defaultdict
from html.parser import HTMLParser
from typing import Any

from rushlight_vision.datasets.folder import default_loader
from rushlight_vision.datasets.vision import VisionDataset


class Flickr8kParser(HTMLParser):
    """Reads the table of a page: a link to each image, then its captions as a list."""

    def __init__(self, root: Any) -> None:
        super().__init__()
        self.root = root
        self.annotations: dict[str, list[str]] = {}
        self.in_table = False
        self.current_tag: str | None = None
        self.current_img: str | None = None

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """Note where we are."""
        self.current_tag = tag
        self.in_table = self.in_table or tag == "table"

    def handle_endtag(self, tag: str) -> None:
        """Note where we are."""
        self.current_tag = None
        self.in_table = self.in_table and tag != "table"

    def handle_data(self, data: str) -> None:
        """A link names the image, an item of a list is one of its captions."""
        if not self.in_table:
            return
        if data == "Image Not Found":
            self.current_img = None
        elif self.current_tag == "a":
            pattern = os.path.join(self.root, data.split("/")[-2] + "_*.jpg")
            self.current_img = glob.glob(pattern)[0]
            self.annotations[self.current_img] = []
        elif self.current_tag == "li" and self.current_img:
            self.annotations[self.current_img].append(data.strip())


class _Captioned(VisionDataset):
    def __init__(
        self,
        root: Any,
        ann_file: str,
        transform: Any = None,
        target_transform: Any = None,
        loader: Any = default_loader,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self.ann_file = os.path.expanduser(ann_file)
        self.loader = loader
        self.annotations = self._read()
        self.ids = sorted(self.annotations)

    def _read(self) -> dict[str, list[str]]:
        raise NotImplementedError(f"{type(self).__name__}: expected a method _read()")

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        name = self.ids[index]
        return self._sample(self.loader(self._path(name)), self.annotations[name])

    def _path(self, name: str) -> str:
        return os.path.join(self.root, name)

    def __len__(self) -> int:
        return len(self.ids)


class Flickr8k(_Captioned):
    """8,000 images with five captions each."""

    def _read(self) -> dict[str, list[str]]:
        parser = Flickr8kParser(self.root)
        with open(self.ann_file, encoding="utf-8") as file:
            parser.feed(file.read())
        return parser.annotations

    def _path(self, name: str) -> str:
        return name  # the parser has found the file


class Flickr30k(_Captioned):
    """31,783 images with five captions each."""

    def _read(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        with open(self.ann_file, encoding="utf-8") as file:
            for line in file:
                name, caption = line.strip().split("\t")
                found[name[:-2]].append(caption)  # without "#0"
        return found
