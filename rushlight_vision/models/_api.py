"""Models by name, and how a builder takes weights."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

from rushlight_vision._packages import NamesakePackage
from rushlight_vision.models import weights as _weights
from rushlight_vision.models._legacy import called_as_before
from rushlight_vision.models.weights import Weights as Weights, WeightsEnum as WeightsEnum

# Where classes and builders are; the modules' own names are there, too.
_FAMILIES = {
    "alexnet": "AlexNet alexnet",
    "convnext": "ConvNeXt convnext_tiny convnext_small convnext_base convnext_large",
    "detection.faster_rcnn": "FasterRCNN fasterrcnn_resnet50_fpn fasterrcnn_resnet50_fpn_v2 "
    "fasterrcnn_mobilenet_v3_large_fpn fasterrcnn_mobilenet_v3_large_320_fpn",
    "detection.fcos": "FCOS fcos_resnet50_fpn",
    "detection.keypoint_rcnn": "KeypointRCNN keypointrcnn_resnet50_fpn",
    "detection.mask_rcnn": "MaskRCNN maskrcnn_resnet50_fpn maskrcnn_resnet50_fpn_v2",
    "detection.retinanet": "RetinaNet retinanet_resnet50_fpn retinanet_resnet50_fpn_v2",
    "detection.ssd": "ssd300_vgg16",
    "detection.ssdlite": "ssdlite320_mobilenet_v3_large",
    "densenet": "DenseNet densenet121 densenet161 densenet169 densenet201",
    "efficientnet": "EfficientNet efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3 "
    "efficientnet_b4 efficientnet_b5 efficientnet_b6 efficientnet_b7 efficientnet_v2_s "
    "efficientnet_v2_m efficientnet_v2_l",
    "googlenet": "GoogLeNet GoogLeNetOutputs googlenet",
    "inception": "Inception3 InceptionOutputs _InceptionOutputs inception_v3",
    "maxvit": "MaxVit maxvit_t",
    "mnasnet": "MNASNet mnasnet0_5 mnasnet0_75 mnasnet1_0 mnasnet1_3",
    "mobilenetv2": "MobileNetV2 mobilenet_v2",
    "mobilenetv3": "MobileNetV3 mobilenet_v3_large mobilenet_v3_small",
    "regnet": "RegNet regnet_x_400mf regnet_x_800mf regnet_x_1_6gf regnet_x_3_2gf regnet_x_8gf regnet_x_16gf "
    "regnet_x_32gf regnet_y_400mf regnet_y_800mf regnet_y_1_6gf regnet_y_3_2gf regnet_y_8gf "
    "regnet_y_16gf regnet_y_32gf regnet_y_128gf",
    "resnet": "ResNet resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d resnext101_32x8d "
    "resnext101_64x4d wide_resnet50_2 wide_resnet101_2",
    "segmentation.deeplabv3": "DeepLabV3 deeplabv3_mobilenet_v3_large deeplabv3_resnet50 deeplabv3_resnet101",
    "segmentation.fcn": "FCN fcn_resnet50 fcn_resnet101",
    "segmentation.lraspp": "LRASPP lraspp_mobilenet_v3_large",
    "shufflenetv2": "ShuffleNetV2 shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5 "
    "shufflenet_v2_x2_0",
    "squeezenet": "SqueezeNet squeezenet1_0 squeezenet1_1",
    "swin_transformer": "SwinTransformer swin_t swin_s swin_b swin_v2_t swin_v2_s swin_v2_b",
    "vgg": "VGG vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn",
    "video.resnet": "VideoResNet mc3_18 r2plus1d_18 r3d_18",
    "video.s3d": "S3D s3d",
    "vision_transformer": "VisionTransformer vit_b_16 vit_b_32 vit_l_16 vit_l_32 vit_h_14",
}
HOMES = {name: module for module, names in _FAMILIES.items() for name in names.split()}
HOMES |= {
    name: name
    for name in (*_FAMILIES, "detection", "feature_extraction", "segmentation", "video")
    if name not in HOMES and "." not in name
}
_BUILDERS = sorted(name for name in HOMES if name in _weights.BUILDERS)
# What programs register themselves, by name.
BUILTIN_MODELS: dict[str, Callable[..., Any]] = {}


def enums(module: str) -> Callable[[str], Any]:
    """__getattr__ of a module that has enums of weights."""

    def __getattr__(name: str) -> Any:
        if name in _weights.ENUMS:
            return _weights.enum(name)
        return import_module("rushlight._engine.names.alternatives").attribute(module, name)

    return __getattr__


def package(name: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """__getattr__ and __dir__ of a package of families below `torchvision.models`."""
    own = name.rpartition(".")[2]
    here = {k: home for k, home in HOMES.items() if home.startswith(f"{own}.")}
    kinds = sorted(kind for kind, builder in _weights.ENUMS.items() if builder in here)
    modules = {home.partition(".")[2] for home in here.values()}
    sys.modules[name].__class__ = NamesakePackage  # `video.s3d` is the function

    def __getattr__(name: str) -> Any:
        if name in kinds:
            return _weights.enum(name)
        if name in here:
            return getattr(import_module(f"rushlight_vision.models.{here[name]}"), name)
        if name in modules:
            return import_module(f"rushlight_vision.models.{own}.{name}")
        alternatives = import_module("rushlight._engine.names.alternatives")
        try:
            return alternatives.attribute(f"rushlight_vision.models.{own}", name)
        except AttributeError as error:
            raise AttributeError(f"{error}; there are {', '.join(sorted(here))}") from None

    def __dir__() -> list[str]:
        return sorted([*here, *kinds, *modules])

    return __getattr__, __dir__


def register_model(name: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: `get_model` knows the function by `name`, or by its own. ValueError for a known name."""

    def known(function: Callable[..., Any]) -> Callable[..., Any]:
        own = function.__name__ if name is None else name
        if own in BUILTIN_MODELS or own in _BUILDERS:
            raise ValueError(f"An entry is already registered under the name '{own}'.")
        BUILTIN_MODELS[own] = function
        return function

    return known


def build(
    cls: Callable[..., Any],
    builder: str,
    weights: Any,
    progress: bool,
    kwargs: dict[str, Any],
    fixed: dict[str, Any],
) -> Any:
    """cls(**kwargs), with the builder's weights in it where some are asked for; they need what is `fixed`."""
    chosen = _weights.of_builder(builder).verify(weights)
    if chosen is None:
        return cls(**kwargs)
    for name, value in fixed.items():
        given = kwargs.get(name)
        if given is not None and given != value:
            raise ValueError(f"The parameter '{name}' expected value {value} but got {given} instead.")
    model = cls(**{**kwargs, **fixed})
    model.load_state_dict(chosen.get_state_dict(progress=progress, check_hash=True))
    return model


def builder(
    cls: Callable[..., Any], name: str, fixed: dict[str, Any] | None = None, **config: Any
) -> Callable[..., Any]:
    """A function of torchvision's: NAME(*, weights=None, progress=True, **kwargs) gives a model.

    `fixed`: arguments that its weights were trained with, by default 1000 classes.
    """

    def make(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> Any:
        needs = {"num_classes": 1000} if fixed is None else fixed
        return build(cls, name, weights, progress, {**config, **kwargs}, needs)

    what = f"a {getattr(cls, '__name__', 'model')}; `weights` as the module says"
    return named(make, name, what)


def named(
    make: Callable[..., Any],
    name: str,
    what: str,
    order: Sequence[str] = ("weights", "progress"),
    backbone: tuple[str, str] | None = None,
) -> Callable[..., Any]:
    """`make` as torchvision's builder of this name, which may be called as before weights had names, too.

    `order`: options that may come by their place; `backbone`: a builder and its weights, which
    `pretrained_backbone=True` means.
    """
    make.__name__ = make.__qualname__ = name
    make.__module__ = f"torchvision.models.{HOMES[name]}"
    make.__doc__ = f"{name}: {what}."
    older = {"weights": ("pretrained", lambda kwargs: _weights.before(name))}
    if backbone is not None:
        below, entry = backbone
        older["weights_backbone"] = (
            "pretrained_backbone",
            lambda kwargs: _weights.of_builder(below)[entry],
        )
    return called_as_before(order, make, older)


def get_model_builder(name: str) -> Callable[..., Any]:
    """The builder of this name, in any case. ValueError where there is none."""
    found = name.lower()
    if found in BUILTIN_MODELS:
        return BUILTIN_MODELS[found]
    if found not in _BUILDERS:
        raise ValueError(f"Unknown model {found}")
    home = import_module(f"rushlight_vision.models.{HOMES[found]}")
    result: Callable[..., Any] = getattr(home, found)
    return result


def get_model(name: str, **config: Any) -> Any:
    """The model of this name."""
    return get_model_builder(name)(**config)


def get_model_weights(name: Any) -> Any:
    """The enum of a model's weights, by its name or builder."""
    return _weights.of_builder(name if isinstance(name, str) else name.__name__)


def get_weight(name: str) -> Any:
    """An entry by its full name: "ResNet18_Weights.IMAGENET1K_V1"."""
    kind, _, entry = name.partition(".")
    if not entry:
        raise ValueError(f"Invalid weight name provided: '{name}'.")
    if kind not in _weights.ENUMS:
        raise ValueError(f"The weight enum '{kind}' for the specific method couldn't be retrieved.")
    return _weights.enum(kind)[entry]


def list_models(
    module: Any = None,
    include: Iterable[str] | str | None = None,
    exclude: Iterable[str] | str | None = None,
) -> list[str]:
    """Names of models that match a pattern of `include` and none of `exclude`.

    `module`: `torchvision.models`, `torchvision.models.segmentation`, or None for both.
    """
    homes = {n: f".models.{HOMES[n]}".rpartition(".")[0] for n in _BUILDERS}
    names = [n for n, home in homes.items() if module is None or module.__name__.endswith(home)]
    names += [
        n
        for n, made in BUILTIN_MODELS.items()
        if module is None or made.__module__.rpartition(".")[0] == module.__name__
    ]

    def of(patterns: Any) -> set[str]:
        patterns = [patterns] if isinstance(patterns, str) else patterns or ()
        return {n for p in patterns for n in fnmatch.filter(names, p)}

    kept = of(include) if include else set(names)
    return sorted(kept - of(exclude))


__all__ = [
    "Weights",
    "WeightsEnum",
    "get_model",
    "get_model_builder",
    "get_model_weights",
    "get_weight",
    "list_models",
]
