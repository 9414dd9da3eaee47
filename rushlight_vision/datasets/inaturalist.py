"""iNaturalist: root/<version>, a folder for each category."""

from __future__ import annotations

import os
from typing import Any

from rushlight_vision.datasets.utils import fetch, sources, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset, chosen, one_or_tuple, opened

CATEGORIES_2021 = ["kingdom", "phylum", "class", "order", "family", "genus"]
DATASET_URLS = {part: source.url for part, source in sources("INaturalist")}
DATASET_MD5 = {part: source.md5 for part, source in sources("INaturalist")}


class INaturalist(VisionDataset):
    """Plants and animals; `target_type`: "full" (the category), for 2021 also a rank ("kingdom" to "genus"),
    before "super", or a list of them.
    """

    def __init__(
        self,
        root: Any,
        version: str = "2021_train",
        target_type: Any = "full",
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
        loader: Any = None,
    ) -> None:
        self.version = verify_str_arg(version, "version", list(DATASET_URLS))
        super().__init__(os.path.join(root, version), None, transform, target_transform)
        self.loader = loader
        os.makedirs(root, exist_ok=True)
        if download:
            self.download()
        if not self._check_exists():
            raise RuntimeError("Dataset not found or corrupted. You can use download=True to download it")
        self.all_categories: list[str] = []
        self.categories_index: dict[str, dict[str, int]] = {}
        self.categories_map: list[dict[str, int]] = []
        late = version.startswith("2021")
        kinds = target_type if isinstance(target_type, list) else [target_type]
        self.target_type = chosen(kinds, "target_type", ("full", *(CATEGORIES_2021 if late else ["super"])))
        if late:
            self._init_2021()
        else:
            self._init_pre2021()
        self.index = [
            (k, name)
            for k, folder in enumerate(self.all_categories)
            for name in os.listdir(os.path.join(self.root, folder))
        ]

    def _init_2021(self) -> None:
        """Folders called number_kingdom_..._genus_species."""
        self.all_categories = sorted(os.listdir(self.root))
        self.categories_index = {rank: {} for rank in CATEGORIES_2021}
        for k, name in enumerate(self.all_categories):
            pieces = name.split("_")
            if len(pieces) != 8:
                raise RuntimeError(f"Unexpected category name {name}, wrong number of pieces")
            if pieces[0] != f"{k:05d}":
                raise RuntimeError(f"Unexpected category id {pieces[0]}, expecting {k:05d}")
            ranks = zip(CATEGORIES_2021, pieces[1:7])
            self.categories_map.append(
                {
                    rank: self.categories_index[rank].setdefault(taxon, len(self.categories_index[rank]))
                    for rank, taxon in ranks
                }
            )

    def _init_pre2021(self) -> None:
        """Folders of folders: numbered from 0 in 2018 and 2019, of names in 2017."""
        groups = sorted(os.listdir(self.root))
        self.categories_index = {"super": {name: k for k, name in enumerate(groups)}}
        found: dict[int, tuple[str, int]] = {}
        for k, group in enumerate(groups):
            for name in sorted(os.listdir(os.path.join(self.root, group))):
                number = len(found) if self.version == "2017" else _number(name)
                if number in found:
                    raise RuntimeError(f"Duplicate category {name}")
                found[number] = (os.path.join(group, name), k)
        missing = next((n for n in range(max(found, default=-1)) if n not in found), None)
        if missing is not None:
            raise RuntimeError(f"Missing category {missing}")
        self.all_categories = [found[n][0] for n in range(len(found))]
        self.categories_map = [{"super": found[n][1]} for n in range(len(found))]

    def category_name(self, category_type: str, category_id: int) -> str:
        """The name of a category of a rank; ValueError for one that is not there."""
        if category_type == "full":
            return self.all_categories[category_id]
        if category_type not in self.categories_index:
            raise ValueError(f"Invalid category type '{category_type}'")
        for name, number in self.categories_index[category_type].items():
            if number == category_id:
                return name
        raise ValueError(f"Invalid category id {category_id} for {category_type}")

    def _check_exists(self) -> bool:
        return os.path.exists(self.root) and len(os.listdir(self.root)) > 0

    def download(self) -> None:
        """Fetch and unpack the version's archive, unless its folder is there."""
        if self._check_exists():
            return
        home, source = os.path.dirname(self.root), dict(sources("INaturalist"))[self.version]
        fetch(source, home)
        unpacked = os.path.join(home, os.path.basename(source.url).removesuffix(".tar.gz"))
        if not os.path.exists(unpacked):
            raise RuntimeError(f"Unable to find downloaded files at {unpacked}")
        os.rename(unpacked, self.root)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        category, name = self.index[index]
        path = os.path.join(self.root, self.all_categories[category], name)
        image = opened(path) if self.loader is None else self.loader(path)
        targets = [
            category if kind == "full" else self.categories_map[category][kind] for kind in self.target_type
        ]
        return self._sample(image, one_or_tuple(targets))

    def __len__(self) -> int:
        return len(self.index)


def _number(name: str) -> int:
    if not name.isdigit():
        raise RuntimeError(f"Unexpected non-numeric dir name: {name}")
    return int(name)
