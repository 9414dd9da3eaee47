"""torch.fx.replace_pattern beside PyTorch's."""

import pytest

import rushlight
from tests.fx.rewrites import rewrites

torch = pytest.importorskip("torch")


def test_rewrites():
    import torch.fx.subgraph_rewriter

    assert rewrites(rushlight) == rewrites(torch)
