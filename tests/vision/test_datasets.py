"""Data sets read off made-up files what torchvision was recorded to read, and say what they miss."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rushlight as torch
from rushlight_vision import datasets

pytest.importorskip("PIL")
pytest.importorskip("scipy")
sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from vision_sets import SETS, pixels, text

test_behaviour = SETS.compared(torch)


def test_a_transform_set_later_is_used(tmp_path: Path) -> None:
    pixels(tmp_path / "a" / "1.png")
    data = datasets.ImageFolder(tmp_path, transform=lambda image: "before")
    data.transform = lambda image: "after"
    data.target_transform = lambda label: label + 5
    assert data[0] == ("after", 5)


def test_optional_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pycocotools", "lmdb", "h5py", "gdown"):
        monkeypatch.setitem(sys.modules, name, None)
    text(tmp_path / "a.json", "{}")
    with pytest.raises(ImportError, match="pip install pycocotools"):
        datasets.CocoDetection(tmp_path, str(tmp_path / "a.json"))
    with pytest.raises(ImportError, match="pip install lmdb"):
        datasets.LSUN(str(tmp_path), ["bedroom_train"])
    with pytest.raises(RuntimeError, match="h5py is not found"):
        datasets.PCAM(tmp_path)
    with pytest.raises(RuntimeError, match="pip install gdown"):
        datasets.utils.download_file_from_google_drive("x", tmp_path)
    for classes in ("no", ["attic_train"], ["bedroom_dev"], 3):
        with pytest.raises(ValueError, match="Unknown value|Expected type"):
            datasets.LSUN(str(tmp_path), classes)


def test_downloads_are_of_known_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fetch(url: str, root: str, **options: object) -> None:
        asked.append(url)

    monkeypatch.setattr(datasets.utils, "download_and_extract_archive", fetch)
    for make in (datasets.Food101, datasets.DTD, datasets.GTSRB, datasets.VOCDetection, datasets.Imagenette):
        with pytest.raises(RuntimeError, match="Dataset not found"):
            make(tmp_path, download=True)
    assert all(url.startswith("http") for url in asked) and len(asked) == 5
    with pytest.raises(ValueError, match="cannot be downloaded anymore"):
        datasets.StanfordCars(tmp_path, download=True)
    with pytest.raises(ValueError, match="no longer available"):
        datasets.LFWPeople(str(tmp_path), download=True)
