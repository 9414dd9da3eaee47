"""SSD: Liu et al., "Single Shot MultiBox Detector", ECCV 2016."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight._engine.core.callers import warn
from rushlight_vision.models import _api, vgg
from rushlight_vision.models.detection import _utils as det_utils
from rushlight_vision.models.detection._builders import detector
from rushlight_vision.models.detection._single import SingleStage, rows, without_overlaps
from rushlight_vision.models.detection.anchor_utils import DefaultBoxGenerator
from rushlight_vision.models.detection.backbone_utils import _validate_trainable_layers
from rushlight_vision.models.detection.retinanet import matches
from rushlight_vision.models.detection.transform import GeneralizedRCNNTransform
from rushlight_vision.ops import boxes as box_ops


def _xavier_init(conv: nn.Module) -> None:
    for layer in conv.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.constant_(layer.bias, 0.0)


class SSDHead(nn.Module):
    """Classes and moves of the boxes of each level, by weights of its own."""

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int) -> None:
        super().__init__()
        self.classification_head: nn.Module = SSDClassificationHead(in_channels, num_anchors, num_classes)
        self.regression_head: nn.Module = SSDRegressionHead(in_channels, num_anchors)

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        """x: feature maps (N, C, H, W); gives "bbox_regression" (N, L, 4) and "cls_logits"."""
        return {"bbox_regression": self.regression_head(x), "cls_logits": self.classification_head(x)}


class SSDScoringHead(nn.Module):
    """A module for each level, `num_columns` numbers for each box."""

    def __init__(self, module_list: nn.ModuleList, num_columns: int) -> None:
        super().__init__()
        self.module_list, self.num_columns = module_list, num_columns

    def forward(self, x: list[Tensor]) -> Tensor:
        """x: feature maps (N, C, H, W); gives (N, L, num_columns)."""
        found = [rows(module(t), self.num_columns) for module, t in zip(self.module_list, x, strict=True)]
        return torch.cat(found, dim=1)


def _convolutions(in_channels: list[int], num_anchors: list[int], columns: int) -> nn.ModuleList:
    made = nn.ModuleList(
        nn.Conv2d(channels, columns * anchors, kernel_size=3, padding=1)
        for channels, anchors in zip(in_channels, num_anchors, strict=True)
    )
    _xavier_init(made)
    return made


class SSDClassificationHead(SSDScoringHead):
    """The class of each box."""

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int) -> None:
        super().__init__(_convolutions(in_channels, num_anchors, num_classes), num_classes)


class SSDRegressionHead(SSDScoringHead):
    """How each box should be moved."""

    def __init__(self, in_channels: list[int], num_anchors: list[int]) -> None:
        super().__init__(_convolutions(in_channels, num_anchors, 4), 4)


class SSD(SingleStage):
    """Features of several sizes, and a convolution on each of them."""

    def __init__(
        self,
        backbone: Any,
        anchor_generator: DefaultBoxGenerator,
        size: tuple[int, int],
        num_classes: int,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        head: Any = None,
        score_thresh: float = 0.01,
        nms_thresh: float = 0.45,
        detections_per_img: int = 200,
        iou_thresh: float = 0.5,
        topk_candidates: int = 400,
        positive_fraction: float = 0.25,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.backbone, self.anchor_generator = backbone, anchor_generator
        self.box_coder = det_utils.BoxCoder(weights=(10.0, 10.0, 5.0, 5.0))
        if head is None:
            channels = getattr(backbone, "out_channels", None)
            channels = det_utils.retrieve_out_channels(backbone, size) if channels is None else channels
            if len(channels) != len(anchor_generator.aspect_ratios):
                raise ValueError(
                    f"The length of the output channels from the backbone ({len(channels)}) do not match the "
                    "length of the anchor generator aspect ratios "
                    f"({len(anchor_generator.aspect_ratios)})"
                )
            head = SSDHead(channels, anchor_generator.num_anchors_per_location(), num_classes)
        self.head = head
        self.proposal_matcher = det_utils.SSDMatcher(iou_thresh)
        mean, std = image_mean or [0.485, 0.456, 0.406], image_std or [0.229, 0.224, 0.225]
        self.transform = GeneralizedRCNNTransform(
            min(size), max(size), mean, std, size_divisible=1, fixed_size=size, **kwargs
        )
        self.score_thresh, self.nms_thresh = score_thresh, nms_thresh
        self.detections_per_img, self.topk_candidates = detections_per_img, topk_candidates
        self.neg_to_pos_ratio = (1.0 - positive_fraction) / positive_fraction

    def compute_loss(
        self, targets: Any, head_outputs: Any, anchors: list[Tensor], matched_idxs: list[Tensor]
    ) -> dict[str, Tensor]:
        """Losses by the names "bbox_regression" and "classification", the latter over the objects and those
        other boxes that are classified worst.
        """
        logits = head_outputs["cls_logits"]
        count, box_losses, wanted = 0, [], []
        each = zip(targets, head_outputs["bbox_regression"], logits, anchors, matched_idxs, strict=True)
        for target, moves, scores, boxes, matched in each:
            foreground = torch.where(matched >= 0)[0]
            own = matched[foreground]
            count += own.numel()
            goal = self.box_coder.encode_single(target["boxes"][own], boxes[foreground])
            box_losses.append(F.smooth_l1_loss(moves[foreground], goal, reduction="sum"))
            classes = torch.zeros((scores.size(0),), dtype=target["labels"].dtype, device=scores.device)
            classes[foreground] = target["labels"][own]
            wanted.append(classes)
        all_wanted = torch.stack(wanted)
        losses = F.cross_entropy(logits.view(-1, logits.size(-1)), all_wanted.view(-1), reduction="none")
        losses = losses.view(all_wanted.size())
        objects = all_wanted > 0
        worst = torch.where(objects, float("-inf"), losses.detach()).sort(1, descending=True)[1]
        others = worst.sort(1)[1] < self.neg_to_pos_ratio * objects.sum(1, keepdim=True)
        count = max(1, count)
        return {
            "bbox_regression": torch.stack(box_losses).sum() / count,
            "classification": (losses[objects].sum() + losses[others].sum()) / count,
        }

    def losses(
        self, targets: Any, head_outputs: Any, anchors: list[Tensor], per_level: list[int]
    ) -> dict[str, Tensor]:
        """The losses by name."""
        matched = [
            matches(self.proposal_matcher, target["boxes"], boxes)
            for boxes, target in zip(anchors, targets, strict=True)
        ]
        return self.compute_loss(targets, head_outputs, anchors, matched)

    def detections(
        self, head_outputs: Any, anchors: list[Tensor], shapes: Any, per_level: list[int]
    ) -> list[dict[str, Tensor]]:
        """What is found in each image."""
        return self.postprocess_detections(head_outputs, anchors, shapes)

    def postprocess_detections(
        self, head_outputs: dict[str, Tensor], image_anchors: list[Tensor], image_shapes: Any
    ) -> list[dict[str, Tensor]]:
        """The best boxes of each class, for each image."""
        all_scores = F.softmax(head_outputs["cls_logits"], dim=-1)
        found = []
        each = zip(head_outputs["bbox_regression"], all_scores, image_anchors, image_shapes, strict=True)
        for moves, scores, anchors, shape in each:
            boxes = box_ops.clip_boxes_to_image(self.box_coder.decode_single(moves, anchors), shape)
            parts: tuple[list[Tensor], list[Tensor], list[Tensor]] = ([], [], [])
            for label in range(1, scores.size(-1)):
                own = scores[:, label]
                over = torch.where(own > self.score_thresh)[0]
                best, order = own[over].topk(det_utils._topk_min(over, self.topk_candidates, 0))
                values = boxes[over[order]], best, torch.full_like(best, label, dtype=torch.int64)
                for kept, value in zip(parts, values, strict=True):
                    kept.append(value)
            joined = [torch.cat(kept, dim=0) for kept in parts]
            found.append(
                without_overlaps(joined[0], joined[1], joined[2], self.nms_thresh, self.detections_per_img)
            )
        return found


def _step(first: int, inside: int, last: int, **options: Any) -> nn.Sequential:
    """A convolution of single pixels, and a larger one."""
    return nn.Sequential(
        nn.Conv2d(first, inside, kernel_size=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(inside, last, **options),
        nn.ReLU(inplace=True),
    )


class SSDFeatureExtractorVGG(nn.Module):
    """VGG-16's features, and smaller ones from them."""

    def __init__(self, backbone: Any, highres: bool) -> None:
        super().__init__()
        pools = [i for i, layer in enumerate(backbone) if isinstance(layer, nn.MaxPool2d)]
        _, _, third, fourth, _ = pools
        backbone[third].ceil_mode = True
        self.scale_weight = nn.Parameter(torch.ones(512) * 20)
        self.features = nn.Sequential(*backbone[:fourth])
        extra = nn.ModuleList(
            [
                _step(1024, 256, 512, kernel_size=3, padding=1, stride=2),
                _step(512, 128, 256, kernel_size=3, padding=1, stride=2),
                _step(256, 128, 256, kernel_size=3),
                _step(256, 128, 256, kernel_size=3),
            ]
        )
        if highres:
            extra.append(_step(256, 128, 256, kernel_size=4))
        _xavier_init(extra)
        fc = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=False),
            nn.Conv2d(512, 1024, kernel_size=3, padding=6, dilation=6),
            nn.ReLU(inplace=True),
            nn.Conv2d(1024, 1024, kernel_size=1),
            nn.ReLU(inplace=True),
        )
        _xavier_init(fc)
        extra.insert(0, nn.Sequential(*backbone[fourth:-1], fc))
        self.extra = extra

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """x: (N, 3, H, W); gives features by the names "0", "1", ..."""
        x = self.features(x)
        found = [self.scale_weight.view(1, -1, 1, 1) * F.normalize(x)]
        for block in self.extra:
            x = block(x)
            found.append(x)
        return OrderedDict((str(i), v) for i, v in enumerate(found))


def frozen_before(layers: Any, starts: list[int], trainable_layers: int) -> None:
    """Only the last `trainable_layers` of the parts that start at `starts` learn."""
    count = len(starts)
    torch._assert(
        0 <= trainable_layers <= count,
        f"trainable_layers should be in the range [0, {count}]. Instead got {trainable_layers}",
    )
    end = len(layers) if trainable_layers == 0 else starts[count - trainable_layers]
    for layer in list(layers)[:end]:
        for parameter in layer.parameters():
            parameter.requires_grad_(False)


def _vgg_extractor(backbone: Any, highres: bool, trainable_layers: int) -> SSDFeatureExtractorVGG:
    layers = backbone.features
    pools = [i for i, layer in enumerate(layers) if isinstance(layer, nn.MaxPool2d)]
    frozen_before(layers, [0, *pools][:-1], trainable_layers)
    return SSDFeatureExtractorVGG(layers, highres)


def _first(weights: Any, num_classes: int, layers: int | None, weights_backbone: Any, **kwargs: Any) -> SSD:
    if "size" in kwargs:
        warn("The size of the model is already fixed; ignoring the parameter.")
        kwargs.pop("size")
    trained = weights is not None or weights_backbone is not None
    trainable = _validate_trainable_layers(trained, layers, 5, 4)
    backbone = _vgg_extractor(vgg.vgg16(weights=weights_backbone), False, trainable)
    generator = DefaultBoxGenerator(
        [[2], [2, 3], [2, 3], [2, 3], [2], [2]],
        scales=[0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05],
        steps=[8, 16, 32, 64, 100, 300],
    )
    own = {"image_mean": [0.48235, 0.45882, 0.40784], "image_std": [1.0 / 255.0] * 3}
    return SSD(backbone, generator, (300, 300), num_classes, **{**own, **kwargs})


ssd300_vgg16 = detector(_first, "ssd300_vgg16", "vgg16", default="IMAGENET1K_FEATURES")
__getattr__ = _api.enums(__name__)
