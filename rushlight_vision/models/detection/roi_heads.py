"""What is in each region: its class and box, its mask, its keypoints."""

from __future__ import annotations

from typing import Any

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight_vision.models.detection import _utils as det_utils
from rushlight_vision.ops import boxes as box_ops
from rushlight_vision.ops.roi_align import roi_align


def fastrcnn_loss(
    class_logits: Tensor, box_regression: Tensor, labels: list[Tensor], regression_targets: list[Tensor]
) -> tuple[Tensor, Tensor]:
    """The losses of classes and of boxes: class_logits (L, classes), box_regression (L, classes * 4)."""
    wanted, targets = torch.cat(labels, dim=0), torch.cat(regression_targets, dim=0)
    classification = F.cross_entropy(class_logits, wanted)
    positive = torch.where(wanted > 0)[0]
    boxes = box_regression.reshape(class_logits.shape[0], box_regression.size(-1) // 4, 4)
    found = boxes[positive, wanted[positive]]
    loss = F.smooth_l1_loss(found, targets[positive], beta=1 / 9, reduction="sum")
    return classification, loss / wanted.numel()


def maskrcnn_inference(x: Tensor, labels: list[Tensor]) -> tuple[Tensor, ...]:
    """The masks (L, 1, M, M) of each image's regions for their labels, of logits (all L, classes, M, M)."""
    rows = torch.arange(x.shape[0], device=x.device)
    masks = x.sigmoid()[rows, torch.cat(labels)][:, None]
    found: tuple[Tensor, ...] = masks.split([len(label) for label in labels], dim=0)
    return found


def project_masks_on_boxes(gt_masks: Tensor, boxes: Tensor, matched_idxs: Tensor, M: int) -> Tensor:
    """The parts (L, M, M) of masks (objects, H, W) that lie in boxes (L, 4)."""
    rois = torch.cat([matched_idxs.to(boxes)[:, None], boxes], dim=1)
    return roi_align(gt_masks[:, None].to(rois), rois, (M, M), 1.0)[:, 0]


def maskrcnn_loss(
    mask_logits: Tensor,
    proposals: list[Tensor],
    gt_masks: list[Tensor],
    gt_labels: list[Tensor],
    mask_matched_idxs: list[Tensor],
) -> Tensor:
    """The loss of masks: mask_logits (L, classes, M, M)."""
    size = mask_logits.shape[-1]
    labels = torch.cat([label[i] for label, i in zip(gt_labels, mask_matched_idxs, strict=True)], dim=0)
    targets = torch.cat(
        [
            project_masks_on_boxes(masks, boxes, i, size)
            for masks, boxes, i in zip(gt_masks, proposals, mask_matched_idxs, strict=True)
        ],
        dim=0,
    )
    if targets.numel() == 0:
        return mask_logits.sum() * 0
    rows = torch.arange(labels.shape[0], device=labels.device)
    return F.binary_cross_entropy_with_logits(mask_logits[rows, labels], targets)


def keypoints_to_heatmap(keypoints: Tensor, rois: Tensor, heatmap_size: int) -> tuple[Tensor, Tensor]:
    """Where on a map over its region (L, 4) each keypoint (L, K, 3) is, and whether it is there: (L, K)."""
    corner, end = rois[:, None, :2], rois[:, None, 2:]
    places = keypoints[..., :2]
    cells = ((places - corner) * (heatmap_size / (end - corner))).floor().long()
    cells = torch.where(places == end, heatmap_size - 1, cells)
    inside = ((cells >= 0) & (cells < heatmap_size)).all(-1)
    valid = (inside & (keypoints[..., 2] > 0)).long()
    return (cells[..., 1] * heatmap_size + cells[..., 0]) * valid, valid


def heatmaps_to_keypoints(maps: Tensor, rois: Tensor) -> tuple[Tensor, Tensor]:
    """Keypoints (L, K, 3) where maps (L, K, M, M) over regions (L, 4) are largest, and scores (L, K)."""
    sizes = (rois[:, 2:] - rois[:, :2]).clamp(min=1)
    whole = sizes.ceil()
    count = maps.shape[1]
    places = torch.zeros((len(rois), 3, count), dtype=torch.float32, device=maps.device)
    scores = torch.zeros((len(rois), count), dtype=torch.float32, device=maps.device)
    for i in range(len(rois)):  # each region has a size of its own
        width, height = int(whole[i, 0].item()), int(whole[i, 1].item())
        grown = F.interpolate(maps[i][:, None], size=(height, width), mode="bicubic", align_corners=False)[
            :, 0
        ]
        flat = grown.reshape(count, -1)
        best = flat.argmax(dim=1)
        x, y = best % width, torch.div(best, width, rounding_mode="floor")
        places[i, 0] = (x.float() + 0.5) * (sizes[i, 0] / whole[i, 0]) + rois[i, 0]
        places[i, 1] = (y.float() + 0.5) * (sizes[i, 1] / whole[i, 1]) + rois[i, 1]
        places[i, 2] = 1
        scores[i] = flat.gather(1, best[:, None])[:, 0]
    return places.permute(0, 2, 1), scores


def keypointrcnn_loss(
    keypoint_logits: Tensor,
    proposals: list[Tensor],
    gt_keypoints: list[Tensor],
    keypoint_matched_idxs: list[Tensor],
) -> Tensor:
    """The loss of keypoints: keypoint_logits (L, K, M, M)."""
    n, count, height, width = keypoint_logits.shape
    if height != width:
        raise ValueError(
            f"keypoint_logits height and width (last two elements of shape) should be equal. Instead got H = "
            f"{height} and W = {width}"
        )
    found = [
        keypoints_to_heatmap(keypoints[i], boxes, height)
        for boxes, keypoints, i in zip(proposals, gt_keypoints, keypoint_matched_idxs, strict=True)
    ]
    targets = torch.cat([cells.view(-1) for cells, _ in found], dim=0)
    valid = torch.where(torch.cat([there.view(-1) for _, there in found], dim=0).to(torch.uint8))[0]
    if targets.numel() == 0 or len(valid) == 0:
        return keypoint_logits.sum() * 0
    return F.cross_entropy(keypoint_logits.view(n * count, height * width)[valid], targets[valid])


def keypointrcnn_inference(x: Tensor, boxes: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Keypoints (L, K, 3) and scores (L, K) of each image's boxes."""
    parts = x.split([box.size(0) for box in boxes], dim=0)
    found = [heatmaps_to_keypoints(maps, box) for maps, box in zip(parts, boxes, strict=True)]
    return [places for places, _ in found], [scores for _, scores in found]


def expand_boxes(boxes: Tensor, scale: float) -> Tensor:
    """Boxes (L, 4) about their centres, larger."""
    half = (boxes[:, 2:] - boxes[:, :2]) * 0.5 * scale
    centre = (boxes[:, 2:] + boxes[:, :2]) * 0.5
    return torch.cat((centre - half, centre + half), dim=1)


def expand_masks(mask: Tensor, padding: int) -> tuple[Tensor, float]:
    """Masks (L, 1, M, M) with zeros around, and how much larger they are."""
    size = mask.shape[-1]
    return F.pad(mask, (padding,) * 4), float(size + 2 * padding) / size


def paste_mask_in_image(mask: Tensor, box: Tensor, im_h: int, im_w: int) -> Tensor:
    """A mask (M, M) at its box (4,), in whole pixels, in an image of zeros (im_h, im_w)."""
    left, top, right, bottom = (int(v) for v in box)
    size = (max(bottom - top + 1, 1), max(right - left + 1, 1))
    grown = F.interpolate(mask[None, None], size=size, mode="bilinear", align_corners=False)[0][0]
    image = torch.zeros((im_h, im_w), dtype=mask.dtype, device=mask.device)
    x0, x1, y0, y1 = max(left, 0), min(right + 1, im_w), max(top, 0), min(bottom + 1, im_h)
    if x1 > x0 and y1 > y0:
        image[y0:y1, x0:x1] = grown[y0 - top : y1 - top, x0 - left : x1 - left]
    return image


def paste_masks_in_image(
    masks: Tensor, boxes: Tensor, img_shape: tuple[int, int], padding: int = 1
) -> Tensor:
    """Masks (L, 1, M, M) of boxes (L, 4) as images (L, 1, *img_shape)."""
    masks, scale = expand_masks(masks, padding=padding)
    places = expand_boxes(boxes, scale).to(dtype=torch.int64)
    height, width = img_shape
    found = [
        paste_mask_in_image(mask[0], box, height, width) for mask, box in zip(masks, places, strict=True)
    ]
    return torch.stack(found, dim=0)[:, None] if found else masks.new_empty((0, 1, height, width))


def _check(targets: list[dict[str, Tensor]], keypoints: bool) -> None:
    for t in targets:
        if t["boxes"].dtype not in (torch.float, torch.double, torch.half):
            raise TypeError(f"target boxes must of float type, instead got {t['boxes'].dtype}")
        if t["labels"].dtype != torch.int64:
            raise TypeError(f"target labels must of int64 type, instead got {t['labels'].dtype}")
        if keypoints and t["keypoints"].dtype != torch.float32:
            raise TypeError(f"target keypoints must of float type, instead got {t['keypoints'].dtype}")


class RoIHeads(nn.Module):
    """Heads on regions: classes and boxes, and those of masks and keypoints where they are given."""

    def __init__(
        self,
        box_roi_pool: Any,
        box_head: Any,
        box_predictor: Any,
        fg_iou_thresh: float,
        bg_iou_thresh: float,
        batch_size_per_image: int,
        positive_fraction: float,
        bbox_reg_weights: Any,
        score_thresh: float,
        nms_thresh: float,
        detections_per_img: int,
        mask_roi_pool: Any = None,
        mask_head: Any = None,
        mask_predictor: Any = None,
        keypoint_roi_pool: Any = None,
        keypoint_head: Any = None,
        keypoint_predictor: Any = None,
    ) -> None:
        super().__init__()
        self.box_similarity = box_ops.box_iou
        self.proposal_matcher = det_utils.Matcher(fg_iou_thresh, bg_iou_thresh)
        self.fg_bg_sampler = det_utils.BalancedPositiveNegativeSampler(
            batch_size_per_image, positive_fraction
        )
        self.box_coder = det_utils.BoxCoder(bbox_reg_weights or (10.0, 10.0, 5.0, 5.0))
        self.box_roi_pool, self.box_head, self.box_predictor = box_roi_pool, box_head, box_predictor
        self.score_thresh, self.nms_thresh = score_thresh, nms_thresh
        self.detections_per_img = detections_per_img
        self.mask_roi_pool, self.mask_head, self.mask_predictor = mask_roi_pool, mask_head, mask_predictor
        self.keypoint_roi_pool, self.keypoint_head = keypoint_roi_pool, keypoint_head
        self.keypoint_predictor = keypoint_predictor

    def has_mask(self) -> bool:
        """Whether there are heads of masks."""
        return not any(m is None for m in (self.mask_roi_pool, self.mask_head, self.mask_predictor))

    def has_keypoint(self) -> bool:
        """Whether there are heads of keypoints."""
        return not any(
            m is None for m in (self.keypoint_roi_pool, self.keypoint_head, self.keypoint_predictor)
        )

    def assign_targets_to_proposals(
        self, proposals: list[Tensor], gt_boxes: list[Tensor], gt_labels: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Which object each proposal is of, and its label: 0 for none, -1 for what is between."""
        matched, labels = [], []
        for boxes, objects, known in zip(proposals, gt_boxes, gt_labels, strict=True):
            if objects.numel() == 0:
                zeros = torch.zeros((boxes.shape[0],), dtype=torch.int64, device=boxes.device)
                matched.append(zeros)
                labels.append(zeros.clone())
                continue
            found = self.proposal_matcher(self.box_similarity(objects, boxes))
            index = found.clamp(min=0)
            label = known[index].to(dtype=torch.int64)
            label[found == self.proposal_matcher.BELOW_LOW_THRESHOLD] = 0
            label[found == self.proposal_matcher.BETWEEN_THRESHOLDS] = -1
            matched.append(index)
            labels.append(label)
        return matched, labels

    def subsample(self, labels: list[Tensor]) -> list[Tensor]:
        """Indices of the proposals of each image that are drawn."""
        drawn = zip(*self.fg_bg_sampler(labels), strict=True)
        return [torch.where(positive | negative)[0] for positive, negative in drawn]

    def add_gt_proposals(self, proposals: list[Tensor], gt_boxes: list[Tensor]) -> list[Tensor]:
        """The objects themselves as proposals, too."""
        return [torch.cat(both) for both in zip(proposals, gt_boxes, strict=True)]

    def check_targets(self, targets: list[dict[str, Tensor]] | None) -> None:
        """ValueError or AssertionError where something that is learned from is not there."""
        if targets is None:
            raise ValueError("targets should not be None")
        for name in ("boxes", "labels", *(["masks"] if self.has_mask() else [])):
            if not all(name in t for t in targets):
                raise ValueError(f"Every element of targets should have a {name} key")

    def select_training_samples(
        self, proposals: list[Tensor], targets: Any
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor]]:
        """Drawn proposals of each image, the objects that they are of, their labels, and where they lead."""
        self.check_targets(targets)
        dtype = proposals[0].dtype
        objects = [t["boxes"].to(dtype) for t in targets]
        proposals = self.add_gt_proposals(proposals, objects)
        matched, labels = self.assign_targets_to_proposals(proposals, objects, [t["labels"] for t in targets])
        drawn = self.subsample(labels)
        proposals, labels, matched = (
            [t[i] for t, i in zip(kept, drawn, strict=True)] for kept in (proposals, labels, matched)
        )
        wanted = [
            (boxes if boxes.numel() else torch.zeros((1, 4), dtype=dtype, device=boxes.device))[i]
            for boxes, i in zip(objects, matched, strict=True)
        ]
        return proposals, matched, labels, list(self.box_coder.encode(wanted, proposals))

    def postprocess_detections(
        self,
        class_logits: Tensor,
        box_regression: Tensor,
        proposals: list[Tensor],
        image_shapes: list[tuple[int, int]],
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """For each image the best boxes (L, 4), their scores and labels."""
        classes, counts = class_logits.shape[-1], [len(boxes) for boxes in proposals]
        boxes_of = self.box_coder.decode(box_regression, proposals).split(counts, 0)
        scores_of = F.softmax(class_logits, -1).split(counts, 0)
        found: tuple[list[Tensor], list[Tensor], list[Tensor]] = ([], [], [])
        for boxes, scores, shape in zip(boxes_of, scores_of, image_shapes, strict=True):
            boxes = box_ops.clip_boxes_to_image(boxes, shape)[:, 1:].reshape(-1, 4)
            labels = torch.arange(1, classes, device=scores.device).repeat(scores.shape[0])
            scores = scores[:, 1:].reshape(-1)
            keep = torch.where(scores > self.score_thresh)[0]
            boxes, scores, labels = boxes[keep], scores[keep], labels[keep]
            keep = box_ops.remove_small_boxes(boxes, min_size=1e-2)
            boxes, scores, labels = boxes[keep], scores[keep], labels[keep]
            keep = box_ops.batched_nms(boxes, scores, labels, self.nms_thresh)[: self.detections_per_img]
            for kept, values in zip(found, (boxes, scores, labels), strict=True):
                kept.append(values[keep])
        return found

    def _positive(
        self, proposals: list[Tensor], labels: list[Tensor], matched: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The proposals that are of objects, and of which."""
        at = [torch.where(label > 0)[0] for label in labels]
        return [p[i] for p, i in zip(proposals, at, strict=True)], [
            m[i] for m, i in zip(matched, at, strict=True)
        ]

    def forward(
        self,
        features: dict[str, Tensor],
        proposals: list[Tensor],
        image_shapes: list[tuple[int, int]],
        targets: list[dict[str, Tensor]] | None = None,
    ) -> tuple[list[dict[str, Tensor]], dict[str, Tensor]]:
        """What is found in each image while evaluating, and losses while training."""
        if targets is not None:
            _check(targets, self.has_keypoint())
        labels: Any = None
        matched: Any = None
        wanted: Any = None
        if self.training:
            proposals, matched, labels, wanted = self.select_training_samples(proposals, targets)
        heads = self.box_head(self.box_roi_pool(features, proposals, image_shapes))
        class_logits, box_regression = self.box_predictor(heads)
        result: list[dict[str, Tensor]] = []
        losses: dict[str, Tensor] = {}
        if self.training:
            loss_classifier, loss_box = fastrcnn_loss(class_logits, box_regression, labels, wanted)
            losses = {"loss_classifier": loss_classifier, "loss_box_reg": loss_box}
            regions, own = self._positive(proposals, labels, matched)
        else:
            found = self.postprocess_detections(class_logits, box_regression, proposals, image_shapes)
            result = [
                {"boxes": boxes, "labels": label, "scores": score}
                for boxes, score, label in zip(*found, strict=True)
            ]
            regions, own = [p["boxes"] for p in result], []
        if self.has_mask():
            logits = self.mask_predictor(self.mask_head(self.mask_roi_pool(features, regions, image_shapes)))
            self._masks(logits, regions, own, targets, result, losses)
        if self.has_keypoint():
            pooled = self.keypoint_roi_pool(features, regions, image_shapes)
            logits = self.keypoint_predictor(self.keypoint_head(pooled))
            self._keypoints(logits, regions, own, targets, result, losses)
        return result, losses

    def _masks(
        self, logits: Tensor, regions: Any, own: Any, targets: Any, result: Any, losses: dict[str, Tensor]
    ) -> None:
        """Masks into the result, or their loss into the losses."""
        if self.training:
            masks, labels = ([t[name] for t in targets] for name in ("masks", "labels"))
            losses["loss_mask"] = maskrcnn_loss(logits, regions, masks, labels, own)
            return
        found = maskrcnn_inference(logits, [r["labels"] for r in result])
        for mask, r in zip(found, result, strict=True):
            r["masks"] = mask

    def _keypoints(
        self, logits: Tensor, regions: Any, own: Any, targets: Any, result: Any, losses: dict[str, Tensor]
    ) -> None:
        """Keypoints into the result, or their loss into the losses."""
        if self.training:
            keypoints = [t["keypoints"] for t in targets]
            losses["loss_keypoint"] = keypointrcnn_loss(logits, regions, keypoints, own)
            return
        for places, scores, r in zip(*keypointrcnn_inference(logits, regions), result, strict=True):
            r["keypoints"], r["keypoints_scores"] = places, scores
