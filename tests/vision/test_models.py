"""torchvision's models and ops do what torchvision was recorded to do; regions and nms beside plain loops."""

from __future__ import annotations

import math
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight_vision import models, ops

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from vision_models_behaviours import MODELS

test_behaviour = MODELS.compared(torch)


def _overlap(a: Any, b: Any) -> float:
    sides = [max(min(a[i + 2], b[i + 2]) - max(a[i], b[i]), 0.0) for i in (0, 1)]
    areas = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
    shared = sides[0] * sides[1]
    return shared / (sum(areas) - shared)


def _kept(boxes: list[Any], scores: list[float], threshold: float) -> list[int]:
    kept: list[int] = []
    for i in sorted(range(len(boxes)), key=lambda i: -scores[i]):
        if all(_overlap(boxes[i], boxes[j]) <= threshold for j in kept):
            kept.append(i)
    return kept


def _some_boxes(n: int, dtype: Any = torch.float64) -> Any:
    boxes = torch.rand(n, 4, dtype=dtype) * 20
    boxes[:, 2:] += boxes[:, :2] + 1
    return boxes


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("n", [0, 1, 40])
def test_nms_beside_a_plain_loop(n: int, threshold: float) -> None:
    torch.manual_seed(n)
    boxes, scores = _some_boxes(n), torch.rand(n, dtype=torch.float64)
    kept = ops.nms(boxes, scores, threshold)
    assert kept.dtype == torch.int64 and kept.tolist() == _kept(boxes.tolist(), scores.tolist(), threshold)


def test_nms_of_classes_takes_each_for_itself() -> None:
    torch.manual_seed(1)
    boxes, scores, classes = _some_boxes(40), torch.rand(40), torch.randint(0, 3, (40,))
    wanted = []
    for c in range(3):
        of = (classes == c).nonzero()[:, 0]
        wanted += of[ops.nms(boxes[of], scores[of], 0.2)].tolist()
    kept = ops.batched_nms(boxes, scores, classes, 0.2).tolist()
    assert sorted(kept) == sorted(wanted) and scores[kept].tolist() == sorted(
        scores[kept].tolist(), reverse=True
    )
    assert ops.batched_nms(boxes[:0], scores[:0], classes[:0], 0.2).tolist() == []


def test_nms_refuses_other_shapes() -> None:
    with pytest.raises(RuntimeError, match="boxes should be a 2d tensor"):
        ops.nms(torch.zeros(3, 5), torch.zeros(3), 0.5)
    with pytest.raises(RuntimeError, match="same number of elements in dimension 0"):
        ops.nms(torch.zeros(3, 4), torch.zeros(2), 0.5)


def _bilinear(image: Any, y: float, x: float) -> Any:
    """One sample of (C, H, W): 0 where it lies more than a pixel outside."""
    h, w = image.shape[1:]
    if not (-1 <= y <= h and -1 <= x <= w):
        return np.zeros(image.shape[0])
    y, x = min(max(y, 0.0), h - 1.0), min(max(x, 0.0), w - 1.0)
    top, left = int(y), int(x)
    low, right = min(top + 1, h - 1), min(left + 1, w - 1)
    dy, dx = y - top, x - left
    return (1 - dy) * ((1 - dx) * image[:, top, left] + dx * image[:, top, right]) + dy * (
        (1 - dx) * image[:, low, left] + dx * image[:, low, right]
    )


def _aligned(image: Any, box: Any, size: tuple[int, int], scale: float, ratio: int, aligned: bool) -> Any:
    x1, y1, x2, y2 = (v * scale - (0.5 if aligned else 0.0) for v in box)
    width, height = x2 - x1, y2 - y1
    if not aligned:
        width, height = max(width, 1.0), max(height, 1.0)
    step_y, step_x = height / size[0], width / size[1]
    rows, columns = (ratio if ratio > 0 else math.ceil(step) for step in (step_y, step_x))
    found = np.zeros((image.shape[0], *size))
    for i, j in np.ndindex(*size):
        for a, b in np.ndindex(rows, columns):
            found[:, i, j] += _bilinear(
                image, y1 + (i + (a + 0.5) / rows) * step_y, x1 + (j + (b + 0.5) / columns) * step_x
            )
    return found / max(rows * columns, 1)


# Rows (image, x1, y1, x2, y2): inside, of less than a pixel, over the edge, far outside.
_ROIS = [
    [0, 1.3, 2.1, 9.7, 10.4],
    [1, 3.2, 3.1, 3.6, 3.5],
    [1, -4.0, -3.0, 6.5, 30.0],
    [0, 40.0, 50.0, 60.0, 70.0],
]


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio", [-1, 1, 3])
def test_roi_align_beside_plain_loops(ratio: int, aligned: bool) -> None:
    torch.manual_seed(0)
    x, rois = torch.randn(2, 2, 7, 8, dtype=torch.float64), torch.tensor(_ROIS, dtype=torch.float64)
    got = ops.roi_align(x, rois, (3, 2), 0.7, ratio, aligned)
    wanted = [_aligned(x[int(r[0])].numpy(), r[1:], (3, 2), 0.7, ratio, aligned) for r in _ROIS]
    assert got.shape == (4, 2, 3, 2) and np.allclose(got.numpy(), np.stack(wanted), rtol=1e-12, atol=1e-12)
    x.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: ops.roi_align(x, rois, (3, 2), 0.7, ratio, aligned), (x,))


def _round(v: float) -> int:
    return math.floor(abs(v) + 0.5) * (1 if v > 0 else -1)


def _pooled(image: Any, box: Any, size: tuple[int, int], scale: float) -> Any:
    x1, y1, x2, y2 = (_round(v * scale) for v in box)
    steps = max(y2 - y1 + 1, 1) / size[0], max(x2 - x1 + 1, 1) / size[1]
    found = np.zeros((image.shape[0], *size))
    for i, j in np.ndindex(*size):
        ends = []
        for at, step, start, limit in zip((i, j), steps, (y1, x1), image.shape[1:], strict=True):
            ends.append(
                slice(
                    *(
                        min(max(v + start, 0), limit)
                        for v in (math.floor(at * step), math.ceil((at + 1) * step))
                    )
                )
            )
        cell = image[:, ends[0], ends[1]]
        if cell.size:
            found[:, i, j] = cell.max((1, 2))
    return found


def test_roi_pool_beside_plain_loops() -> None:
    torch.manual_seed(0)
    x, rois = torch.randn(2, 2, 7, 8, dtype=torch.float64), torch.tensor(_ROIS, dtype=torch.float64)
    got = ops.roi_pool(x, rois, (3, 2), 0.7)
    wanted = [_pooled(x[int(r[0])].numpy(), r[1:], (3, 2), 0.7) for r in _ROIS]
    assert got.shape == (4, 2, 3, 2) and np.array_equal(got.numpy(), np.stack(wanted))
    assert ops.RoIPool((3, 2), 0.7)(x, rois).equal(got)
    x.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: ops.roi_pool(x, rois, (3, 2), 0.7), (x,))


def test_roi_pool_rounds_halves_away_from_zero() -> None:
    x = torch.arange(36.0).reshape(1, 1, 6, 6)
    for box in ([0.5, 0.5, 2.5, 3.5], [1.5, 2.5, 4.5, 4.5], [-0.5, -1.5, 2.5, 1.5]):
        got = ops.roi_pool(x, [torch.tensor([box])], 2)
        assert np.array_equal(got[0].numpy(), _pooled(x[0].numpy(), box, (2, 2), 1.0)), box


def test_weights_are_read_from_the_folder_of_checkpoints(tmp_path: Path, monkeypatch: Any) -> None:
    model = models.squeezenet1_1()
    entry = models.SqueezeNet1_1_Weights.IMAGENET1K_V1
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    file = folder / entry.url.rsplit("/", 1)[1]
    torch.save(model.state_dict(), file)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    found = models.squeezenet1_1(weights="DEFAULT").state_dict()
    assert all(v.equal(found[k]) for k, v in model.state_dict().items())
    assert entry.get_state_dict(progress=False).keys() == found.keys()


def test_densenet_reads_files_with_older_names() -> None:
    make = partial(models.DenseNet, 8, (2, 3), 16, num_classes=5)
    one, other = make(), make()
    older = {
        re.sub(r"(denselayer\d+\.(?:norm|conv))([12])", r"\1.\2", k): v for k, v in one.state_dict().items()
    }
    assert "features.denseblock1.denselayer2.norm.1.weight" in older
    other.load_state_dict(older)
    assert all(v.equal(other.state_dict()[k]) for k, v in one.state_dict().items())


def test_the_largest_model_has_as_many_parameters_as_its_weights() -> None:
    with torch.device("meta"):
        model = models.regnet_y_128gf()
    wanted = models.RegNet_Y_128GF_Weights.DEFAULT.meta["num_params"]
    assert sum(p.numel() for p in model.parameters()) == wanted == 644_812_894


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(AttributeError, match="module 'torchvision.models' has no attribute 'nothing'"):
        models.nothing
    assert {"resnet18", "ResNet18_Weights", "get_model"} <= set(dir(models))
    assert set(models.list_models(models)) < set(dir(models))
    assert set(models.list_models(models.segmentation)) < set(dir(models.segmentation))
    with pytest.raises(AttributeError, match="segmentation' has no attribute 'unet'; there are"):
        models.segmentation.unet


def test_googlenet_has_two_more_classifiers_in_training() -> None:
    torch.manual_seed(0)
    with pytest.warns(FutureWarning, match="default weight initialization"):
        model = models.googlenet(num_classes=5)
    assert sum(p.numel() for p in model.parameters()) == 9945263
    model.train()
    found = model(torch.randn(2, 3, 64, 64))
    assert type(found).__name__ == "GoogLeNetOutputs" and [v.shape for v in found] == [(2, 5)] * 3
    assert model.eval()(torch.randn(1, 3, 64, 64)).shape == (1, 5)
