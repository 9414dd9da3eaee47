"""torchvision.ops: boxes, their losses, and layers that vision models are made of."""

from __future__ import annotations

from rushlight._engine.lazy import lazy_names

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
    **dict.fromkeys(
        ("complete_box_iou_loss", "distance_box_iou_loss", "generalized_box_iou_loss", "sigmoid_focal_loss"),
        "losses",
    ),
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
    **dict.fromkeys(
        ("DropBlock2d", "DropBlock3d", "StochasticDepth", "drop_block2d", "drop_block3d", "stochastic_depth"),
        "dropping",
    ),
    **dict.fromkeys(("RoIAlign", "RoIPool", "roi_align", "roi_pool"), "regions"),
    "FeaturePyramidNetwork": "feature_pyramid_network",
}
__all__ = sorted(_HOMES)
_MODULES = dict.fromkeys(("boxes", "feature_pyramid_network", "misc"), ".")
__getattr__, __dir__ = lazy_names(globals(), {**_HOMES, **_MODULES})
