"""Norms of quantized tensors: the numbers are normalized, and the result has levels of its own."""

from __future__ import annotations

from typing import Any

from rushlight import nn
from rushlight.ao.nn.quantized import computing


def _quantized(kind: Any, name: str, module: str) -> Any:
    """The class of a float norm whose input and result are quantized; scale, zero_point: of the result."""

    def forward(self: Any, input: Any) -> Any:
        """Of a quantized tensor."""
        numbers = kind.forward(self, input.dequantize())
        return computing.again(input, numbers, self.scale, self.zero_point)

    def from_float(cls: Any, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of an observed one."""
        made = object.__new__(cls)
        nn.Module.__init__(made)
        for held in ("_parameters", "_buffers"):
            setattr(made, held, type(getattr(mod, held))(getattr(mod, held)))
        left_out = {"qconfig", "training", *vars(made)}
        made.__dict__.update({key: value for key, value in vars(mod).items() if key not in left_out})
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        made.scale, made.zero_point = float(scale), int(zero_point)
        return made.eval()

    members = {
        "__module__": module,
        "__doc__": f"nn.{name} of quantized tensors.",
        "forward": forward,
        "from_float": classmethod(from_float),
        "_get_name": lambda self: f"Quantized{name}",
        "scale": 1.0,
        "zero_point": 0,
    }
    return type(name, (kind,), members)


LayerNorm: Any = _quantized(nn.LayerNorm, "LayerNorm", __name__)
GroupNorm: Any = _quantized(nn.GroupNorm, "GroupNorm", __name__)
InstanceNorm1d: Any = _quantized(nn.InstanceNorm1d, "InstanceNorm1d", __name__)
InstanceNorm2d: Any = _quantized(nn.InstanceNorm2d, "InstanceNorm2d", __name__)
InstanceNorm3d: Any = _quantized(nn.InstanceNorm3d, "InstanceNorm3d", __name__)
