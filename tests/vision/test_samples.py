"""transforms.v2 makes of images, masks, boxes and points what torchvision was recorded to make of them."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path

import pytest

import rushlight as torch
from rushlight_vision import tv_tensors
from rushlight_vision.transforms import v2

pytest.importorskip("PIL")
sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from vision_samples import SAMPLES

# Coordinates come of differences of products and of sines: their absolute error is that of the canvas's size.
test_behaviour = SAMPLES.compared(torch, 3e-5)


def test_boxes_survive_copies_and_pickles() -> None:
    boxes = tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYWH", canvas_size=(9, 8))
    for found in (copy.deepcopy(boxes), pickle.loads(pickle.dumps(boxes))):
        assert type(found) is tv_tensors.BoundingBoxes and found.canvas_size == (9, 8)
        assert found.format is tv_tensors.BoundingBoxFormat.XYWH and found.tolist() == [[1, 2, 3, 4]]


def test_gradients_go_through_tensors_with_a_meaning() -> None:
    leaf = torch.ones(3, 4, 4, requires_grad=True)
    v2.functional.resize(tv_tensors.Image(leaf), [8, 8]).as_subclass(torch.Tensor).sum().backward()
    assert leaf.grad is not None and leaf.grad.sum() == 3 * 64
