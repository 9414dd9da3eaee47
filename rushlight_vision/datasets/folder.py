"""Images in folders named after their classes: root/CLASS/.../image.png."""

from __future__ import annotations

import os
from typing import Any

from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.pillow import needed, pillow

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Whether a file's name ends in one of the extensions, whatever its case."""
    return filename.lower().endswith(extensions if isinstance(extensions, str) else tuple(extensions))


def is_image_file(filename: str) -> bool:
    """Whether a file's name is one of an image."""
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def pil_loader(path: Any) -> Any:
    """The RGB image in a file, read by Pillow."""
    with open(path, "rb") as file:
        return pillow().open(file).convert("RGB")


def accimage_loader(path: Any) -> Any:
    """The image in a file, read by accimage; by Pillow what that cannot read."""
    accimage = needed("accimage", "accimage")
    try:
        return accimage.Image(path)
    except OSError:
        return pil_loader(path)


def default_loader(path: Any) -> Any:
    """The RGB image in a file: Pillow is the only backend."""
    return pil_loader(path)


def find_classes(directory: Any) -> tuple[list[str], dict[str, int]]:
    """The names of the folders in a folder, in order, and their numbers; FileNotFoundError without any."""
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: i for i, name in enumerate(classes)}


def make_dataset(
    directory: Any,
    class_to_idx: dict[str, int] | None = None,
    extensions: Any = None,
    is_valid_file: Any = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """(path, class number) of every file with one of the extensions, or that is_valid_file takes."""
    directory = os.path.expanduser(directory)
    if class_to_idx is None:
        class_to_idx = find_classes(directory)[1]
    elif not class_to_idx:
        raise ValueError("'class_to_index' must have at least one entry to collect any samples.")
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("Both extensions and is_valid_file cannot be None or not None at the same time")
    valid = is_valid_file or (lambda path: has_file_allowed_extension(path, extensions))
    classes = class_to_idx
    found: list[tuple[str, int]] = []
    for name in sorted(classes):
        walk = sorted(os.walk(os.path.join(directory, name), followlinks=True))
        paths = [os.path.join(folder, file) for folder, _, files in walk for file in sorted(files)]
        found += [(path, classes[name]) for path in paths if valid(path)]
    present = {number for _, number in found}
    empty = sorted(name for name, number in classes.items() if number not in present)
    if empty and not allow_empty:
        raise FileNotFoundError(
            f"Found no valid file for the classes {', '.join(empty)}. "
            + ("" if extensions is None else f"Supported extensions are: {_listed(extensions)}")
        )
    return found


def _listed(extensions: Any) -> str:
    return extensions if isinstance(extensions, str) else ", ".join(extensions)


class DatasetFolder(VisionDataset):
    """Files in folders of classes, read by `loader`."""

    def __init__(
        self,
        root: Any,
        loader: Any,
        extensions: Any = None,
        transform: Any = None,
        target_transform: Any = None,
        is_valid_file: Any = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, None, transform, target_transform)
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(
            self.root,
            class_to_idx=self.class_to_idx,
            extensions=extensions,
            is_valid_file=is_valid_file,
            allow_empty=allow_empty,
        )
        self.loader, self.extensions, self.targets = loader, extensions, [y for _, y in self.samples]

    @staticmethod
    def make_dataset(
        directory: Any,
        class_to_idx: dict[str, int],
        extensions: Any = None,
        is_valid_file: Any = None,
        allow_empty: bool = False,
    ) -> list[tuple[str, int]]:
        """The samples; for subclasses that list them otherwise."""
        if class_to_idx is None:
            raise ValueError("The class_to_idx parameter cannot be None.")
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def find_classes(self, directory: Any) -> tuple[list[str], dict[str, int]]:
        """The classes; for subclasses that name them otherwise."""
        return find_classes(directory)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        return self._sample(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Images in folders of classes."""

    def __init__(
        self,
        root: Any,
        transform: Any = None,
        target_transform: Any = None,
        loader: Any = default_loader,
        is_valid_file: Any = None,
        allow_empty: bool = False,
    ) -> None:
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(root, loader, extensions, transform, target_transform, is_valid_file, allow_empty)
        self.imgs = self.samples
