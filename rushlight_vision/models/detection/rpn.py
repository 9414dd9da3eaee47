"""Region proposals: Ren et al., "Faster R-CNN", NeurIPS 2015, section 3.1."""

from __future__ import annotations

from typing import Any

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight_vision.models.detection import _utils as det_utils
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator as AnchorGenerator
from rushlight_vision.models.detection.image_list import ImageList
from rushlight_vision.ops import boxes as box_ops
from rushlight_vision.ops.misc import Conv2dNormActivation


class RPNHead(nn.Module):
    """For each box at each place, whether it has an object, and how it should be moved."""

    _version = 2

    def __init__(self, in_channels: int, num_anchors: int, conv_depth: int = 1) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            *(
                Conv2dNormActivation(in_channels, in_channels, kernel_size=3, norm_layer=None)
                for _ in range(conv_depth)
            )
        )
        self.cls_logits = nn.Conv2d(in_channels, num_anchors, kernel_size=1, stride=1)
        self.bbox_pred = nn.Conv2d(in_channels, num_anchors * 4, kernel_size=1, stride=1)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, std=0.01)
                if layer.bias is not None:
                    nn.init.constant_(layer.bias, 0)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *args: Any
    ) -> None:
        if (local_metadata.get("version") or 1) < 2:
            for kind in ("weight", "bias"):
                older = f"{prefix}conv.{kind}"
                if older in state_dict:
                    state_dict[f"{prefix}conv.0.0.{kind}"] = state_dict.pop(older)
        load: Any = getattr(super(), "_load_from_state_dict")
        load(state_dict, prefix, local_metadata, *args)

    def forward(self, x: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """x: feature maps (N, in_channels, H, W); gives (N, boxes, H, W) and (N, boxes * 4, H, W) of each."""
        features = [self.conv(feature) for feature in x]
        return [self.cls_logits(t) for t in features], [self.bbox_pred(t) for t in features]


def permute_and_flatten(layer: Tensor, N: int, A: int, C: int, H: int, W: int) -> Tensor:
    """(N, A * C, H, W) as (N, H * W * A, C)."""
    return layer.view(N, -1, C, H, W).permute(0, 3, 4, 1, 2).reshape(N, -1, C)


def concat_box_prediction_layers(
    box_cls: list[Tensor], box_regression: list[Tensor]
) -> tuple[Tensor, Tensor]:
    """All maps' answers as rows: (boxes of all images, classes) and (the same, 4)."""
    classes, boxes = [], []
    for scores, moves in zip(box_cls, box_regression, strict=True):
        n, width, h, w = scores.shape
        count = moves.shape[1] // 4
        classes.append(permute_and_flatten(scores, n, count, width // count, h, w))
        boxes.append(permute_and_flatten(moves, n, count, 4, h, w))
    return torch.cat(classes, dim=1).flatten(0, -2), torch.cat(boxes, dim=1).reshape(-1, 4)


class RegionProposalNetwork(nn.Module):
    """Moves boxes to where objects may be, and keeps the best of them."""

    def __init__(
        self,
        anchor_generator: nn.Module,
        head: nn.Module,
        fg_iou_thresh: float,
        bg_iou_thresh: float,
        batch_size_per_image: int,
        positive_fraction: float,
        pre_nms_top_n: dict[str, int],
        post_nms_top_n: dict[str, int],
        nms_thresh: float,
        score_thresh: float = 0.0,
    ) -> None:
        super().__init__()
        self.anchor_generator, self.head = anchor_generator, head
        self.box_coder = det_utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self.box_similarity = box_ops.box_iou
        self.proposal_matcher = det_utils.Matcher(
            fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True
        )
        self.fg_bg_sampler = det_utils.BalancedPositiveNegativeSampler(
            batch_size_per_image, positive_fraction
        )
        self._pre_nms_top_n, self._post_nms_top_n = pre_nms_top_n, post_nms_top_n
        self.nms_thresh, self.score_thresh, self.min_size = nms_thresh, score_thresh, 1e-3

    def pre_nms_top_n(self) -> int:
        """How many boxes of each map are looked at."""
        return self._pre_nms_top_n["training" if self.training else "testing"]

    def post_nms_top_n(self) -> int:
        """How many boxes of an image are kept."""
        return self._post_nms_top_n["training" if self.training else "testing"]

    def assign_targets_to_anchors(
        self, anchors: list[Tensor], targets: list[dict[str, Tensor]]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Labels (L,) of each image's boxes, 1, 0, or -1 for what is between, and the objects (L, 4)."""
        labels, matched = [], []
        for boxes, target in zip(anchors, targets, strict=True):
            objects = target["boxes"]
            if objects.numel() == 0:
                matched.append(torch.zeros(boxes.shape, dtype=torch.float32, device=boxes.device))
                labels.append(torch.zeros(boxes.shape[:1], dtype=torch.float32, device=boxes.device))
                continue
            found = self.proposal_matcher(self.box_similarity(objects, boxes))
            matched.append(objects[found.clamp(min=0)])
            label = (found >= 0).to(dtype=torch.float32)
            label[found == self.proposal_matcher.BETWEEN_THRESHOLDS] = -1.0
            labels.append(label)
        return labels, matched

    def _get_top_n_idx(self, objectness: Tensor, num_anchors_per_level: list[int]) -> Tensor:
        found, offset = [], 0
        for scores in objectness.split(num_anchors_per_level, 1):
            count = det_utils._topk_min(scores, self.pre_nms_top_n(), 1)
            found.append(scores.topk(count, dim=1)[1] + offset)
            offset += scores.shape[1]
        return torch.cat(found, dim=1)

    def filter_proposals(
        self,
        proposals: Tensor,
        objectness: Tensor,
        image_shapes: list[tuple[int, int]],
        num_anchors_per_level: list[int],
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The best of proposals (N, L, 4) and their scores, for each image."""
        count, device = proposals.shape[0], proposals.device
        objectness = objectness.detach().reshape(count, -1)
        levels = torch.cat(
            [
                torch.full((n,), i, dtype=torch.int64, device=device)
                for i, n in enumerate(num_anchors_per_level)
            ]
        ).expand_as(objectness)
        top = self._get_top_n_idx(objectness, num_anchors_per_level)
        rows = torch.arange(count, device=device)[:, None]
        chosen = zip(
            proposals[rows, top], torch.sigmoid(objectness[rows, top]), levels[rows, top], strict=True
        )
        final_boxes, final_scores = [], []
        for (boxes, scores, level), shape in zip(chosen, image_shapes, strict=True):
            boxes = box_ops.clip_boxes_to_image(boxes, shape)
            keep = box_ops.remove_small_boxes(boxes, self.min_size)
            keep = keep[scores[keep] >= self.score_thresh]
            boxes, scores, level = boxes[keep], scores[keep], level[keep]
            keep = box_ops.batched_nms(boxes, scores, level, self.nms_thresh)[: self.post_nms_top_n()]
            final_boxes.append(boxes[keep])
            final_scores.append(scores[keep])
        return final_boxes, final_scores

    def compute_loss(
        self,
        objectness: Tensor,
        pred_bbox_deltas: Tensor,
        labels: list[Tensor],
        regression_targets: list[Tensor],
    ) -> tuple[Tensor, Tensor]:
        """The losses of whether there is an object, and of where it is, over drawn boxes."""
        positive, negative = (torch.where(torch.cat(m))[0] for m in self.fg_bg_sampler(labels))
        drawn = torch.cat([positive, negative], dim=0)
        targets = torch.cat(regression_targets, dim=0)
        box_loss = F.smooth_l1_loss(
            pred_bbox_deltas[positive], targets[positive], beta=1 / 9, reduction="sum"
        )
        scores = F.binary_cross_entropy_with_logits(
            objectness.flatten()[drawn], torch.cat(labels, dim=0)[drawn]
        )
        return scores, box_loss / drawn.numel()

    def forward(
        self,
        images: ImageList,
        features: dict[str, Tensor],
        targets: list[dict[str, Tensor]] | None = None,
    ) -> tuple[list[Tensor], dict[str, Tensor]]:
        """Boxes (L, 4) for each image, and losses while training."""
        maps = list(features.values())
        objectness, deltas = self.head(maps)
        anchors = self.anchor_generator(images, maps)
        per_level = [o[0].numel() for o in objectness]
        scores, moves = concat_box_prediction_layers(objectness, deltas)
        proposals = self.box_coder.decode(moves.detach(), anchors).view(len(anchors), -1, 4)
        boxes, _ = self.filter_proposals(proposals, scores, images.image_sizes, per_level)
        if not self.training:
            return boxes, {}
        if targets is None:
            raise ValueError("targets should not be None")
        labels, matched = self.assign_targets_to_anchors(anchors, targets)
        wanted = list(self.box_coder.encode(matched, anchors))
        loss_objectness, loss_box = self.compute_loss(scores, moves, labels, wanted)
        return boxes, {"loss_objectness": loss_objectness, "loss_rpn_box_reg": loss_box}
