"""Layers that belong together: a Sequential of each kind, which conversion treats as one."""

from __future__ import annotations

from typing import Any

from rushlight import nn
from rushlight.nn.utils.parametrize import type_before_parametrizations


class _FusedModule(nn.Sequential):
    """A Sequential of parts of fixed classes."""

    _PARTS: tuple[Any, ...] = ()

    def __init__(self, *parts: Any) -> None:
        for part, wanted in zip(parts, self._PARTS):
            if not issubclass(type_before_parametrizations(part), wanted):
                given = "".join(str(type_before_parametrizations(p)) for p in parts)
                raise AssertionError(f"Incorrect types for input modules{given}")
        super().__init__(*parts)


def _fused(name: str, *parts: Any) -> Any:
    doc = f"{', '.join(part.__name__ for part in parts)}, one after the other."
    return type(name, (_FusedModule,), {"__module__": __name__, "__doc__": doc, "_PARTS": parts})


ConvReLU1d: Any = _fused("ConvReLU1d", nn.Conv1d, nn.ReLU)
ConvReLU2d: Any = _fused("ConvReLU2d", nn.Conv2d, nn.ReLU)
ConvReLU3d: Any = _fused("ConvReLU3d", nn.Conv3d, nn.ReLU)
LinearReLU: Any = _fused("LinearReLU", nn.Linear, nn.ReLU)
ConvBn1d: Any = _fused("ConvBn1d", nn.Conv1d, nn.BatchNorm1d)
ConvBn2d: Any = _fused("ConvBn2d", nn.Conv2d, nn.BatchNorm2d)
ConvBn3d: Any = _fused("ConvBn3d", nn.Conv3d, nn.BatchNorm3d)
ConvBnReLU1d: Any = _fused("ConvBnReLU1d", nn.Conv1d, nn.BatchNorm1d, nn.ReLU)
ConvBnReLU2d: Any = _fused("ConvBnReLU2d", nn.Conv2d, nn.BatchNorm2d, nn.ReLU)
ConvBnReLU3d: Any = _fused("ConvBnReLU3d", nn.Conv3d, nn.BatchNorm3d, nn.ReLU)
BNReLU2d: Any = _fused("BNReLU2d", nn.BatchNorm2d, nn.ReLU)
BNReLU3d: Any = _fused("BNReLU3d", nn.BatchNorm3d, nn.ReLU)
LinearBn1d: Any = _fused("LinearBn1d", nn.Linear, nn.BatchNorm1d)
LinearLeakyReLU: Any = _fused("LinearLeakyReLU", nn.Linear, nn.LeakyReLU)
LinearTanh: Any = _fused("LinearTanh", nn.Linear, nn.Tanh)
