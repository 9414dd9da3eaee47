"""What data sets of images have in common, and one of noise for trying things out."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight.utils.data import Dataset


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
        both = self.transforms or StandardTransform(self.transform, self.target_transform)
        return both(image, target)

    def extra_repr(self) -> str:
        """A line of one's own for the repr."""
        return f"Split: {'Train' if self.train else 'Test'}" if hasattr(self, "train") else ""

    def __repr__(self) -> str:
        size = getattr(self, "__len__")()
        body = [f"Number of datapoints: {size}"]
        body += [f"Root location: {self.root}"] if self.root is not None else []
        body += self.extra_repr().splitlines()
        body += [repr(self.transforms)] if self.transforms is not None else []
        return "\n".join([f"Dataset {type(self).__name__}", *(f"    {line}" for line in body)])


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
        target = torch.randint(0, self.num_classes, size=(1,), dtype=torch.long)[0].item()
        torch.set_rng_state(state)
        return self._sample(to_pil_image(img), target)

    def __len__(self) -> int:
        return self.size
