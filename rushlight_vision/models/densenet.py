"""DenseNet: Huang et al., "Densely Connected Convolutional Networks", CVPR 2017."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight.utils.checkpoint import checkpoint
from rushlight_vision.models._api import builder, enums


class _DenseLayer(nn.Module):
    """What all layers before gave, through a bottleneck of 1x1, to `growth_rate` new channels."""

    def __init__(
        self, inputs: int, growth_rate: int, bn_size: int, drop_rate: float, memory_efficient: bool
    ) -> None:
        super().__init__()
        width = bn_size * growth_rate
        self.norm1, self.relu1 = nn.BatchNorm2d(inputs), nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(inputs, width, kernel_size=1, stride=1, bias=False)
        self.norm2, self.relu2 = nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(width, growth_rate, kernel_size=3, stride=1, padding=1, bias=False)
        self.drop_rate, self.memory_efficient = float(drop_rate), memory_efficient

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        # The published files are older than these names: norm.1.weight is norm1.weight today.
        for key in list(state_dict):
            name = re.sub(r"^(norm|conv)\.([12])\.", r"\1\2.", key.removeprefix(prefix))
            if key.startswith(prefix) and prefix + name != key:
                state_dict[prefix + name] = state_dict.pop(key)
        load: Any = getattr(super(), "_load_from_state_dict")
        load(state_dict, prefix, *args)

    def bn_function(self, inputs: list[Tensor]) -> Tensor:
        """The bottleneck."""
        return self.conv1(self.relu1(self.norm1(torch.cat(inputs, 1))))

    def any_requires_grad(self, input: list[Tensor]) -> bool:
        """Whether a gradient is wanted of one of them."""
        for tensor in input:  # noqa: SIM110 - scripts know no generators
            if tensor.requires_grad:
                return True
        return False

    @torch.jit.unused
    def call_checkpoint_bottleneck(self, input: list[Tensor]) -> Tensor:
        """The bottleneck, computed again in the backward pass."""

        def again(*inputs: Tensor) -> Tensor:
            return self.bn_function(list(inputs))

        found: Tensor = checkpoint(again, *input, use_reentrant=False)
        return found

    def forward(self, input: Tensor | list[Tensor]) -> Tensor:
        """input: features (N, C_i, H, W) of all layers before."""
        before = [input] if isinstance(input, Tensor) else input
        if self.memory_efficient and self.any_requires_grad(before):
            narrow = self.call_checkpoint_bottleneck(before)
        else:
            narrow = self.bn_function(before)
        new = self.conv2(self.relu2(self.norm2(narrow)))
        return F.dropout(new, p=self.drop_rate, training=self.training) if self.drop_rate > 0 else new


class _DenseBlock(nn.ModuleDict):
    def __init__(
        self,
        layers: int,
        inputs: int,
        bn_size: int,
        growth_rate: int,
        drop_rate: float,
        memory_efficient: bool,
    ) -> None:
        super().__init__()
        for i in range(layers):
            seen = inputs + i * growth_rate
            self[f"denselayer{i + 1}"] = _DenseLayer(seen, growth_rate, bn_size, drop_rate, memory_efficient)

    def forward(self, init_features: Tensor) -> Tensor:
        """init_features: (N, C, H, W)."""
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return torch.cat(features, 1)


def _transition(inputs: int, outputs: int) -> nn.Sequential:
    return _Transition(
        OrderedDict(
            norm=nn.BatchNorm2d(inputs),
            relu=nn.ReLU(inplace=True),
            conv=nn.Conv2d(inputs, outputs, kernel_size=1, stride=1, bias=False),
            pool=nn.AvgPool2d(kernel_size=2, stride=2),
        )
    )


class _Transition(nn.Sequential):
    """Fewer channels, at half the size."""


class DenseNet(nn.Module):
    """Blocks in which each layer sees all before it, with transitions between."""

    def __init__(
        self,
        growth_rate: int = 32,
        block_config: Any = (6, 12, 24, 16),
        num_init_features: int = 64,
        bn_size: int = 4,
        drop_rate: float = 0,
        num_classes: int = 1000,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        self.features = nn.Sequential(
            OrderedDict(
                conv0=nn.Conv2d(3, num_init_features, kernel_size=7, stride=2, padding=3, bias=False),
                norm0=nn.BatchNorm2d(num_init_features),
                relu0=nn.ReLU(inplace=True),
                pool0=nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
            )
        )
        width = num_init_features
        for i, layers in enumerate(block_config, 1):
            block = _DenseBlock(layers, width, bn_size, growth_rate, drop_rate, memory_efficient)
            self.features.add_module(f"denseblock{i}", block)
            width += layers * growth_rate
            if i != len(block_config):
                self.features.add_module(f"transition{i}", _transition(width, width // 2))
                width //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(width))  # however many blocks there are
        self.classifier = nn.Linear(width, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight)
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
            elif isinstance(m, nn.Linear):
                nn.init.constant_(m.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, 3, H, W); gives (N, num_classes)."""
        out = F.adaptive_avg_pool2d(F.relu(self.features(x), inplace=True), (1, 1))
        return self.classifier(torch.flatten(out, 1))


def _densenet(name: str, block_config: tuple[int, ...], growth_rate: int = 32) -> Any:
    return builder(
        DenseNet, name, growth_rate=growth_rate, block_config=block_config, num_init_features=2 * growth_rate
    )


densenet121 = _densenet("densenet121", (6, 12, 24, 16))
densenet161 = _densenet("densenet161", (6, 12, 36, 24), 48)
densenet169 = _densenet("densenet169", (6, 12, 32, 32))
densenet201 = _densenet("densenet201", (6, 12, 48, 32))
__getattr__ = enums(__name__)
