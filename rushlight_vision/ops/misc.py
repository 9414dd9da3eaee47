"""Layers that vision models share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight import Tensor, nn

interpolate = nn.functional.interpolate  # as torchvision still has it, for detectors that import it from here


class FrozenBatchNorm2d(nn.Module):
    """Batch norm whose statistics and weights are buffers that never change."""

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        for name, value in (("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1)):
            self.register_buffer(name, torch.full((num_features,), float(value)))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        state_dict.pop(prefix + "num_batches_tracked", None)
        load: Any = getattr(super(), "_load_from_state_dict")
        load(state_dict, prefix, *args)

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, C, H, W)."""
        weight, bias, mean, var = (t.reshape(1, -1, 1, 1) for t in self.buffers())
        scale = weight * (var + self.eps).rsqrt()
        return x * scale + (bias - mean * scale)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight.shape[0]}, eps={self.eps})"


class ConvNormActivation(nn.Sequential):
    """A convolution that keeps the size (unless stride says otherwise), a norm, an activation."""

    conv: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = 3,
        stride: Any = 1,
        padding: Any = None,
        groups: int = 1,
        norm_layer: Callable[..., nn.Module] | None = None,
        activation_layer: Callable[..., nn.Module] | None = nn.ReLU,
        dilation: Any = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        if padding is None:
            if isinstance(kernel_size, int) and isinstance(dilation, int):
                padding = (kernel_size - 1) // 2 * dilation
            else:
                n = len(kernel_size) if isinstance(kernel_size, Sequence) else len(dilation)
                sizes = (kernel_size,) * n if isinstance(kernel_size, int) else kernel_size
                steps = (dilation,) * n if isinstance(dilation, int) else dilation
                padding = tuple((k - 1) // 2 * d for k, d in zip(sizes, steps, strict=True))
        layers = [
            self.conv(
                in_channels,
                out_channels,
                kernel_size,
                stride,
                padding,
                dilation=dilation,
                groups=groups,
                bias=norm_layer is None if bias is None else bias,
            )
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*layers)
        self.out_channels = out_channels


class Conv2dNormActivation(ConvNormActivation):
    """Convolution of images, batch norm, ReLU; each may be another, or None."""

    conv = nn.Conv2d

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = 3,
        stride: Any = 1,
        padding: Any = None,
        groups: int = 1,
        norm_layer: Any = nn.BatchNorm2d,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, groups, norm_layer, *args, **kwargs
        )


class Conv3dNormActivation(ConvNormActivation):
    """The same for volumes."""

    conv = nn.Conv3d

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = 3,
        stride: Any = 1,
        padding: Any = None,
        groups: int = 1,
        norm_layer: Any = nn.BatchNorm3d,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, groups, norm_layer, *args, **kwargs
        )


class SqueezeExcitation(nn.Module):
    """Channels weighed by what all pixels together say (Hu et al., CVPR 2018)."""

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Any = nn.ReLU,
        scale_activation: Any = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation, self.scale_activation = activation(), scale_activation()

    def _scale(self, input: Tensor) -> Tensor:
        """The weight of each channel, (N, C, 1, 1)."""
        found: Tensor = self.scale_activation(self.fc2(self.activation(self.fc1(self.avgpool(input)))))
        return found

    def forward(self, input: Tensor) -> Tensor:
        """input: (N, C, H, W)."""
        return self._scale(input) * input


class MLP(nn.Sequential):
    """Linear layers of the widths in `hidden_channels`, with norm, activation and dropout between."""

    def __init__(
        self,
        in_channels: int,
        hidden_channels: list[int],
        norm_layer: Any = None,
        activation_layer: Any = nn.ReLU,
        inplace: bool | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        how = {} if inplace is None else {"inplace": inplace}
        layers: list[nn.Module] = []
        for width in hidden_channels[:-1]:
            layers.append(nn.Linear(in_channels, width, bias=bias))
            layers += [norm_layer(width)] if norm_layer is not None else []
            layers += [activation_layer(**how), nn.Dropout(dropout, **how)]
            in_channels = width
        layers += [nn.Linear(in_channels, hidden_channels[-1], bias=bias), nn.Dropout(dropout, **how)]
        super().__init__(*layers)


class Permute(nn.Module):
    """x.permute(dims)."""

    def __init__(self, dims: list[int]) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: Tensor) -> Tensor:
        """x: any tensor with as many dims as `dims` has."""
        return torch.permute(x, self.dims)
