"""Images and what is known of them at the size that a detector takes, and its answers back."""

from __future__ import annotations

import math
from typing import Any

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight_vision.models.detection.image_list import ImageList
from rushlight_vision.models.detection.roi_heads import paste_masks_in_image


def _resize_image_and_masks(
    image: Tensor,
    self_min_size: float,
    self_max_size: float,
    target: dict[str, Tensor] | None = None,
    fixed_size: tuple[int, int] | None = None,
) -> tuple[Tensor, dict[str, Tensor] | None]:
    """The image (C, H, W) with its shorter side at one size, unless its longer side then passes another; or
    at a fixed size (width, height). Masks go along.
    """
    how: dict[str, Any] = {}
    if fixed_size is not None:
        how["size"] = [fixed_size[1], fixed_size[0]]
    else:
        least, most = min(image.shape[-2:]), max(image.shape[-2:])
        scale = min(self_min_size / least, self_max_size / most)
        how.update(scale_factor=scale, recompute_scale_factor=True)
    image = F.interpolate(image[None], mode="bilinear", align_corners=False, **how)[0]
    if target is not None and "masks" in target:
        mask = F.interpolate(target["masks"][:, None].float(), **how)[:, 0].byte()
        target["masks"] = mask
    return image, target


class GeneralizedRCNNTransform(nn.Module):
    """Normalises images, resizes them with their boxes, masks and keypoints, and makes a batch of them."""

    def __init__(
        self,
        min_size: int | tuple[int, ...],
        max_size: int,
        image_mean: list[float],
        image_std: list[float],
        size_divisible: int = 32,
        fixed_size: tuple[int, int] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.min_size = min_size if isinstance(min_size, (list, tuple)) else (min_size,)
        self.max_size, self.image_mean, self.image_std = max_size, image_mean, image_std
        self.size_divisible, self.fixed_size = size_divisible, fixed_size
        self._skip_resize = kwargs.pop("_skip_resize", False)

    def forward(
        self, images: list[Tensor], targets: list[dict[str, Tensor]] | None = None
    ) -> tuple[ImageList, list[dict[str, Tensor]] | None]:
        """images: (3, H, W) in [0, 1] each; targets: "boxes" (L, 4) of each, or "masks", "keypoints", too."""
        images = list(images)
        known: list[Any] = [None] * len(images) if targets is None else [dict(t) for t in targets]
        for i, image in enumerate(images):
            if image.dim() != 3:
                raise ValueError(
                    f"images is expected to be a list of 3d tensors of shape [C, H, W], got {image.shape}"
                )
            images[i], known[i] = self.resize(self.normalize(image), known[i])
        sizes = [(image.shape[-2], image.shape[-1]) for image in images]
        return ImageList(
            self.batch_images(images, self.size_divisible), sizes
        ), None if targets is None else known

    def normalize(self, image: Tensor) -> Tensor:
        """(image - mean) / std; TypeError unless it is of floating type."""
        if not image.is_floating_point():
            raise TypeError(
                "Expected input images to be of floating type (in range [0, 1]), "
                f"but found type {image.dtype} instead"
            )
        mean = torch.as_tensor(self.image_mean, dtype=image.dtype, device=image.device)
        std = torch.as_tensor(self.image_std, dtype=image.dtype, device=image.device)
        return (image - mean[:, None, None]) / std[:, None, None]

    def torch_choice(self, k: list[int]) -> int:
        """One of k, drawn by torch's generator."""
        index = int(torch.empty(1).uniform_(0.0, float(len(k))).item())
        return k[index]

    def resize(
        self, image: Tensor, target: dict[str, Tensor] | None = None
    ) -> tuple[Tensor, dict[str, Tensor] | None]:
        """One image and its target at the size that the detector takes; while training at a drawn one."""
        before = image.shape[-2:]
        if self.training:
            if self._skip_resize:
                return image, target
            size = self.torch_choice(list(self.min_size))
        else:
            size = self.min_size[-1]
        image, target = _resize_image_and_masks(image, size, self.max_size, target, self.fixed_size)
        if target is None:
            return image, target
        target["boxes"] = resize_boxes(target["boxes"], before, image.shape[-2:])
        if "keypoints" in target:
            target["keypoints"] = resize_keypoints(target["keypoints"], before, image.shape[-2:])
        return image, target

    def max_by_axis(self, the_list: list[Any]) -> list[int]:
        """The largest size along each axis."""
        return [max(sizes) for sizes in zip(*the_list, strict=True)]

    def batch_images(self, images: list[Tensor], size_divisible: int = 32) -> Tensor:
        """Images with zeros below and to the right, (N, C, H, W), sides multiples of `size_divisible`."""
        channels, *space = self.max_by_axis([list(image.shape) for image in images])
        space = [math.ceil(n / size_divisible) * size_divisible for n in space]
        batch = images[0].new_full([len(images), channels, *space], 0)
        for i, image in enumerate(images):
            batch[i, : image.shape[0], : image.shape[1], : image.shape[2]].copy_(image)
        return batch

    def postprocess(
        self,
        result: list[dict[str, Tensor]],
        image_shapes: list[tuple[int, int]],
        original_image_sizes: list[tuple[int, int]],
    ) -> list[dict[str, Tensor]]:
        """Boxes, masks and keypoints at the images' own sizes; nothing changes while training."""
        if self.training:
            return result
        for found, shape, original in zip(result, image_shapes, original_image_sizes, strict=True):
            boxes = found["boxes"] = resize_boxes(found["boxes"], shape, original)
            if "masks" in found:
                found["masks"] = paste_masks_in_image(found["masks"], boxes, original)
            if "keypoints" in found:
                found["keypoints"] = resize_keypoints(found["keypoints"], shape, original)
        return result

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(\n    Normalize(mean={self.image_mean}, std={self.image_std})"
            f"\n    Resize(min_size={self.min_size}, max_size={self.max_size}, mode='bilinear')\n)"
        )


def _ratios(original_size: Any, new_size: Any, like: Tensor) -> list[Tensor]:
    """How much the height and the width grow, as float32."""
    return [
        torch.tensor(n, dtype=torch.float32, device=like.device)
        / torch.tensor(o, dtype=torch.float32, device=like.device)
        for n, o in zip(new_size, original_size, strict=True)
    ]


def resize_keypoints(keypoints: Tensor, original_size: Any, new_size: Any) -> Tensor:
    """Keypoints (..., 3) of (x, y, visible) in an image of another size."""
    height, width = _ratios(original_size, new_size, keypoints)
    found = keypoints.clone()
    found[..., 0] *= width
    found[..., 1] *= height
    return found


def resize_boxes(boxes: Tensor, original_size: Any, new_size: Any) -> Tensor:
    """Boxes (L, 4) in an image of another size."""
    height, width = _ratios(original_size, new_size, boxes)
    xmin, ymin, xmax, ymax = boxes.unbind(1)
    return torch.stack((xmin * width, ymin * height, xmax * width, ymax * height), dim=1)
