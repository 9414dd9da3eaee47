"""Fold and Unfold: between images and columns of sliding blocks."""
from __future__ import annotations

from typing import Any

from rushlight.nn.modules.function_module import FunctionModule


class Fold(FunctionModule, function="fold", output_size=Any, kernel_size=Any, dilation=1, padding=0,
           stride=1):
    """Sum columns of blocks into an image: (N, C * kh * kw, L) -> (N, C, *output_size)."""


class Unfold(FunctionModule, function="unfold", kernel_size=Any, dilation=1, padding=0, stride=1):
    """Take an image apart into columns of blocks: (N, C, H, W) -> (N, C * kh * kw, L)."""
