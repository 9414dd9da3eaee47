"""What data sets of images have in common, and one of noise for trying things out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import rushlight as torch
from rushlight.utils.data import Dataset
from rushlight_vision.datasets.utils import verify_str_arg
from rushlight_vision.pillow import pillow


class StandardTransform:
    """Two transforms as one of (image, target)."""

    def __init__(
        self, transform: Callable[..., Any] | None = None, target_transform: Callable[..., Any] | None = None
    ) -> None:
        self.transform, self.target_transform = transform, target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        """Both, transformed."""
        input = input if self.transform is None else self.transform(input)
        return input, target if self.target_transform is None else self.target_transform(target)

    def __repr__(self) -> str:
        both = {"Transform: ": self.transform, "Target transform: ": self.target_transform}
        texts = (name + str(t).replace("\n", "\n" + " " * len(name)) for name, t in both.items() if t)
        return "\n".join(["StandardTransform", *texts])


class VisionDataset(Dataset[Any]):
    """Images with targets: `transform` and `target_transform` for each, or `transforms` for both at once."""

    def __init__(
        self,
        root: Any = None,
        transforms: Callable[..., Any] | None = None,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
    ) -> None:
        separate = transform is not None or target_transform is not None
        if transforms is not None and separate:
            raise ValueError("Only transforms or transform/target_transform can be passed as argument")
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        self.transform, self.target_transform = transform, target_transform
        self.transforms = StandardTransform(transform, target_transform) if separate else transforms

    def _sample(self, image: Any, target: Any) -> tuple[Any, Any]:
        """Both by `transform` and `target_transform`, also where these were set later."""
        image = image if self.transform is None else self.transform(image)
        return image, target if self.target_transform is None else self.target_transform(target)

    def _together(self, image: Any, target: Any) -> tuple[Any, Any]:
        """Both at once by `transforms`, for sets that take it."""
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def extra_repr(self) -> str:
        """A line of one's own for the repr."""
        return ""

    def __repr__(self) -> str:
        size = getattr(self, "__len__")()
        body = [f"Number of datapoints: {size}"]
        body += [f"Root location: {self.root}"] if self.root is not None else []
        body += self.extra_repr().splitlines()
        body += [repr(self.transforms)] if self.transforms is not None else []
        return "\n".join([f"Dataset {type(self).__name__}", *(f"    {line}" for line in body)])


class Listed(VisionDataset):
    """Image files and their labels, known when the set is opened: `_image_files`, `_labels`."""

    not_found = "Dataset not found. You can use download=True to download it"
    loader: Any
    _image_files: list[Any]
    _labels: list[Any]

    def _open(self, download: bool) -> None:
        """Fetch what is missing if that is wanted; RuntimeError where it is not there after all."""
        if download and not self._check_exists():
            self._download()
        if not self._check_exists():
            raise RuntimeError(self.not_found)

    def _check_exists(self) -> bool:
        """Whether the files are there."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method _check_exists()")

    def _download(self) -> None:
        """Fetch and unpack the files."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method _download()")

    def _list(self, samples: Iterable[tuple[Any, Any]]) -> None:
        """Note (file, label) of every sample."""
        self._samples = list(samples)
        self._image_files = [path for path, _ in self._samples]
        self._labels = [label for _, label in self._samples]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._sample(self.loader(self._image_files[index]), self._labels[index])

    def __len__(self) -> int:
        return len(self._image_files)


def opened(path: Any, mode: str | None = None) -> Any:
    """The image in a file, converted to a mode if one is given."""
    image = pillow().open(path)
    return image if mode is None else image.convert(mode)


def one_or_tuple(targets: list[Any]) -> Any:
    """The only target, or all as a tuple."""
    return tuple(targets) if len(targets) > 1 else targets[0]


def chosen(given: Any, name: str, valid: Any) -> list[str]:
    """One name or a list of names, each of the valid ones."""
    names = given if isinstance(given, (list, tuple)) else [given]
    return [verify_str_arg(n, name, valid) for n in names]


class FakeData(VisionDataset):
    """Images of noise with random labels, the same for an index every time."""

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, ...] = (3, 224, 224),
        num_classes: int = 10,
        transform: Any = None,
        target_transform: Any = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(None, None, transform, target_transform)
        self.size, self.image_size, self.num_classes = size, image_size, num_classes
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        from rushlight_vision.transforms.functional import to_pil_image

        if index >= len(self):
            raise IndexError(f"{type(self).__name__} index out of range")
        state = torch.get_rng_state()
        torch.manual_seed(index + self.random_offset)
        img = torch.randn(*self.image_size)
        target = torch.randint(0, self.num_classes, size=(1,), dtype=torch.long)[0]
        torch.set_rng_state(state)
        image, target = self._sample(to_pil_image(img), target)
        return image, target.item()

    def __len__(self) -> int:
        return self.size
