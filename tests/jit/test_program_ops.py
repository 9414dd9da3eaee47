"""Ops that programs define by torch.library, in scripts and in files of them."""

from __future__ import annotations

import io
from typing import Any

import pytest

import rushlight as torch
from rushlight import Tensor, nn

ops: Any = torch.ops
LIBRARY = torch.library.Library("test_program_ops", "DEF")
LIBRARY.define("twice(Tensor x, int n=2, *, float s=1.0) -> Tensor")
LIBRARY.define("two(Tensor x) -> (Tensor, Tensor)")
LIBRARY.impl("twice", lambda x, n=2, *, s=1.0: x * n * s, "CPU")
LIBRARY.impl("two", lambda x: (x.clone(), x + 1), "CPU")


class Calls(nn.Module):
    """Calls both."""

    def forward(self, x: Tensor) -> Tensor:
        a, b = ops.test_program_ops.two(x)
        found: Tensor = ops.test_program_ops.twice(a, 3) + ops.test_program_ops.twice(b, s=0.5)
        return found


def test_scripts_call_them_by_their_signatures() -> None:
    """Results, code, and a file that is read again."""
    scripted = torch.jit.script(Calls())
    assert scripted(torch.ones(2)).tolist() == [5, 5]
    assert "ops.test_program_ops.twice(b, 2, s=0.5)" in scripted.code
    kinds = [node.kind() for node in scripted.graph.nodes()]
    assert kinds.count("test_program_ops::twice") == 2
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    assert torch.jit.load(file)(torch.ones(2)).tolist() == [5, 5]


def test_arguments_are_held_to_the_signature() -> None:
    """With PyTorch's words."""

    def wrong(x: Tensor) -> Tensor:
        found: Tensor = ops.test_program_ops.twice(x, "a")
        return found

    with pytest.raises(
        RuntimeError, match="Expected a value of type 'int' for argument 'n' but instead found"
    ):
        torch.jit.script(wrong)


def test_traces_keep_the_calls() -> None:
    """Of both kinds of ops, with their arguments."""

    def times(x: Tensor, by: float) -> Tensor:
        return x * by

    scaled: Any = torch.library.custom_op("test_program_ops::scaled", times, mutates_args=())

    def function(x: Tensor) -> Tensor:
        found: Tensor = Calls()(x) + scaled(x, 2.0)
        return found

    x = torch.ones(2)
    traced = torch.jit.trace(function, (x,))
    kinds = [node.kind().partition("::")[2] for node in traced.graph.nodes() if "test_program" in node.kind()]
    assert kinds == ["two", "twice", "twice", "scaled"]
    assert traced(x * 2).tolist() == function(x * 2).tolist() == [13, 13]


def test_torchvisions_ops() -> None:
    """They are there once torchvision is imported, for scripts as well."""
    import rushlight_vision

    assert rushlight_vision.ops
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30]])
    scores = torch.tensor([0.9, 0.8, 0.7])

    def kept(boxes: Tensor, scores: Tensor) -> Tensor:
        found: Tensor = ops.torchvision.nms(boxes, scores, 0.5)
        return found

    assert torch.jit.script(kept)(boxes, scores).tolist() == [0, 2]
    x = torch.randn(1, 2, 8, 8, requires_grad=True)
    rois = torch.tensor([[0.0, 1, 1, 6, 6]])
    found = ops.torchvision.roi_align(x, rois, 1.0, 2, 2, -1, False)
    assert torch.equal(found, rushlight_vision.ops.roi_align(x, rois, 2))
    found.sum().backward()
    assert x.grad is not None and x.grad.sum() > 0
    with pytest.raises(AttributeError, match="object has no attribute 'no_op'"):
        ops.torchvision.no_op
