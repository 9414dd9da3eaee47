"""Levels beyond the coarsest of a feature pyramid."""

from __future__ import annotations

import rushlight as torch
from rushlight_vision.ops import FeaturePyramidNetwork
from rushlight_vision.ops.feature_pyramid_network import LastLevelMaxPool, LastLevelP6P7


def test_more_levels() -> None:
    features = {"a": torch.randn(1, 4, 16, 16), "b": torch.randn(1, 6, 8, 8)}
    pooled = FeaturePyramidNetwork([4, 6], 5, LastLevelMaxPool())(dict(features))
    assert list(pooled) == ["a", "b", "pool"] and pooled["pool"].shape == (1, 5, 4, 4)
    for inputs, same in ((5, True), (6, False)):
        blocks = LastLevelP6P7(inputs, 5)
        found = FeaturePyramidNetwork([4, 6], 5, blocks)(dict(features))
        assert blocks.use_P5 is same and [v.shape[-1] for v in found.values()] == [16, 8, 4, 2]
