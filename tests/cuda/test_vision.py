"""torchvision's functions on a device: where their operands lie, with the CPU's numbers."""

from __future__ import annotations

import pytest

import rushlight as torch
import rushlight_vision.ops as ops
import rushlight_vision.transforms.functional as v1
import rushlight_vision.transforms.v2.functional as v2
from rushlight_vision import tv_tensors, utils

SIZE = (16, 20)
CORNERS = [[0, 0], [19, 0], [19, 15], [0, 15]], [[2, 1], [18, 2], [17, 14], [1, 13]]


def inputs():
    torch.manual_seed(0)
    image = torch.rand(2, 3, *SIZE)
    places = torch.tensor([[1.0, 2.0, 8.0, 9.0], [3.0, 4.0, 15.0, 12.0]])
    turned = torch.tensor([[6.0, 7.0, 8.0, 4.0, 30.0], [10.0, 8.0, 5.0, 3.0, -20.0]])
    return {
        "floats": image,
        "bytes": (image * 255).to(torch.uint8),
        "boxes": tv_tensors.BoundingBoxes(places, format="XYXY", canvas_size=SIZE),
        "turned": tv_tensors.BoundingBoxes(turned, format="CXCYWHR", canvas_size=SIZE),
        "points": tv_tensors.KeyPoints(torch.tensor([[3.0, 4.0], [10.0, 2.0]]), canvas_size=SIZE),
        "mask": tv_tensors.Mask((image[:, 0] > 0.5).to(torch.uint8)),
        "video": tv_tensors.Video((image * 255).to(torch.uint8)[:, None].expand(-1, 4, -1, -1, -1)),
    }


TRANSFORMS = {
    "resize": lambda F, x: F.resize(x, [8, 10]),
    "crop": lambda F, x: F.crop(x, 2, 3, 8, 9),
    "hflip": lambda F, x: F.hflip(x),
    "pad": lambda F, x: F.pad(x, [1, 2, 3, 4]),
    "pad_symmetric": lambda F, x: F.pad(x, [1, 2], padding_mode="symmetric"),
    "rotate": lambda F, x: F.rotate(x, 30.0, expand=True),
    "affine": lambda F, x: F.affine(x, 20.0, [2, 1], 1.2, [5.0, 3.0]),
    "perspective": lambda F, x: F.perspective(x, *CORNERS),
    "elastic": lambda F, x: F.elastic_transform(x, torch.full((1, *SIZE, 2), 0.05)),
    "hue": lambda F, x: F.adjust_hue(x, 0.2),
    "contrast": lambda F, x: F.adjust_contrast(x, 1.3),
    "sharpness": lambda F, x: F.adjust_sharpness(x, 1.5),
    "equalize": lambda F, x: F.equalize(x),
    "blur": lambda F, x: F.gaussian_blur(x, [3, 5]),
    "normalize": lambda F, x: F.normalize(x, [0.5, 0.4, 0.3], [0.2, 0.2, 0.2]),
    "clamp": lambda F, x: v2.clamp_keypoints(x) if "KeyP" in str(type(x)) else v2.clamp_bounding_boxes(x),
    "subsample": lambda F, x: v2.uniform_temporal_subsample(x, 2),
    "jpeg": lambda F, x: v2.jpeg(x, 50),
}
IMAGE, ROWS = torch.linspace(0, 1, 2 * 3 * 16 * 20).view(2, 3, 16, 20).sin(), torch.arange(3)
BOXES = torch.tensor([[1.0, 2.0, 8.0, 9.0], [3.0, 4.0, 15.0, 12.0], [2.0, 2.0, 9.0, 9.0]])
OPS = {
    "nms": lambda x, b, i: ops.nms(b, b[:, 0], 0.5),
    "batched_nms": lambda x, b, i: ops.batched_nms(b, b[:, 0], i, 0.5),
    "batched_nms_of_none": lambda x, b, i: ops.batched_nms(b[:0], b[:0, 0], i[:0], 0.5),
    "roi_align": lambda x, b, i: ops.roi_align(x, [b, b], (3, 4), 0.5),
    "roi_pool": lambda x, b, i: ops.roi_pool(x, [b, b], 3),
    "ps_roi_align": lambda x, b, i: ops.ps_roi_align(x[:, :1].expand(-1, 4, -1, -1), [b, b], 2),
    "deform": lambda x, b, i: ops.deform_conv2d(
        x, x[:, :1].expand(-1, 18, -1, -1), x[:, :, :3, :3], padding=1
    ),
    "levels": lambda x, b, i: ops.MultiScaleRoIAlign(["0", "1"], 3, 2)(
        {"0": x, "1": x[..., ::2, ::2]}, [b, b], [(32, 40)] * 2
    ),
    "segments": lambda x, b, i: utils.draw_segmentation_masks((x[0] * 255).to(torch.uint8), x[0] > 0.5),
    "flow": lambda x, b, i: utils.flow_to_image(x[:, :2]),
}


def leaves(found):
    return [found] if isinstance(found, torch.Tensor) else [t for one in found for t in leaves(one)]


def check(here, there, close=1e-4):
    for a, b in zip(leaves(here), leaves(there), strict=True):
        assert b.device.type == "cuda"
        found = b.cpu().as_subclass(torch.Tensor)
        torch.testing.assert_close(found, a.as_subclass(torch.Tensor), rtol=1e-4, atol=close)


@pytest.mark.parametrize("kind", inputs())
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name, kind):
    for functions in (v1, v2) if kind in ("floats", "bytes") else (v2,):
        value = inputs()[kind]
        try:
            here = TRANSFORMS[name](functions, value)
        except (TypeError, ValueError, AttributeError, RuntimeError):
            continue  # not of such a kind
        # The CPU resizes bytes in whole numbers of so many bits; torchvision has devices do it in float32.
        whole = name == "resize" and kind in ("bytes", "video")
        check(here, TRANSFORMS[name](functions, value.to("cuda")), 1 if whole else 1e-4)


@pytest.mark.parametrize("name", OPS)
def test_ops(name):
    here = OPS[name](IMAGE, BOXES, ROWS)
    check(here, OPS[name](IMAGE.cuda(), BOXES.cuda(), ROWS.cuda()))


def test_detector_trains():
    from rushlight_vision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn

    torch.manual_seed(0)
    model = fasterrcnn_mobilenet_v3_large_320_fpn(
        weights=None, weights_backbone=None, num_classes=3, min_size=64, max_size=64
    ).cuda()
    targets = [{"boxes": BOXES[:2].cuda() + 10, "labels": torch.tensor([1, 2]).cuda()}]
    losses = model([torch.rand(3, 64, 64, device="cuda")], targets)
    sum(losses.values()).backward()
    assert (
        all(v.isfinite() for v in losses.values())
        and model.backbone.fpn.layer_blocks[0][0].weight.grad.is_cuda
    )
    assert all(v.is_cuda for v in model.eval()([torch.rand(3, 64, 64, device="cuda")])[0].values())
