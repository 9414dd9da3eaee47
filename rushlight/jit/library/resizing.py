"""torch.nn.functional.interpolate and what calls it, as TorchScript."""

from __future__ import annotations

import math

import rushlight as torch
from rushlight import Tensor


def _check_interpolation(
    input: Tensor, size: list[int] | None, scale: list[float] | None, space: int
) -> None:
    if size is not None and scale is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None and len(size) != space:
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {input.size()[2:]} and output size of {size}. Please provide input tensor in "
            "(N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format."
        )
    if scale is not None and len(scale) != space:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input with "
            f"spatial dimensions of {input.size()[2:]} and scale_factor of shape {scale}. Please provide "
            "input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
        )


def _nearest(input: Tensor, sizes: list[int] | None, scales: list[float] | None) -> Tensor:
    if input.dim() == 3:
        return torch.upsample_nearest1d(input, sizes, scales)
    if input.dim() == 4:
        return torch.upsample_nearest2d(input, sizes, scales)
    return torch.upsample_nearest3d(input, sizes, scales)


def _nearest_exact(input: Tensor, sizes: list[int] | None, scales: list[float] | None) -> Tensor:
    if input.dim() == 3:
        return torch._upsample_nearest_exact1d(input, sizes, scales)
    if input.dim() == 4:
        return torch._upsample_nearest_exact2d(input, sizes, scales)
    return torch._upsample_nearest_exact3d(input, sizes, scales)


def _by_area(input: Tensor, sizes: list[int]) -> Tensor:
    if input.dim() == 3:
        return torch.adaptive_avg_pool1d(input, sizes)
    if input.dim() == 4:
        return torch.adaptive_avg_pool2d(input, sizes)
    return torch.adaptive_avg_pool3d(input, sizes)


def _smooth(
    input: Tensor,
    sizes: list[int] | None,
    scales: list[float] | None,
    mode: str,
    corners: bool,
    antialias: bool,
) -> Tensor:
    if mode == "bilinear":
        if antialias:
            return torch._upsample_bilinear2d_aa(input, sizes, corners, scales)
        return torch.upsample_bilinear2d(input, sizes, corners, scales)
    if mode == "bicubic":
        if antialias:
            return torch._upsample_bicubic2d_aa(input, sizes, corners, scales)
        return torch.upsample_bicubic2d(input, sizes, corners, scales)
    if mode == "linear":
        return torch.upsample_linear1d(input, sizes, corners, scales)
    return torch.upsample_trilinear3d(input, sizes, corners, scales)


def _space_of(mode: str, dims: int) -> int:
    if mode == "linear":
        return 1
    if mode == "bilinear" or (mode == "bicubic" and dims == 4):
        return 2
    if mode == "trilinear":
        return 3
    return 0


def interpolate(
    input: Tensor,
    size: list[int] | None = None,
    scale_factor: list[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
):
    sharp = mode == "nearest" or mode == "area" or mode == "nearest-exact"
    if align_corners is not None and sharp:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | "
            "bicubic | trilinear"
        )
    space = input.dim() - 2
    _check_interpolation(input, size, scale_factor, space)
    again = recompute_scale_factor is not None and recompute_scale_factor
    if again and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    sizes = size
    scales = scale_factor
    if scale_factor is not None and (again or mode == "area"):
        sizes = [math.floor(float(input.size(i + 2)) * scale_factor[i]) for i in range(space)]
        scales = None
    if antialias and not ((mode == "bilinear" or mode == "bicubic") and space == 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D "
            "tensor as input"
        )
    if sharp and space >= 1 and space <= 3:
        if mode == "nearest":
            return _nearest(input, sizes, scales)
        if mode == "nearest-exact":
            return _nearest_exact(input, sizes, scales)
        if sizes is not None:
            return _by_area(input, sizes)
    needed = _space_of(mode, input.dim())
    if needed == space and needed > 0:
        corners = False if align_corners is None else align_corners
        return _smooth(input, sizes, scales, mode, corners, antialias)
    if needed > 0 and space >= 1 and space <= 3:
        raise NotImplementedError(f"Got {space + 2}D input, but {mode} mode needs {needed + 2}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {space + 2}D) for the modes: "
        f"nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
    )


def upsample(
    input: Tensor,
    size: list[int] | None = None,
    scale_factor: list[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
):
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: list[int] | None = None, scale_factor: list[float] | None = None):
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: list[int] | None = None, scale_factor: list[float] | None = None):
    return interpolate(input, size, scale_factor, "bilinear", True)
