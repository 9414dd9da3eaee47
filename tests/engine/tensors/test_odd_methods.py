"""Tensor's odd methods, streams, pools with places and hooks of the graph: PyTorch's recorded answers."""

from __future__ import annotations

import sys
from pathlib import Path

import rushlight as torch

sys.path.insert(0, str(Path(__file__).parents[2] / "goldens"))
from tensor_behaviours import TENSOR

test_as_recorded = TENSOR.compared(torch)


def test_all_that_dir_names_is_there():
    matrix = torch.zeros(2, 2)
    names = set(dir(matrix)) - {"imag"}  # imag is refused of real tensors, by PyTorch too
    assert "shape" in names
    assert [name for name in names if not hasattr(matrix, name)] == []
