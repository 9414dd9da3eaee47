"""Upsample: resize (N, C, L), (N, C, H, W) or (N, C, D, H, W) by interpolation."""

from __future__ import annotations

from typing import Any

from rushlight.nn.modules.function_module import FunctionModule


class Upsample(
    FunctionModule,
    function="interpolate",
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
):
    """Resize to `size`, or by `scale_factor`; modes as of F.interpolate."""

    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor"]
    align_corners: bool | None
    recompute_scale_factor: bool | None
    _by_name = True

    def _post_init(self) -> None:
        self.name = type(self).__name__
        factor = self.scale_factor
        if isinstance(factor, tuple):
            self.scale_factor = tuple(map(float, factor))
        else:
            self.scale_factor = float(factor) if factor else None

    def extra_repr(self) -> str:
        size = (
            f"scale_factor={self.scale_factor!r}" if self.scale_factor is not None else f"size={self.size!r}"
        )
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample with mode="nearest"."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample with mode="bilinear", align_corners=True."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
