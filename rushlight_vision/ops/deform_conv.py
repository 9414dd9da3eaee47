"""Convolutions whose kernels look where offsets say: Dai et al., "Deformable Convolutional Networks", ICCV
2017; with weights of each place Zhu et al., "Deformable ConvNets v2", CVPR 2019.
"""

from __future__ import annotations

import math
from typing import Any

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.ops._utils import pair


def _places(out: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, like: Tensor) -> list[Tensor]:
    """Where an undeformed kernel looks along each axis: (K, 1, 1) + (1, out, 1) or (1, 1, out), broadcast."""
    cells = torch.meshgrid(*(torch.arange(k, device=like.device) for k in kernel), indexing="ij")
    found = []
    for axis in (0, 1):
        inside = cells[axis].reshape(-1, 1, 1) * dilation[axis]
        start = torch.arange(out[axis], device=like.device) * stride[axis] - padding[axis]
        found.append((inside + (start[:, None] if axis == 0 else start)).to(like))
    return found


def _sampled(images: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Bilinear samples (N, G, C, K) of images (N, G, C, H, W) at places (N, G, K), 0 beyond the edges."""
    height, width = images.shape[-2:]
    flat = images.flatten(-2)
    total: Any = 0
    top, left = y.detach().floor(), x.detach().floor()
    for down in (0, 1):
        row = top + down
        row_weight = 1 - (y - row).abs()
        for right in (0, 1):
            column = left + right
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            at = (row.clamp(0, height - 1) * width + column.clamp(0, width - 1)).long()
            weight = torch.where(inside, row_weight * (1 - (x - column).abs()), 0)
            found = flat.gather(-1, at[:, :, None].expand(-1, -1, flat.shape[2], -1))
            total = total + found * weight[:, :, None]
    sampled: Tensor = total
    return sampled


def _checked(input: Tensor, offset: Tensor, weight: Tensor, mask: Tensor | None, out: Any) -> tuple[int, int]:
    """How many groups weights and offsets have. RuntimeError for shapes that do not fit."""
    cells = weight.shape[2] * weight.shape[3]
    groups, places = input.shape[1] // weight.shape[1], offset.shape[1] // (2 * cells)
    if places == 0:
        raise RuntimeError(
            "the shape of the offset tensor at dimension 1 is not valid. It should be a multiple of 2 * "
            f"weight.size[2] * weight.size[3].\nGot offset.shape[1]={offset.shape[1]}, while 2 * "
            f"weight.size[2] * weight.size[3]={2 * cells}"
        )
    if input.shape[1] % weight.shape[1]:
        raise RuntimeError(
            f"input of {input.shape[1]} channels: expected a multiple of weight.shape[1]={weight.shape[1]}"
        )
    if weight.shape[0] % groups or input.shape[1] % places:
        raise RuntimeError(
            f"{input.shape[1]} channels of input and {weight.shape[0]} of the result: expected multiples of "
            f"{places} groups of offsets and of {groups} groups of weights"
        )
    wanted = (input.shape[0], places * 2 * cells, *out)
    if tuple(offset.shape) != wanted:
        raise RuntimeError(f"offset of shape {tuple(offset.shape)}: expected {wanted}")
    if mask is not None and tuple(mask.shape) != (input.shape[0], places * cells, *out):
        raise RuntimeError(
            f"mask of shape {tuple(mask.shape)}: expected {(input.shape[0], places * cells, *out)}"
        )
    return groups, places


def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = (1, 1),
    padding: Any = (0, 0),
    dilation: Any = (1, 1),
    mask: Tensor | None = None,
) -> Tensor:
    """The convolution of input (N, C, H, W) with weight (O, C / groups, kh, kw), whose cells are moved.

    offset: (N, G * kh * kw * 2, OH, OW), pairs (down, right) in pixels for each of G parts of the channels;
    mask: (N, G * kh * kw, OH, OW), what each sample is multiplied by, or None. Gives (N, O, OH, OW).
    """
    stride, padding, dilation = pair(stride), pair(padding), pair(dilation)
    n, channels, *space = input.shape
    kernel = weight.shape[2:]
    out = [(space[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in (0, 1)]
    groups, places = _checked(input, offset, weight, mask, out)
    cells = kernel[0] * kernel[1]
    moved = offset.reshape(n, places, cells, 2, *out)
    rows, columns = _places(out, kernel, stride, padding, dilation, offset)
    y, x = ((moved[:, :, :, i] + at).flatten(2) for i, at in enumerate((rows, columns)))
    images = input.reshape(n, places, channels // places, *space)
    sampled = _sampled(images, y, x)
    if mask is not None:
        sampled = sampled * mask.reshape(n, places, 1, -1)
    # (N, groups, channels of a group and cells, places of the result)
    patches = sampled.reshape(n, groups, channels // groups * cells, out[0] * out[1])
    result = torch.matmul(weight.reshape(groups, weight.shape[0] // groups, -1), patches)
    result = result.reshape(n, weight.shape[0], *out)
    return result if bias is None else result + bias[:, None, None]


class DeformConv2d(nn.Module):
    """`deform_conv2d` with its weights."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = pair(kernel_size), pair(stride)
        self.padding, self.dilation = pair(padding), pair(dilation)
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels // groups, *self.kernel_size))
        if bias:
            self.bias = nn.Parameter(torch.empty(out_channels))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """First values, as those of a convolution."""
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.weight[0].numel())
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        """input: (N, C, H, W); offset and mask as `deform_conv2d` says."""
        return deform_conv2d(
            input,
            offset,
            self.weight,
            self.bias,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            mask=mask,
        )

    def __repr__(self) -> str:
        shown = [str(self.in_channels), str(self.out_channels)]
        shown += [f"kernel_size={self.kernel_size}", f"stride={self.stride}"]
        shown += [f"padding={self.padding}"] if self.padding != (0, 0) else []
        shown += [f"dilation={self.dilation}"] if self.dilation != (1, 1) else []
        shown += [f"groups={self.groups}"] if self.groups != 1 else []
        shown += ["bias=False"] if self.bias is None else []
        return f"{type(self).__name__}({', '.join(shown)})"
