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

    def get_result_from_inner_blocks(self, x: Tensor, idx: int) -> Tensor:
        """The projection of level idx."""
        found: Tensor = self.inner_blocks[idx](x)
        return found

    def get_result_from_layer_blocks(self, x: Tensor, idx: int) -> Tensor:
        """Level idx, smoothed."""
        found: Tensor = self.layer_blocks[idx](x)
        return found

    def forward(self, x: dict[str, Tensor]) -> dict[str, Tensor]:
        """x: features (N, C, H, W) by name, finest first."""
        names, features = list(x), list(x.values())
        last = self.get_result_from_inner_blocks(features[-1], -1)
        results = [self.get_result_from_layer_blocks(last, -1)]
        for i in range(len(features) - 2, -1, -1):
            inner = self.get_result_from_inner_blocks(features[i], i)
            last = inner + F.interpolate(last, size=inner.shape[-2:], mode="nearest")
            results.insert(0, self.get_result_from_layer_blocks(last, i))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, features, names)
        return OrderedDict(zip(names, results, strict=True))


class ExtraFPNBlock(nn.Module):
    """Base of what makes coarser levels: forward(results, features, names) gives (results, names)."""

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> Any:
        """More results, and their names."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method forward(results, x, names)")


class LastLevelMaxPool(ExtraFPNBlock):
    """One more level: every second place of the coarsest."""

    def forward(
        self, results: list[Tensor], x: list[Tensor], names: list[str]
    ) -> tuple[list[Tensor], list[str]]:
        """The results with the level "pool"."""
        names.append("pool")
        results.append(F.max_pool2d(results[-1], kernel_size=1, stride=2, padding=0))
        return results, names


class LastLevelP6P7(ExtraFPNBlock):
    """Two more levels, by convolutions of stride 2 of the coarsest result, or of the coarsest feature where
    the numbers of channels differ (RetinaNet).
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        for layer in (self.p6, self.p7):
            nn.init.kaiming_uniform_(layer.weight, a=1)
            nn.init.constant_(layer.bias, 0)
        self.use_P5 = in_channels == out_channels

    def forward(self, p: list[Tensor], c: list[Tensor], names: list[str]) -> tuple[list[Tensor], list[str]]:
        """The results with the levels "p6" and "p7"."""
        sixth = self.p6(p[-1] if self.use_P5 else c[-1])
        p.extend((sixth, self.p7(F.relu(sixth))))
        names.extend(("p6", "p7"))
        return p, names
