"""What models share: widths, and a model cut where its features are wanted."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from rushlight import Tensor, nn
from rushlight_vision.models._legacy import (
    handle_legacy_interface as handle_legacy_interface,
    sequence_to_str as sequence_to_str,
)


class IntermediateLayerGetter(nn.ModuleDict):
    """A model's children up to the last one wanted; gives their results by the names in `return_layers`."""

    def __init__(self, model: nn.Module, return_layers: dict[str, str]) -> None:
        children = OrderedDict(model.named_children())
        if not set(return_layers) <= set(children):
            raise ValueError("return_layers are not present in model")
        wanted = {str(k): str(v) for k, v in return_layers.items()}
        last = max(list(children).index(name) for name in wanted)
        super().__init__(OrderedDict(list(children.items())[: last + 1]))
        self.return_layers = wanted

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """x: what the model's first child takes."""
        found: dict[str, Tensor] = OrderedDict()
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                found[self.return_layers[name]] = x
        return found


def _make_divisible(v: float, divisor: int, min_value: int | None = None) -> int:
    """The multiple of divisor nearest to v, not under 90 % of it."""
    found = max(min_value or divisor, int(v + divisor / 2) // divisor * divisor)
    return found + divisor if found < 0.9 * v else found


def _ovewrite_named_param(kwargs: dict[str, Any], param: str, new_value: Any) -> None:
    """kwargs[param] = new_value; ValueError where it has another one."""
    if param in kwargs and kwargs[param] != new_value:
        raise ValueError(
            f"The parameter '{param}' expected value {new_value} but got {kwargs[param]} instead."
        )
    kwargs[param] = new_value


def _ovewrite_value_param(param: str, actual: Any, expected: Any) -> Any:
    """`expected`; ValueError where `actual` is something else that is not None."""
    if actual is not None and actual != expected:
        raise ValueError(f"The parameter '{param}' expected value {expected} but got {actual} instead.")
    return expected


def start_plainly(model: nn.Module) -> None:
    """First values: convolutions by what they give (He), norms that change nothing, small linear layers."""
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode="fan_out")
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
            nn.init.ones_(m.weight)
            nn.init.zeros_(m.bias)
        elif isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, 0, 0.01)
            nn.init.zeros_(m.bias)
