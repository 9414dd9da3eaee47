"""Detectors, networks of video and ops on regions do what torchvision was recorded to do, or plain loops."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight_vision import models, ops
from rushlight_vision.models import _api
from rushlight_vision.models.detection.rpn import RPNHead

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from vision_detection_behaviours import DETECTION

test_behaviour = DETECTION.compared(torch)


def _sample(image: Any, y: float, x: float) -> float:
    """A bilinear sample of (H, W), pixels outside being 0."""
    total, top, left = 0.0, math.floor(y), math.floor(x)
    for i in (top, top + 1):
        for j in (left, left + 1):
            if 0 <= i < image.shape[0] and 0 <= j < image.shape[1]:
                total += (1 - abs(y - i)) * (1 - abs(x - j)) * image[i, j]
    return total


def _deformed(x: Any, offset: Any, weight: Any, mask: Any, stride: int, padding: int, dilation: int) -> Any:
    """The definition, place by place."""
    n, channels = x.shape[:2]
    outputs, inside, height, width = weight.shape
    parts, cells = offset.shape[1] // (2 * height * width), height * width
    found = np.zeros((n, outputs, *offset.shape[2:]))
    for b, o, i, j in np.ndindex(*found.shape):
        group = o // (outputs // (channels // inside))
        for c, u, v in np.ndindex(inside, height, width):
            channel, cell = group * inside + c, u * width + v
            at = (channel // (channels // parts)) * cells + cell
            y = i * stride - padding + u * dilation + offset[b, 2 * at, i, j]
            z = j * stride - padding + v * dilation + offset[b, 2 * at + 1, i, j]
            found[b, o, i, j] += weight[o, c, u, v] * mask[b, at, i, j] * _sample(x[b, channel], y, z)
    return found


@pytest.mark.parametrize(("stride", "padding", "dilation"), [(1, 1, 1), (2, 1, 2)])
@pytest.mark.parametrize(("groups", "parts"), [(1, 1), (2, 4), (4, 2)])
def test_deform_conv2d_beside_plain_loops(
    stride: int, padding: int, dilation: int, groups: int, parts: int
) -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(2, 4, 6, 7).double(), torch.randn(4, 4 // groups, 2, 3).double()
    out = [(n + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for n, k in ((6, 2), (7, 3))]
    offset = torch.randn(2, 2 * parts * 6, *out).double() * 2
    mask, bias = torch.rand(2, parts * 6, *out).double(), torch.randn(4).double()
    how = {"stride": stride, "padding": padding, "dilation": dilation}
    got = ops.deform_conv2d(x, offset, weight, bias, mask=mask, **how)
    arrays = [t.numpy() for t in (x, offset, weight, mask)]
    wanted = _deformed(*arrays, stride, padding, dilation) + bias.numpy()[:, None, None]
    assert got.shape == (2, 4, *out) and np.allclose(got.numpy(), wanted, rtol=1e-11, atol=1e-11)
    plain = ops.deform_conv2d(x, offset * 0, weight, None, **how)
    assert plain.allclose(torch.nn.functional.conv2d(x, weight, groups=groups, **how))


def test_deform_conv2d_has_gradients_of_all_it_takes() -> None:
    torch.manual_seed(0)
    shapes = ((1, 2, 4, 4), (1, 8, 3, 3), (2, 2, 2, 2), (2,), (1, 4, 3, 3))
    given = [torch.randn(*shape).double().requires_grad_() for shape in shapes]

    def run(x: Any, offset: Any, weight: Any, bias: Any, mask: Any) -> Any:
        return ops.deform_conv2d(x, offset, weight, bias, mask=mask)

    assert torch.autograd.gradcheck(run, given)


def test_deform_conv2d_says_which_shape_does_not_fit() -> None:
    x, weight = torch.zeros(1, 2, 5, 5), torch.zeros(2, 2, 3, 3)
    with pytest.raises(RuntimeError, match="offset tensor at dimension 1 is not valid"):
        ops.deform_conv2d(x, torch.zeros(1, 4, 3, 3), weight)
    with pytest.raises(RuntimeError, match="offset of shape"):
        ops.deform_conv2d(x, torch.zeros(1, 18, 3, 2), weight)
    with pytest.raises(RuntimeError, match="mask of shape"):
        ops.deform_conv2d(x, torch.zeros(1, 18, 3, 3), weight, mask=torch.zeros(1, 3, 3, 3))


_BOXES = [[0, 1.3, 2.1, 9.7, 8.4], [1, 3.2, 3.1, 3.6, 3.5], [1, 0.4, 1.0, 6.5, 9.0]]


@pytest.mark.parametrize("ratio", [-1, 2])
def test_ps_roi_align_is_roi_align_of_each_cells_own_channels(ratio: int) -> None:
    torch.manual_seed(0)
    x, rois = torch.randn(2, 12, 7, 8).double(), torch.tensor(_BOXES).double()
    got = ops.ps_roi_align(x, rois, (3, 2), 0.7, ratio)
    every = ops.roi_align(x, rois, (3, 2), 0.7, ratio, aligned=True).unflatten(1, (2, 3, 2))
    for i, j in np.ndindex(3, 2):
        assert got[:, :, i, j].allclose(every[:, :, i, j, i, j])
    x.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: ops.ps_roi_align(x, rois, (3, 2), 0.7, ratio), (x,))
    assert ops.PSRoIAlign((3, 2), 0.7, ratio)(x, rois).equal(got)
    with pytest.raises(RuntimeError, match="multiple of pooling height"):
        ops.ps_roi_align(x, rois, 5)


def test_ps_roi_pool_beside_plain_loops() -> None:
    torch.manual_seed(0)
    x, rois = torch.randn(2, 12, 7, 8).double(), torch.tensor(_BOXES).double()
    got, scale, size = ops.ps_roi_pool(x, rois, (3, 2), 0.7), 0.7, (3, 2)
    for k, (image, *box) in enumerate(_BOXES):
        x1, y1, x2, y2 = (math.floor(v * scale + 0.5) for v in box)
        steps, starts = (max(y2 - y1, 1) / size[0], max(x2 - x1, 1) / size[1]), (y1, x1)
        for c, i, j in np.ndindex(2, *size):
            ends = []
            for at, step, start, limit in zip((i, j), steps, starts, (7, 8), strict=True):
                low, high = math.floor(at * step) + start, math.ceil((at + 1) * step) + start
                ends.append(slice(*(min(max(v, 0), limit - 1) for v in (low, high))))
            cell = x[int(image), c * 6 + i * 2 + j, ends[0], ends[1]].numpy()
            assert got[k, c, i, j].item() == pytest.approx(cell.mean() if cell.size else 0.0)
    x.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: ops.ps_roi_pool(x, rois, size, scale), (x,))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("boxes", "box_area"),
        ("focal_loss", "sigmoid_focal_loss"),
        ("giou_loss", "generalized_box_iou_loss"),
        ("diou_loss", "distance_box_iou_loss"),
        ("ciou_loss", "complete_box_iou_loss"),
        ("drop_block", "DropBlock2d"),
        ("stochastic_depth", "stochastic_depth"),
        ("poolers", "MultiScaleRoIAlign"),
        ("roi_align", "roi_align"),
        ("roi_pool", "roi_pool"),
        ("deform_conv", "deform_conv2d"),
        ("ps_roi_align", "ps_roi_align"),
        ("ps_roi_pool", "ps_roi_pool"),
    ],
)
def test_ops_lie_in_modules_of_their_own(module: str, name: str) -> None:
    found = getattr(importlib.import_module(f"rushlight_vision.ops.{module}"), name)
    assert found is getattr(ops, name)  # even where the module has the function's name


def test_a_family_keeps_the_functions_name_and_has_the_enums() -> None:
    home = importlib.import_module("rushlight_vision.models.alexnet")
    assert models.alexnet is home.alexnet and home.AlexNet_Weights is models.AlexNet_Weights
    video = importlib.import_module("rushlight_vision.models.video.s3d")
    assert models.video.s3d is video.s3d


def test_programs_register_their_own_models(monkeypatch: Any) -> None:
    monkeypatch.setattr(_api, "BUILTIN_MODELS", {})

    @_api.register_model()
    def small_net(width: int = 3) -> int:
        return width

    assert models.get_model("small_net", width=5) == 5 and "small_net" in models.list_models()
    with pytest.raises(ValueError, match="already registered under the name 'small_net'"):
        _api.register_model("small_net")(small_net)


def test_heads_read_files_with_older_names() -> None:
    one, other = RPNHead(4, 3), RPNHead(4, 3)
    state = one.state_dict()
    older = {k.replace("conv.0.0.", "conv."): v for k, v in state.items()}  # without metadata: of version 1
    other.load_state_dict(older)
    assert all(v.equal(other.state_dict()[k]) for k, v in state.items())
