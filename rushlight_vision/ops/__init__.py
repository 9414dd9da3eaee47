"""torchvision.ops: boxes, their losses, and layers that vision models are made of."""

from __future__ import annotations

import sys

from rushlight._engine.lazy import lazy_names
from rushlight_vision._packages import NamesakePackage

_HOMES = {
    **dict.fromkeys(
        (
            "batched_nms",
            "box_area",
            "box_convert",
            "box_iou",
            "clip_boxes_to_image",
            "complete_box_iou",
            "distance_box_iou",
            "generalized_box_iou",
            "masks_to_boxes",
            "nms",
            "remove_small_boxes",
        ),
        "boxes",
    ),
    "complete_box_iou_loss": "ciou_loss",
    "distance_box_iou_loss": "diou_loss",
    "generalized_box_iou_loss": "giou_loss",
    "sigmoid_focal_loss": "focal_loss",
    **dict.fromkeys(
        (
            "Conv2dNormActivation",
            "Conv3dNormActivation",
            "FrozenBatchNorm2d",
            "MLP",
            "Permute",
            "SqueezeExcitation",
        ),
        "misc",
    ),
    **dict.fromkeys(("DropBlock2d", "DropBlock3d", "drop_block2d", "drop_block3d"), "drop_block"),
    **dict.fromkeys(("StochasticDepth", "stochastic_depth"), "stochastic_depth"),
    **dict.fromkeys(("DeformConv2d", "deform_conv2d"), "deform_conv"),
    **dict.fromkeys(("PSRoIAlign", "ps_roi_align"), "ps_roi_align"),
    **dict.fromkeys(("PSRoIPool", "ps_roi_pool"), "ps_roi_pool"),
    **dict.fromkeys(("RoIAlign", "roi_align"), "roi_align"),
    **dict.fromkeys(("RoIPool", "roi_pool"), "roi_pool"),
    "MultiScaleRoIAlign": "poolers",
    "FeaturePyramidNetwork": "feature_pyramid_network",
}
__all__ = sorted(_HOMES)
_MODULES = dict.fromkeys((*_HOMES.values(), "_utils"), ".")
__getattr__, __dir__ = lazy_names(globals(), {**_MODULES, **_HOMES})
sys.modules[__spec__.name].__class__ = NamesakePackage  # `ops.roi_align` is the function
