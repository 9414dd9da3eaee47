"""Functions of boxes as scripts, as detectors script what they do with them."""

import pytest

import rushlight as torch
from rushlight_vision import ops


def _boxes(count: int) -> torch.Tensor:
    found = torch.rand(count, 4) * 10
    found[:, 2:] += found[:, :2]
    return found


@pytest.mark.parametrize(
    ("function", "rest"),
    [
        (ops.nms, (torch.arange(6.0), 0.3)),
        (ops.batched_nms, (torch.arange(6.0), torch.arange(6) % 2, 0.3)),
        (ops.box_area, ("xyxy",)),
        (ops.complete_box_iou, (torch.tensor([[0.0, 0.0, 4.0, 5.0]]),)),
        (ops.generalized_box_iou, (torch.tensor([[0.0, 0.0, 4.0, 5.0]]),)),
        (ops.box_convert, ("xyxy", "cxcywh")),
    ],
)
def test_functions_of_boxes_can_be_scripted(function, rest) -> None:
    torch.manual_seed(0)
    boxes = _boxes(6)
    assert torch.jit.script(function)(boxes, *rest).equal(function(boxes, *rest))


def test_forms_of_rotated_boxes_come_back() -> None:
    boxes = torch.tensor([[1.0, 2.0, 3.0, 4.0, 30.0]])
    convert = torch.jit.script(ops.box_convert)
    for form in ("cxcywhr", "xyxyxyxy"):
        torch.testing.assert_close(convert(convert(boxes, "xywhr", form), form, "xywhr"), boxes)
    with pytest.raises(NotImplementedError, match="Unsupported Bounding Box Conversions"):
        ops.box_convert(boxes, "xywhr", "xyxy")
    with pytest.raises(ValueError, match="in_fmt no and out_fmt xyxy"):
        ops.box_convert(boxes, "no", "xyxy")
