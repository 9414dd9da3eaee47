"""What detectors share: samples for training, boxes as numbers to learn, and which box is whose."""

from __future__ import annotations

import math
from collections import OrderedDict

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight_vision.ops.ciou_loss import complete_box_iou_loss
from rushlight_vision.ops.giou_loss import generalized_box_iou_loss
from rushlight_vision.ops.misc import FrozenBatchNorm2d


class BalancedPositiveNegativeSampler:
    """Draws boxes of each image such that a fixed part of them has objects, as far as there are any."""

    def __init__(self, batch_size_per_image: int, positive_fraction: float) -> None:
        self.batch_size_per_image, self.positive_fraction = batch_size_per_image, positive_fraction

    def __call__(self, matched_idxs: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """matched_idxs: (L,) for each image, at least 1 where there is an object, 0 where there is none.

        Gives masks (L,) uint8 of those drawn with objects, and of those drawn without.
        """
        masks: tuple[list[Tensor], list[Tensor]] = ([], [])
        for matched in matched_idxs:
            positive, negative = torch.where(matched >= 1)[0], torch.where(matched == 0)[0]
            most = min(positive.numel(), int(self.batch_size_per_image * self.positive_fraction))
            counts = most, min(negative.numel(), self.batch_size_per_image - most)
            for kept, found, count in zip(masks, (positive, negative), counts, strict=True):
                drawn = found[torch.randperm(found.numel(), device=found.device)[:count]]
                mask = torch.zeros_like(matched, dtype=torch.uint8)
                mask[drawn] = 1
                kept.append(mask)
        return masks


def _centres(boxes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Widths, heights, and the centres' x and y."""
    width, height = boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]
    return width, height, boxes[..., 0] + 0.5 * width, boxes[..., 1] + 0.5 * height


def encode_boxes(reference_boxes: Tensor, proposals: Tensor, weights: Tensor) -> Tensor:
    """What leads from proposals to reference boxes (N, 4): Girshick et al., CVPR 2014, equations 6 to 9."""
    width, height, x, y = _centres(proposals)
    to_width, to_height, to_x, to_y = _centres(reference_boxes)
    return torch.stack(
        (
            weights[0] * (to_x - x) / width,
            weights[1] * (to_y - y) / height,
            weights[2] * torch.log(to_width / width),
            weights[3] * torch.log(to_height / height),
        ),
        dim=1,
    )


class BoxCoder:
    """Boxes as shifts of centres and logarithms of sizes, each times a weight."""

    def __init__(
        self,
        weights: tuple[float, float, float, float],
        bbox_xform_clip: float = math.log(1000.0 / 16),
    ) -> None:
        self.weights, self.bbox_xform_clip = weights, bbox_xform_clip

    def encode(self, reference_boxes: list[Tensor], proposals: list[Tensor]) -> tuple[Tensor, ...]:
        """For each image, what leads from its proposals to the reference boxes, (L, 4) each."""
        targets = self.encode_single(torch.cat(reference_boxes, dim=0), torch.cat(proposals, dim=0))
        found: tuple[Tensor, ...] = targets.split([len(boxes) for boxes in reference_boxes], 0)
        return found

    def encode_single(self, reference_boxes: Tensor, proposals: Tensor) -> Tensor:
        """The same for boxes (N, 4)."""
        weights = torch.as_tensor(self.weights, dtype=reference_boxes.dtype, device=reference_boxes.device)
        return encode_boxes(reference_boxes, proposals, weights)

    def decode(self, rel_codes: Tensor, boxes: list[Tensor]) -> Tensor:
        """Boxes (L, classes, 4) that codes (L, classes * 4) lead to from those of all images."""
        torch._assert(isinstance(boxes, (list, tuple)), "This function expects boxes of type list or tuple.")
        torch._assert(isinstance(rel_codes, Tensor), "This function expects rel_codes of type torch.Tensor.")
        count = sum(len(b) for b in boxes)
        codes = rel_codes.reshape(count, -1) if count else rel_codes
        found = self.decode_single(codes, torch.cat(list(boxes), dim=0))
        return found.reshape(count, -1, 4) if count else found

    def decode_single(self, rel_codes: Tensor, boxes: Tensor) -> Tensor:
        """The same, (N, classes * 4), for boxes (N, 4)."""
        boxes = boxes.to(rel_codes.dtype)
        width, height, x, y = (t[:, None] for t in _centres(boxes))
        dx, dy, dw, dh = (rel_codes[:, i::4] / weight for i, weight in enumerate(self.weights))
        dw, dh = (torch.clamp(t, max=self.bbox_xform_clip) for t in (dw, dh))
        to_x, to_y = dx * width + x, dy * height + y
        half_height, half_width = (
            torch.tensor(0.5, dtype=to_x.dtype, device=to_x.device) * torch.exp(t) * side
            for t, side in ((dh, height), (dw, width))
        )
        corners = (to_x - half_width, to_y - half_height, to_x + half_width, to_y + half_height)
        return torch.stack(corners, dim=2).flatten(1)


class BoxLinearCoder:
    """Boxes as the distances of their sides from the centres of other boxes (Tian et al., ICCV 2019)."""

    def __init__(self, normalize_by_size: bool = True) -> None:
        self.normalize_by_size = normalize_by_size

    def encode(self, reference_boxes: Tensor, proposals: Tensor) -> Tensor:
        """The sides (..., 4) of proposals, seen from the centres of reference boxes (..., 4)."""
        centre = 0.5 * (reference_boxes[..., :2] + reference_boxes[..., 2:])
        found = torch.cat((centre - proposals[..., :2], proposals[..., 2:] - centre), dim=-1)
        return found / self._sizes(reference_boxes) if self.normalize_by_size else found

    def decode(self, rel_codes: Tensor, boxes: Tensor) -> Tensor:
        """The boxes whose sides are so far from the centres of `boxes`."""
        boxes = boxes.to(dtype=rel_codes.dtype)
        centre = 0.5 * (boxes[..., :2] + boxes[..., 2:])
        codes = rel_codes * self._sizes(boxes) if self.normalize_by_size else rel_codes
        return torch.cat((centre - codes[..., :2], centre + codes[..., 2:]), dim=-1)

    @staticmethod
    def _sizes(boxes: Tensor) -> Tensor:
        sides = boxes[..., 2:] - boxes[..., :2]
        return torch.cat((sides, sides), dim=-1)


class Matcher:
    """Gives each prediction the object that it fits best: its index, or which of two misses it is."""

    BELOW_LOW_THRESHOLD = -1
    BETWEEN_THRESHOLDS = -2

    def __init__(
        self, high_threshold: float, low_threshold: float, allow_low_quality_matches: bool = False
    ) -> None:
        torch._assert(low_threshold <= high_threshold, "low_threshold should be <= high_threshold")
        self.high_threshold, self.low_threshold = high_threshold, low_threshold
        self.allow_low_quality_matches = allow_low_quality_matches

    def __call__(self, match_quality_matrix: Tensor) -> Tensor:
        """match_quality_matrix: (objects, predictions); gives indices (predictions,) int64, -1 of those worse
        than the low threshold, -2 of those between both.
        """
        if match_quality_matrix.numel() == 0:
            what = "proposal" if match_quality_matrix.shape[0] else "ground-truth"
            raise ValueError(f"No {what} boxes available for one of the images during training")
        values, best = match_quality_matrix.max(dim=0)
        between = (values >= self.low_threshold) & (values < self.high_threshold)
        matches = torch.where(values < self.low_threshold, self.BELOW_LOW_THRESHOLD, best)
        matches = torch.where(between, self.BETWEEN_THRESHOLDS, matches)
        if self.allow_low_quality_matches:
            self.set_low_quality_matches_(matches, best, match_quality_matrix)
        return matches

    def set_low_quality_matches_(
        self, matches: Tensor, all_matches: Tensor, match_quality_matrix: Tensor
    ) -> None:
        """Predictions that fit some object better than all others do, ties among them, get their best."""
        highest = match_quality_matrix.max(dim=1)[0]
        predictions = torch.where(match_quality_matrix == highest[:, None])[1]
        matches[predictions] = all_matches[predictions]


class SSDMatcher(Matcher):
    """One threshold; the best prediction of each object is that object's."""

    def __init__(self, threshold: float) -> None:
        super().__init__(threshold, threshold, allow_low_quality_matches=False)

    def __call__(self, match_quality_matrix: Tensor) -> Tensor:
        """match_quality_matrix: (objects, predictions); gives indices (predictions,) int64."""
        matches = super().__call__(match_quality_matrix)
        best = match_quality_matrix.max(dim=1)[1]
        matches[best] = torch.arange(best.size(0), dtype=torch.int64, device=best.device)
        return matches


def overwrite_eps(model: nn.Module, eps: float) -> None:
    """Another eps for the frozen norms: older weights were trained with 0."""
    for module in model.modules():
        if isinstance(module, FrozenBatchNorm2d):
            module.eps = eps


def retrieve_out_channels(model: nn.Module, size: tuple[int, int]) -> list[int]:
    """The channels of each feature map that a model gives for images of (width, height)."""
    was_training = model.training
    model.eval()
    with torch.no_grad():
        device = next(model.parameters()).device
        features = model(torch.zeros((1, 3, size[1], size[0]), device=device))
    model.train(was_training)
    if isinstance(features, Tensor):
        features = OrderedDict([("0", features)])
    return [x.size(1) for x in features.values()]


def _topk_min(input: Tensor, orig_kval: int, axis: int) -> int:
    """How many of the `orig_kval` best there can be along an axis."""
    return min(orig_kval, input.size(axis))


def _box_loss(
    type: str,
    box_coder: BoxCoder,
    anchors_per_image: Tensor,
    matched_gt_boxes_per_image: Tensor,
    bbox_regression_per_image: Tensor,
    cnf: dict[str, float] | None = None,
) -> Tensor:
    """The sum of a loss of boxes: "l1", "smooth_l1" (of codes), "ciou" or "giou" (of boxes)."""
    torch._assert(type in ["l1", "smooth_l1", "ciou", "giou"], f"Unsupported loss: {type}")
    options = cnf or {}
    if type in ("l1", "smooth_l1"):
        target = box_coder.encode_single(matched_gt_boxes_per_image, anchors_per_image)
        if type == "l1":
            return F.l1_loss(bbox_regression_per_image, target, reduction="sum")
        beta = options.get("beta", 1.0)
        return F.smooth_l1_loss(bbox_regression_per_image, target, reduction="sum", beta=beta)
    boxes = box_coder.decode_single(bbox_regression_per_image, anchors_per_image)
    loss = complete_box_iou_loss if type == "ciou" else generalized_box_iou_loss
    return loss(boxes, matched_gt_boxes_per_image, reduction="sum", eps=options.get("eps", 1e-7))
