"""How a detector is made of its own weights, or of those of the classifier that its features come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rushlight import nn
from rushlight_vision.models import _api, mobilenetv3, resnet
from rushlight_vision.models.detection._utils import overwrite_eps
from rushlight_vision.models.detection.backbone_utils import (
    _mobilenet_extractor,
    _resnet_fpn_extractor,
    _validate_trainable_layers,
)
from rushlight_vision.ops.misc import FrozenBatchNorm2d


def resnet_features(
    weights: Any,
    weights_backbone: Any,
    layers: int | None,
    plain: bool = False,
    extra: Callable[[], Any] | None = None,
    **options: Any,
) -> Any:
    """A pyramid on ResNet-50, whose norms are frozen where there are weights, unless `plain` says otherwise.

    `extra` makes the blocks of coarser levels.
    """
    trained = weights is not None or weights_backbone is not None
    trainable = _validate_trainable_layers(trained, layers, 5, 3)
    norm: Any = FrozenBatchNorm2d if trained and not plain else nn.BatchNorm2d
    backbone = resnet.resnet50(weights=weights_backbone, norm_layer=norm)
    if extra is not None:
        options["extra_blocks"] = extra()
    return _resnet_fpn_extractor(backbone, trainable, **options)


def mobile_features(weights: Any, weights_backbone: Any, layers: int | None) -> Any:
    """A pyramid on MobileNetV3."""
    trained = weights is not None or weights_backbone is not None
    trainable = _validate_trainable_layers(trained, layers, 6, 3)
    norm: Any = FrozenBatchNorm2d if trained else nn.BatchNorm2d
    backbone = mobilenetv3.mobilenet_v3_large(weights=weights_backbone, norm_layer=norm)
    return _mobilenet_extractor(backbone, True, trainable)


def detector(
    make: Callable[..., Any],
    name: str,
    backbone: str,
    eps: Mapping[str, float] | None = None,
    classes: int = 91,
    default: str = "IMAGENET1K_V1",
) -> Callable[..., Any]:
    """A function of torchvision's, of make(weights, classes, layers that learn, the backbone's weights, ...).

    `eps`: what frozen norms add to variances where weights of that name were trained so; `classes`: how many
    the weights know, with the background; `default`: the backbone's weights where nothing is said.
    """

    def build(
        *,
        weights: Any = None,
        progress: bool = True,
        num_classes: int | None = None,
        weights_backbone: Any = default,
        trainable_backbone_layers: int | None = None,
        **kwargs: Any,
    ) -> Any:
        chosen = _api.get_model_weights(name).verify(weights)
        below = _api.get_model_weights(backbone).verify(weights_backbone)
        if chosen is not None:
            below = None
            if num_classes not in (None, classes):
                raise ValueError(
                    f"The parameter 'num_classes' expected value {classes} but got {num_classes} instead."
                )
        count = classes if num_classes is None else num_classes
        model = make(chosen, count, trainable_backbone_layers, below, **kwargs)
        if chosen is not None:
            model.load_state_dict(chosen.get_state_dict(progress=progress, check_hash=True))
            if eps and chosen.name in eps:
                overwrite_eps(model, eps[chosen.name])
        return model

    what = "a detector; `weights` and `weights_backbone` as the module says"
    order = ("weights", "progress", "num_classes", "weights_backbone", "trainable_backbone_layers")
    return _api.named(build, name, what, order, (backbone, default))
