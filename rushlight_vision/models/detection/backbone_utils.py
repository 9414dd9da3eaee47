"""Classifiers as what gives features at several scales."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight import Tensor, nn
from rushlight._engine.core.callers import warn
from rushlight_vision.models import _api, mobilenetv2, mobilenetv3, resnet
from rushlight_vision.models._legacy import handle_legacy_interface
from rushlight_vision.models._utils import IntermediateLayerGetter
from rushlight_vision.models.weights import before
from rushlight_vision.ops import misc as misc_nn_ops
from rushlight_vision.ops.feature_pyramid_network import (
    ExtraFPNBlock,
    FeaturePyramidNetwork,
    LastLevelMaxPool,
)


class BackboneWithFPN(nn.Module):
    """A pyramid of features on some layers of a model."""

    def __init__(
        self,
        backbone: nn.Module,
        return_layers: dict[str, str],
        in_channels_list: list[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        self.body = IntermediateLayerGetter(backbone, return_layers=return_layers)
        self.fpn = FeaturePyramidNetwork(
            in_channels_list=in_channels_list,
            out_channels=out_channels,
            extra_blocks=LastLevelMaxPool() if extra_blocks is None else extra_blocks,
            norm_layer=norm_layer,
        )
        self.out_channels = out_channels

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """x: (N, 3, H, W)."""
        found: dict[str, Tensor] = self.fpn(self.body(x))
        return found


@handle_legacy_interface(weights=("pretrained", lambda kwargs: before(kwargs["backbone_name"])))
def resnet_fpn_backbone(
    *,
    backbone_name: str,
    weights: Any,
    norm_layer: Any = misc_nn_ops.FrozenBatchNorm2d,
    trainable_layers: int = 3,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> BackboneWithFPN:
    """A pyramid on the ResNet of a name; its last `trainable_layers` (0 to 5) parts learn."""
    backbone = getattr(resnet, backbone_name)(weights=weights, norm_layer=norm_layer)
    return _resnet_fpn_extractor(backbone, trainable_layers, returned_layers, extra_blocks)


def _resnet_fpn_extractor(
    backbone: Any,
    trainable_layers: int,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
    norm_layer: Callable[..., nn.Module] | None = None,
) -> BackboneWithFPN:
    if trainable_layers < 0 or trainable_layers > 5:
        raise ValueError(f"Trainable layers should be in the range [0,5], got {trainable_layers}")
    learning = ["layer4", "layer3", "layer2", "layer1", "conv1"][:trainable_layers]
    if trainable_layers == 5:
        learning.append("bn1")
    for name, parameter in backbone.named_parameters():
        if not name.startswith(tuple(learning)) or not learning:
            parameter.requires_grad_(False)
    returned = [1, 2, 3, 4] if returned_layers is None else returned_layers
    if min(returned) <= 0 or max(returned) >= 5:
        raise ValueError(f"Each returned layer should be in the range [1,4]. Got {returned}")
    first = backbone.inplanes // 8
    return BackboneWithFPN(
        backbone,
        {f"layer{k}": str(v) for v, k in enumerate(returned)},
        [first * 2 ** (i - 1) for i in returned],
        256,
        extra_blocks=LastLevelMaxPool() if extra_blocks is None else extra_blocks,
        norm_layer=norm_layer,
    )


def _validate_trainable_layers(
    is_trained: bool, trainable_backbone_layers: int | None, max_value: int, default_value: int
) -> int:
    """How many layers learn: all of what has no weights yet."""
    if not is_trained:
        if trainable_backbone_layers is not None:
            warn(
                "Changing trainable_backbone_layers has no effect if "
                "neither pretrained nor pretrained_backbone have been set to True, "
                f"falling back to trainable_backbone_layers={max_value} so that all layers are trainable"
            )
        return max_value
    count = default_value if trainable_backbone_layers is None else trainable_backbone_layers
    if count < 0 or count > max_value:
        raise ValueError(f"Trainable backbone layers should be in the range [0,{max_value}], got {count} ")
    return count


@handle_legacy_interface(weights=("pretrained", lambda kwargs: before(kwargs["backbone_name"])))
def mobilenet_backbone(
    *,
    backbone_name: str,
    weights: Any,
    fpn: bool,
    norm_layer: Any = misc_nn_ops.FrozenBatchNorm2d,
    trainable_layers: int = 2,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> nn.Module:
    """Features of the MobileNet of a name, as a pyramid or not."""
    home: Any = mobilenetv3 if "v3" in backbone_name else mobilenetv2
    backbone = getattr(home, backbone_name)(weights=weights, norm_layer=norm_layer)
    return _mobilenet_extractor(backbone, fpn, trainable_layers, returned_layers, extra_blocks)


def stages(features: Any) -> list[int]:
    """Indices of the blocks where MobileNet's features change their size, and of the last one."""
    halving = [i for i, block in enumerate(features) if getattr(block, "_is_cn", False)]
    return [0, *halving, len(features) - 1]


def _mobilenet_extractor(
    backbone: Any,
    fpn: bool,
    trainable_layers: int,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
    norm_layer: Callable[..., nn.Module] | None = None,
) -> nn.Module:
    features = backbone.features
    starts = stages(features)
    count = len(starts)
    if trainable_layers < 0 or trainable_layers > count:
        raise ValueError(f"Trainable layers should be in the range [0,{count}], got {trainable_layers} ")
    frozen = features if trainable_layers == 0 else features[: starts[count - trainable_layers]]
    for parameter in frozen.parameters():
        parameter.requires_grad_(False)
    out_channels = 256
    if not fpn:
        last = nn.Conv2d(features[-1].out_channels, out_channels, 1)
        model: Any = nn.Sequential(features, last)
        model.out_channels = out_channels
        found: nn.Module = model
        return found
    returned = [count - 2, count - 1] if returned_layers is None else returned_layers
    if min(returned) < 0 or max(returned) >= count:
        raise ValueError(f"Each returned layer should be in the range [0,{count - 1}], got {returned} ")
    return BackboneWithFPN(
        features,
        {f"{starts[k]}": str(v) for v, k in enumerate(returned)},
        [features[starts[i]].out_channels for i in returned],
        out_channels,
        extra_blocks=LastLevelMaxPool() if extra_blocks is None else extra_blocks,
        norm_layer=norm_layer,
    )


__getattr__ = _api.enums(__name__)
