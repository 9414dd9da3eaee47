"""SSDLite: Sandler et al., "MobileNetV2", CVPR 2018, section 6.2, on MobileNetV3."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from rushlight import Tensor, nn
from rushlight._engine.core.callers import warn
from rushlight_vision.models import _api, mobilenetv3
from rushlight_vision.models.detection import _utils as det_utils
from rushlight_vision.models.detection._builders import detector
from rushlight_vision.models.detection.anchor_utils import DefaultBoxGenerator
from rushlight_vision.models.detection.backbone_utils import _validate_trainable_layers, stages
from rushlight_vision.models.detection.ssd import SSD, SSDScoringHead, frozen_before
from rushlight_vision.ops.misc import Conv2dNormActivation


def _prediction_block(
    in_channels: int, out_channels: int, kernel_size: int, norm_layer: Callable[..., nn.Module]
) -> nn.Sequential:
    return nn.Sequential(
        Conv2dNormActivation(
            in_channels,
            in_channels,
            kernel_size=kernel_size,
            groups=in_channels,
            norm_layer=norm_layer,
            activation_layer=nn.ReLU6,
        ),
        nn.Conv2d(in_channels, out_channels, 1),
    )


def _extra_block(in_channels: int, out_channels: int, norm_layer: Callable[..., nn.Module]) -> nn.Sequential:
    inside = out_channels // 2
    make = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.ReLU6)
    return nn.Sequential(
        make(in_channels, inside, kernel_size=1),
        make(inside, inside, kernel_size=3, stride=2, groups=inside),
        make(inside, out_channels, kernel_size=1),
    )


def _normal_init(conv: nn.Module) -> None:
    for layer in conv.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.normal_(layer.weight, mean=0.0, std=0.03)
            if layer.bias is not None:
                nn.init.constant_(layer.bias, 0.0)


class SSDLiteHead(nn.Module):
    """Classes and moves of the boxes of each level, by weights of its own."""

    def __init__(
        self,
        in_channels: list[int],
        num_anchors: list[int],
        num_classes: int,
        norm_layer: Callable[..., nn.Module],
    ) -> None:
        super().__init__()
        self.classification_head = SSDLiteClassificationHead(
            in_channels, num_anchors, num_classes, norm_layer
        )
        self.regression_head = SSDLiteRegressionHead(in_channels, num_anchors, norm_layer)

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        """x: feature maps (N, C, H, W); gives "bbox_regression" (N, L, 4) and "cls_logits"."""
        return {"bbox_regression": self.regression_head(x), "cls_logits": self.classification_head(x)}


def _blocks(in_channels: list[int], num_anchors: list[int], columns: int, norm: Any) -> nn.ModuleList:
    made = nn.ModuleList(
        _prediction_block(channels, columns * anchors, 3, norm)
        for channels, anchors in zip(in_channels, num_anchors, strict=True)
    )
    _normal_init(made)
    return made


class SSDLiteClassificationHead(SSDScoringHead):
    """The class of each box."""

    def __init__(
        self, in_channels: list[int], num_anchors: list[int], num_classes: int, norm_layer: Any
    ) -> None:
        super().__init__(_blocks(in_channels, num_anchors, num_classes, norm_layer), num_classes)


class SSDLiteRegressionHead(SSDScoringHead):
    """How each box should be moved."""

    def __init__(self, in_channels: list[int], num_anchors: list[int], norm_layer: Any) -> None:
        super().__init__(_blocks(in_channels, num_anchors, 4, norm_layer), 4)


class SSDLiteFeatureExtractorMobileNet(nn.Module):
    """MobileNet's features up to the middle of a block, to the end, and smaller ones from them."""

    def __init__(
        self,
        backbone: Any,
        c4_pos: int,
        norm_layer: Callable[..., nn.Module],
        width_mult: float = 1.0,
        min_depth: int = 16,
    ) -> None:
        super().__init__()
        middle = backbone[c4_pos]
        if middle.use_res_connect:
            raise ValueError("backbone[c4_pos].use_res_connect should be False")
        self.features = nn.Sequential(
            nn.Sequential(*backbone[:c4_pos], middle.block[0]),
            nn.Sequential(middle.block[1:], *backbone[c4_pos + 1 :]),
        )
        widths = [max(min_depth, int(width * width_mult)) for width in (512, 256, 256, 128)]
        before = [backbone[-1].out_channels, *widths]
        self.extra = nn.ModuleList(
            _extra_block(*both, norm_layer) for both in zip(before, widths, strict=False)
        )
        _normal_init(self.extra)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """x: (N, 3, H, W); gives features by the names "0", "1", ..."""
        found = []
        for block in (*self.features, *self.extra):
            x = block(x)
            found.append(x)
        return OrderedDict((str(i), v) for i, v in enumerate(found))


def _mobilenet_extractor(
    backbone: Any, trainable_layers: int, norm_layer: Callable[..., nn.Module]
) -> SSDLiteFeatureExtractorMobileNet:
    features = backbone.features
    starts = stages(features)
    frozen_before(features, starts, trainable_layers)
    return SSDLiteFeatureExtractorMobileNet(features, starts[-2], norm_layer)


def _first(
    weights: Any,
    num_classes: int,
    layers: int | None,
    weights_backbone: Any,
    norm_layer: Callable[..., nn.Module] | None = None,
    **kwargs: Any,
) -> SSD:
    if "size" in kwargs:
        warn("The size of the model is already fixed; ignoring the parameter.")
        kwargs.pop("size")
    trained = weights is not None or weights_backbone is not None
    trainable = _validate_trainable_layers(trained, layers, 6, 6)
    norm = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.03)
    fresh = weights_backbone is None
    backbone = mobilenetv3.mobilenet_v3_large(weights=weights_backbone, norm_layer=norm, reduced_tail=fresh)
    if fresh:
        _normal_init(backbone)
    features = _mobilenet_extractor(backbone, trainable, norm)
    size = (320, 320)
    generator = DefaultBoxGenerator([[2, 3] for _ in range(6)], min_ratio=0.2, max_ratio=0.95)
    channels = det_utils.retrieve_out_channels(features, size)
    each = generator.num_anchors_per_location()
    own: dict[str, Any] = {"score_thresh": 0.001, "nms_thresh": 0.55, "detections_per_img": 300}
    own |= {"topk_candidates": 300, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}
    head = SSDLiteHead(channels, each, num_classes, norm)
    return SSD(features, generator, size, num_classes, head=head, **{**own, **kwargs})


ssdlite320_mobilenet_v3_large = detector(_first, "ssdlite320_mobilenet_v3_large", "mobilenet_v3_large")
__getattr__ = _api.enums(__name__)
