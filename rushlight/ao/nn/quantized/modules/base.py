"""What layers with a quantized weight share."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight.ao.nn.quantized.computing import quantized_weight

Tensor = torch.Tensor


class WeightedQuantizedModule(nn.Module):
    """A layer with a weight of levels: made by from_float of an observed one."""

    _float_module: Any = nn.Module
    scale: float
    zero_point: int

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized layer of an observed or fake-quantized one."""
        raise NotImplementedError

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)  # type: ignore[misc]
        destination[prefix + "scale"] = torch.tensor(self.scale)
        destination[prefix + "zero_point"] = torch.tensor(self.zero_point)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, *rest)  # type: ignore[misc]

    def _take_range(self, observer: Any) -> None:
        """The scale and zero point of the result, of an observer of it."""
        scale, zero_point = observer.calculate_qparams()
        self.scale, self.zero_point = float(scale), int(zero_point)


def observed_weight(mod: Any, weight: Tensor | None = None) -> Any:
    """The weight of an observed layer, or another in its place, at the levels of its observer."""
    weight = mod.weight if weight is None else weight
    if hasattr(mod, "weight_fake_quant"):
        observer = mod.weight_fake_quant
    else:
        observer = mod.qconfig.weight()
        observer(weight)
    if observer.dtype is not torch.qint8:
        raise AssertionError(f"Weight observer must have dtype torch.qint8, got {observer.dtype}")
    return quantized_weight(observer, weight.detach())
