"""PixelShuffle and PixelUnshuffle: between channels and space."""
from rushlight.nn.modules.function_module import FunctionModule


class PixelShuffle(FunctionModule, function="pixel_shuffle", upscale_factor=int):
    """(*, C * r * r, H, W) -> (*, C, H * r, W * r)."""


class PixelUnshuffle(FunctionModule, function="pixel_unshuffle", downscale_factor=int):
    """(*, C, H * r, W * r) -> (*, C * r * r, H, W)."""
