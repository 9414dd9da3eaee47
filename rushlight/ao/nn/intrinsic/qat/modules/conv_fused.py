"""Convolutions with a batch norm, trained as the one convolution that they will be."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight.ao.nn.intrinsic.modules import fused
from rushlight.ao.nn.qat.modules import conv as qat
from rushlight.ao.nn.qat.modules.linear import float_parts

F = nn.functional


class _ConvBnNd(nn.modules.conv._ConvNd, fused._FusedModule):
    """conv(x, round(weight * norm.weight / std)) / (norm.weight / std) + bias, then the norm.

    So the weight that is rounded is that of the one convolution that both become; std: of running_var.
    """

    _FLOAT_MODULE: Any = None
    _float_conv: Any = nn.Conv2d
    _norm: Any = nn.BatchNorm2d
    _relu = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: Any = None,
        padding_mode: str = "zeros",
        eps: float = 1e-05,
        momentum: float = 0.1,
        freeze_bn: bool = False,
        qconfig: Any = None,
    ) -> None:
        self._float_conv.__init__(
            self,
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            False,
            padding_mode,
        )
        if bias:
            self.bias = nn.Parameter(torch.empty(out_channels))
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.freeze_bn = freeze_bn if self.training else True
        self.bn = self._norm(out_channels, eps, momentum, True, True)
        self.weight_fake_quant = qconfig.weight()
        self.reset_bn_parameters()
        self.update_bn_stats() if self.training and not freeze_bn else self.freeze_bn_stats()

    def reset_running_stats(self) -> None:
        """Forget the running mean and variance."""
        self.bn.reset_running_stats()

    def reset_bn_parameters(self) -> None:
        """The norm as at first, with a weight drawn between 0 and 1."""
        self.bn.reset_running_stats()
        nn.init.uniform_(self.bn.weight)
        nn.init.zeros_(self.bn.bias)
        if self.bias is not None:
            bound = 1 / nn.init._calculate_fan_in_and_fan_out(self.weight)[0] ** 0.5
            nn.init.uniform_(self.bias, -bound, bound)

    def update_bn_stats(self) -> Any:
        """Let the norm see batches, in training."""
        self.freeze_bn, self.bn.training = False, True
        return self

    def freeze_bn_stats(self) -> Any:
        """Let the norm keep what it saw, in training, too."""
        self.freeze_bn, self.bn.training = True, False
        return self

    def train(self, mode: bool = True) -> Any:
        """As of other modules; a frozen norm stays frozen."""
        self.training = mode
        if not self.freeze_bn:
            for module in self.children():
                module.train(mode)
        return self

    def extra_repr(self) -> str:
        """The convolution's options."""
        return self._float_conv.extra_repr(self)  # type: ignore[no-any-return]

    def forward(self, input: Any) -> Any:
        """The convolution and the norm, and relu where that belongs to them."""
        factor = self.bn.weight / torch.sqrt(self.bn.running_var + self.bn.eps)
        ndim = self.weight.ndim
        rows, channels = [-1] + [1] * (ndim - 1), [1, -1] + [1] * (ndim - 2)
        weight = self.weight_fake_quant(self.weight * factor.reshape(rows))
        zeros = torch.zeros(self.out_channels, device=weight.device, dtype=input.dtype)
        found = self._conv_forward(input, weight, zeros) / factor.reshape(channels)
        if self.bias is not None:
            found = found + self.bias.reshape(channels)
        found = self.bn(found)
        return F.relu(found) if self._relu else found

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of a fused float one; the parameters are the same."""
        conv, norm = float_parts(mod), mod[1]
        made = cls(**qat.options_of(conv), eps=norm.eps, momentum=norm.momentum, qconfig=mod.qconfig)
        made.weight, made.bias = conv.weight, conv.bias
        for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            setattr(made.bn, name, getattr(norm, name))
        return made

    def to_float(self) -> Any:
        """The float convolution that it has become, with relu where that belongs to it."""
        conv = self._float_conv(**{**qat.options_of(self), "bias": True})
        norm = self.bn
        weight, bias = nn.utils.fusion.fuse_conv_bn_weights(
            self.weight, self.bias, norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias
        )
        conv.weight, conv.bias = nn.Parameter(weight.detach()), nn.Parameter(bias.detach())
        conv.train(self.training)
        return conv


def _with_norm(name: str, dims: int, relu: bool) -> Any:
    conv = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[dims - 1]
    norm = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[dims - 1]
    members = {
        "__module__": __name__,
        "__doc__": f"Conv{dims}d, BatchNorm{dims}d{' and ReLU' if relu else ''} as one, fake-quantized.",
        "_FLOAT_MODULE": getattr(fused, name),
        "_float_conv": conv,
        "_norm": norm,
        "_relu": relu,
    }
    return type(name, (_ConvBnNd, conv), members)


ConvBn1d, ConvBn2d, ConvBn3d = (_with_norm(f"ConvBn{n}d", n, False) for n in (1, 2, 3))
ConvBnReLU1d, ConvBnReLU2d, ConvBnReLU3d = (_with_norm(f"ConvBnReLU{n}d", n, True) for n in (1, 2, 3))


def _with_relu(dims: int) -> Any:
    def forward(self: Any, input: Any) -> Any:
        """The convolution with its weight rounded, and relu."""
        return F.relu(self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias))

    name = f"ConvReLU{dims}d"
    members = {
        "__module__": __name__,
        "__doc__": f"Conv{dims}d and ReLU, fake-quantized.",
        "forward": forward,
    }
    return type(name, (getattr(qat, f"Conv{dims}d"), fused._FusedModule), members)


ConvReLU1d, ConvReLU2d, ConvReLU3d = (_with_relu(n) for n in (1, 2, 3))


def update_bn_stats(mod: Any) -> None:
    """Let the norm of a fused layer see batches, for `model.apply`."""
    if isinstance(mod, _ConvBnNd):
        mod.update_bn_stats()


def freeze_bn_stats(mod: Any) -> None:
    """Let the norm of a fused layer keep what it saw, for `model.apply`."""
    if isinstance(mod, _ConvBnNd):
        mod.freeze_bn_stats()
