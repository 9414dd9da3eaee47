"""Images of several sizes as one batch."""

from __future__ import annotations

from typing import Any

from rushlight import Tensor


class ImageList:
    """Images padded to one size, (N, C, H, W), and the size (height, width) that each has without padding."""

    def __init__(self, tensors: Tensor, image_sizes: list[tuple[int, int]]) -> None:
        self.tensors, self.image_sizes = tensors, image_sizes

    def to(self, device: Any) -> ImageList:
        """The images on another device."""
        return ImageList(self.tensors.to(device), self.image_sizes)
