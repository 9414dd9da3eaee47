"""Multi-view Stereo Correspondence: root/<name>, patches of 64 x 64 in images; kept in root/<name>.pt."""

from __future__ import annotations

import os
import zipfile
from typing import Any

import numpy as np

import rushlight as torch
from rushlight_vision.datasets.utils import download_url, sources
from rushlight_vision.datasets.vision import VisionDataset, opened

# Mean, standard deviation and number of the patches.
_SETS = {
    "notredame_harris": (0.4854, 0.1864, 325295),
    "yosemite_harris": (0.4844, 0.1818, 450912),
    "liberty_harris": (0.4437, 0.2019, 379587),
    "notredame": (0.4854, 0.1864, 468159),
    "yosemite": (0.4844, 0.1818, 633587),
    "liberty": (0.4437, 0.2019, 450092),
}


class PhotoTour(VisionDataset):
    """Patches (train), or pairs of patches and whether they show one point."""

    urls = {part: list(source) for part, source in sources("PhotoTour")}
    means = {name: row[0] for name, row in _SETS.items()}
    stds = {name: row[1] for name, row in _SETS.items()}
    lens = {name: row[2] for name, row in _SETS.items()}
    image_ext, info_file, matches_files = "bmp", "info.txt", "m50_100000_100000_0.txt"

    def __init__(
        self, root: Any, name: str, train: bool = True, transform: Any = None, download: bool = False
    ) -> None:
        super().__init__(root, None, transform)
        self.name, self.train = name, train
        self.data_dir = os.path.join(self.root, name)
        self.data_down = os.path.join(self.root, f"{name}.zip")
        self.data_file = os.path.join(self.root, f"{name}.pt")
        self.mean, self.std = self.means[name], self.stds[name]
        if download:
            self.download()
        if not self._check_datafile_exists():
            self.cache()
        self.data, self.labels, self.matches = torch.load(self.data_file, weights_only=True)

    def _check_datafile_exists(self) -> bool:
        return os.path.exists(self.data_file)

    def _check_downloaded(self) -> bool:
        return os.path.exists(self.data_dir)

    def download(self) -> None:
        """Fetch and unpack the archive, unless it or what is made of it is there."""
        if self._check_datafile_exists() or self._check_downloaded():
            return
        url, filename, md5 = self.urls[self.name]
        path = os.path.join(self.root, str(filename))
        download_url(str(url), self.root, filename, md5)
        with zipfile.ZipFile(path) as archive:
            archive.extractall(self.data_dir)
        os.unlink(path)

    def cache(self) -> None:
        """Keep patches, labels and matches as one file of tensors."""
        held = (
            read_image_file(self.data_dir, self.image_ext, self.lens[self.name]),
            read_info_file(self.data_dir, self.info_file),
            read_matches_files(self.data_dir, self.matches_files),
        )
        torch.save(held, self.data_file)

    def _patch(self, index: Any) -> Any:
        return self.data[index] if self.transform is None else self.transform(self.data[index])

    def extra_repr(self) -> str:
        """The split."""
        return f"Split: {'Train' if self.train else 'Test'}"

    def __getitem__(self, index: int) -> Any:
        if self.train:
            return self._patch(index)
        first, second, same = self.matches[index]
        return self._patch(first), self._patch(second), same

    def __len__(self) -> int:
        return len(self.data if self.train else self.matches)


def read_image_file(data_dir: str, image_ext: str, n: int) -> Any:
    """The first n patches (n, 64, 64) of the images in a folder, row by row."""
    patches = []
    for name in sorted(name for name in os.listdir(data_dir) if name.endswith(image_ext)):
        pixels = np.asarray(opened(os.path.join(data_dir, name)))
        rows, columns = (-(-side // 64) for side in pixels.shape)
        whole = np.zeros((rows * 64, columns * 64), np.uint8)
        whole[: pixels.shape[0], : pixels.shape[1]] = pixels
        patches.append(whole.reshape(rows, 64, columns, 64).swapaxes(1, 2).reshape(-1, 64, 64))
    return torch.from_numpy(np.concatenate(patches)[:n])


def read_info_file(data_dir: str, info_file: str) -> Any:
    """The number of the point that each patch shows."""
    with open(os.path.join(data_dir, info_file), encoding="utf-8") as file:
        return torch.tensor([int(line.split()[0]) for line in file])


def read_matches_files(data_dir: str, matches_file: str) -> Any:
    """(patch, other patch, whether they show one point) of each match."""
    with open(os.path.join(data_dir, matches_file), encoding="utf-8") as file:
        rows = [line.split() for line in file]
    return torch.tensor([[int(row[0]), int(row[3]), int(row[1] == row[4])] for row in rows])
