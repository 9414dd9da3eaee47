"""Detectors of two stages: a backbone, proposals, and heads on them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import rushlight as torch
from rushlight import Tensor, nn


def checked_sizes(images: list[Tensor]) -> list[tuple[int, int]]:
    """Heights and widths of images (C, H, W). AssertionError for other shapes."""
    sizes = []
    for image in images:
        size = image.shape[-2:]
        torch._assert(
            len(size) == 2,
            f"expecting the last two dimensions of the Tensor to be H and W instead got {size}",
        )
        sizes.append((size[0], size[1]))
    return sizes


def check_types(targets: Any) -> None:
    """AssertionError unless there are targets and their boxes are tensors (L, 4)."""
    if targets is None:
        torch._assert(False, "targets should not be none when in training mode")
    for target in targets:
        boxes = target["boxes"]
        torch._assert(
            isinstance(boxes, Tensor), f"Expected target boxes to be of type Tensor, got {type(boxes)}."
        )
        torch._assert(
            len(boxes.shape) == 2 and boxes.shape[-1] == 4,
            f"Expected target boxes to be a tensor of shape [N, 4], got {boxes.shape}.",
        )


def check_boxes(targets: Any) -> None:
    """AssertionError where a box has no height or no width."""
    for i, target in enumerate(targets or ()):
        boxes = target["boxes"]
        flat = boxes[:, 2:] <= boxes[:, :2]
        if flat.any():
            box = boxes[torch.where(flat.any(dim=1))[0][0]].tolist()
            torch._assert(
                False,
                "All bounding boxes should have positive height and width."
                f" Found invalid box {box} for target at index {i}.",
            )


def named(features: Any) -> dict[str, Tensor]:
    """A backbone's features by name: "0" where there is one."""
    return OrderedDict([("0", features)]) if isinstance(features, Tensor) else features


class GeneralizedRCNN(nn.Module):
    """Gives losses while training, and what is found in each image while evaluating."""

    def __init__(
        self, backbone: nn.Module, rpn: nn.Module, roi_heads: nn.Module, transform: nn.Module
    ) -> None:
        super().__init__()
        self.transform, self.backbone, self.rpn, self.roi_heads = transform, backbone, rpn, roi_heads

    def eager_outputs(self, losses: Any, detections: Any) -> Any:
        """Losses while training, else detections."""
        return losses if self.training else detections

    def forward(self, images: list[Tensor], targets: list[dict[str, Tensor]] | None = None) -> Any:
        """images: (3, H, W) each, in [0, 1]; targets: for each "boxes" (L, 4), "labels" (L,) int64, ..."""
        if self.training:
            check_types(targets)
        sizes = checked_sizes(images)
        batch, known = self.transform(images, targets)
        check_boxes(known)
        features = named(self.backbone(batch.tensors))
        proposals, proposal_losses = self.rpn(batch, features, known)
        found, losses = self.roi_heads(features, proposals, batch.image_sizes, known)
        found = self.transform.postprocess(found, batch.image_sizes, sizes)
        return self.eager_outputs({**losses, **proposal_losses}, found)
