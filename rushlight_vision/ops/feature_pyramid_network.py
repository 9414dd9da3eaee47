"""Features of all scales from those of a backbone: Lin et al., "Feature Pyramid Networks", CVPR 2017."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight_vision.ops.misc import Conv2dNormActivation


class FeaturePyramidNetwork(nn.Module):
    """Each level is a projection of its own plus the coarser level at twice the size, smoothed."""

    def __init__(
        self, in_channels_list: list[int], out_channels: int, extra_blocks: Any = None, norm_layer: Any = None
    ) -> None:
        super().__init__()
        self.inner_blocks, self.layer_blocks = nn.ModuleList(), nn.ModuleList()
        for channels in in_channels_list:
            if channels == 0:
                raise ValueError("in_channels=0 is currently not supported")
            for blocks, inputs, kernel in (
                (self.inner_blocks, channels, 1),
                (self.layer_blocks, out_channels, 3),
            ):
                blocks.append(
                    Conv2dNormActivation(
                        inputs, out_channels, kernel, norm_layer=norm_layer, activation_layer=None
                    )
                )
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_uniform_(m.weight, a=1)
                if m.bias is not None:
                    nn.init.constant_(m.bias, 0)
        self.extra_blocks = extra_blocks

    def forward(self, x: dict[str, Tensor]) -> dict[str, Tensor]:
        """x: features (N, C, H, W) by name, finest first."""
        names, features = list(x), list(x.values())
        last = self.inner_blocks[-1](features[-1])
        results = [self.layer_blocks[-1](last)]
        for i in range(len(features) - 2, -1, -1):
            inner = self.inner_blocks[i](features[i])
            last = inner + F.interpolate(last, size=inner.shape[-2:], mode="nearest")
            results.insert(0, self.layer_blocks[i](last))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, features, names)
        return OrderedDict(zip(names, results, strict=True))
