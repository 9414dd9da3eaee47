# Written by `python tools/stubs.py`.
"""Upsample: resize (N, C, L), (N, C, H, W) or (N, C, D, H, W) by interpolation."""
from collections.abc import Sequence
from rushlight.nn.modules.function_module import FunctionModule
from rushlight._engine.tensors.tensor import Tensor
from typing import Any

class Upsample(FunctionModule):
    """Resize to `size`, or by `scale_factor`; modes as of F.interpolate."""

    align_corners: bool | None
    mode: str
    recompute_scale_factor: bool | None
    scale_factor: Any
    size: Sequence[int] | int | None
    def __init__(self, size: Sequence[int] | int | None = None, scale_factor: Any = None, mode: str = 'nearest', align_corners: bool | None = None, recompute_scale_factor: bool | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class UpsamplingBilinear2d(Upsample):
    """Upsample with mode="bilinear", align_corners=True."""

    def __init__(self, size: Sequence[int] | int | None = None, scale_factor: Any = None) -> None: ...
class UpsamplingNearest2d(Upsample):
    """Upsample with mode="nearest"."""

    def __init__(self, size: Sequence[int] | int | None = None, scale_factor: Any = None) -> None: ...
