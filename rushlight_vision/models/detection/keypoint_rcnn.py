"""Keypoint R-CNN: He et al., "Mask R-CNN", ICCV 2017, section 5."""

from __future__ import annotations

from typing import Any

import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight_vision.models import _api
from rushlight_vision.models.detection._builders import detector, resnet_features
from rushlight_vision.models.detection.faster_rcnn import FasterRCNN
from rushlight_vision.ops.poolers import MultiScaleRoIAlign


class KeypointRCNN(FasterRCNN):
    """A FasterRCNN that says where the keypoints of each object are.

    What `FasterRCNN` takes, and `keypoint_roi_pool`, `keypoint_head`, `keypoint_predictor`, `num_keypoints`.
    """

    def __init__(
        self,
        backbone: Any,
        num_classes: int | None = None,
        min_size: Any = None,
        *args: Any,
        keypoint_roi_pool: Any = None,
        keypoint_head: Any = None,
        keypoint_predictor: Any = None,
        num_keypoints: int | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(keypoint_roi_pool, (MultiScaleRoIAlign, type(None))):
            raise TypeError(
                "keypoint_roi_pool should be of type MultiScaleRoIAlign or None instead of "
                f"{type(keypoint_roi_pool)}"
            )
        if num_classes is not None and keypoint_predictor is not None:
            raise ValueError("num_classes should be None when keypoint_predictor is specified")
        pool = keypoint_roi_pool or MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=14, sampling_ratio=2)
        head = keypoint_head or KeypointRCNNHeads(getattr(backbone, "out_channels", 0), (512,) * 8)
        predictor = keypoint_predictor or KeypointRCNNPredictor(512, num_keypoints or 17)
        sizes = (640, 672, 704, 736, 768, 800) if min_size is None else min_size
        super().__init__(backbone, num_classes, sizes, *args, **kwargs)
        heads = self.roi_heads
        heads.keypoint_roi_pool, heads.keypoint_head, heads.keypoint_predictor = pool, head, predictor


class KeypointRCNNHeads(nn.Sequential):
    """Convolutions of 3x3."""

    def __init__(self, in_channels: int, layers: Any) -> None:
        made: list[nn.Module] = []
        for width in layers:
            made += [nn.Conv2d(in_channels, width, 3, stride=1, padding=1), nn.ReLU(inplace=True)]
            in_channels = width
        super().__init__(*made)
        for m in self.children():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
                if m.bias is not None:
                    nn.init.constant_(m.bias, 0)


class KeypointRCNNPredictor(nn.Module):
    """A map for each keypoint, at four times the size."""

    def __init__(self, in_channels: int, num_keypoints: int) -> None:
        super().__init__()
        self.kps_score_lowres = nn.ConvTranspose2d(in_channels, num_keypoints, 4, stride=2, padding=1)
        nn.init.kaiming_normal_(self.kps_score_lowres.weight, mode="fan_out", nonlinearity="relu")
        nn.init.constant_(self.kps_score_lowres.bias, 0)
        self.up_scale, self.out_channels = 2, num_keypoints

    def forward(self, x: Tensor) -> Tensor:
        """x: (L, in_channels, H, W); gives (L, num_keypoints, 4 H, 4 W)."""
        return F.interpolate(
            self.kps_score_lowres(x),
            scale_factor=float(self.up_scale),
            mode="bilinear",
            align_corners=False,
            recompute_scale_factor=False,
        )


def _first(weights: Any, num_classes: int, layers: int | None, weights_backbone: Any, **kwargs: Any) -> Any:
    features = resnet_features(weights, weights_backbone, layers)
    return KeypointRCNN(features, num_classes=num_classes, **kwargs)


keypointrcnn_resnet50_fpn = detector(
    _first, "keypointrcnn_resnet50_fpn", "resnet50", eps={"COCO_V1": 0.0}, classes=2
)
__getattr__ = _api.enums(__name__)
