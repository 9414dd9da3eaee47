"""Modules for arithmetic between tensors, so that its result can be observed and quantized."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight.ao.nn.quantized import computing
from rushlight.ao.quantized_tensors import Quantizer, limits, make

Tensor = torch.Tensor


class FloatFunctional(nn.Module):
    """add, mul, cat, ... of numbers, whose results go through `activation_post_process`."""

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process: Any = nn.Identity()

    def forward(self, x: Any) -> Any:
        """Refused: call one of the functions."""
        raise RuntimeError(
            "FloatFunctional is not intended to use the 'forward'. Please use the underlying operation"
        )

    def add(self, x: Tensor, y: Tensor) -> Any:
        """x + y."""
        return self.activation_post_process(torch.add(x, y))

    def add_scalar(self, x: Tensor, y: float) -> Any:
        """x + y, unobserved: the levels move with it."""
        return torch.add(x, y)

    def mul(self, x: Tensor, y: Tensor) -> Any:
        """x * y."""
        return self.activation_post_process(torch.mul(x, y))

    def mul_scalar(self, x: Tensor, y: float) -> Any:
        """x * y, unobserved: the scale grows with it."""
        return torch.mul(x, y)

    def cat(self, x: list[Tensor], dim: int = 0) -> Any:
        """torch.cat."""
        return self.activation_post_process(torch.cat(x, dim=dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Any:
        """relu(x + y)."""
        return self.activation_post_process(nn.functional.relu(torch.add(x, y)))

    def matmul(self, x: Tensor, y: Tensor) -> Any:
        """x @ y."""
        return self.activation_post_process(torch.matmul(x, y))


class FXFloatFunctional(nn.Module):
    """The same without observers."""

    def forward(self, x: Any) -> Any:
        """Refused: call one of the functions."""
        raise RuntimeError(
            "FloatFunctional is not intended to use the 'forward'. Please use the underlying operation"
        )

    add = staticmethod(torch.add)
    add_scalar = staticmethod(torch.add)
    mul = staticmethod(torch.mul)
    mul_scalar = staticmethod(torch.mul)
    cat = staticmethod(torch.cat)
    matmul = staticmethod(torch.matmul)

    def add_relu(self, x: Tensor, y: Tensor) -> Any:
        """relu(x + y)."""
        return nn.functional.relu(torch.add(x, y))


class QFunctional(nn.Module):
    """The same of quantized tensors; scale, zero_point: of the results."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.zero_point = 1.0, 0
        self.activation_post_process: Any = nn.Identity()

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)  # type: ignore[misc]
        destination[prefix + "scale"] = torch.tensor(self.scale)
        destination[prefix + "zero_point"] = torch.tensor(self.zero_point)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, metadata: Any, strict: Any, *rest: Any
    ) -> None:
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, metadata, False, *rest)  # type: ignore[misc]

    def _get_name(self) -> str:
        return "QFunctional"

    def extra_repr(self) -> str:
        """How results are quantized."""
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def forward(self, x: Any) -> Any:
        """Refused: call one of the functions."""
        raise RuntimeError(
            "Functional is not intended to use the 'forward'. Please use the underlying operation"
        )

    def add(self, x: Any, y: Any) -> Any:
        """x + y."""
        return self.activation_post_process(computing.add(x, y, self.scale, self.zero_point))

    def add_scalar(self, x: Any, y: float) -> Any:
        """x + y, at levels that span what x's levels did and y."""
        low, high = limits(x.dtype)
        shift = round(y / x.q_scale())
        point = x.q_zero_point() - shift
        if low <= point <= high:
            return make(x.levels, x.dtype, Quantizer(x.q_scale(), point))
        return computing.again(x, x.dequantize() + y, x.q_scale(), x.q_zero_point())

    def mul(self, x: Any, y: Any) -> Any:
        """x * y."""
        return self.activation_post_process(computing.mul(x, y, self.scale, self.zero_point))

    def mul_scalar(self, x: Any, y: float) -> Any:
        """x * y: the same levels of another scale."""
        if y < 0:
            low, high = limits(x.dtype)
            held = Quantizer(x.q_scale() * -y, high - (x.q_zero_point() - low))
            return make(low + high - x.levels, x.dtype, held)
        if y == 0:
            return make(torch.zeros_like(x.levels), x.dtype, Quantizer(1.0, 0))
        return make(x.levels, x.dtype, Quantizer(x.q_scale() * y, x.q_zero_point()))

    def cat(self, x: list[Any], dim: int = 0) -> Any:
        """torch.cat."""
        numbers = torch.cat([t.dequantize() for t in x], dim=dim)
        return self.activation_post_process(computing.again(x[0], numbers, self.scale, self.zero_point))

    def add_relu(self, x: Any, y: Any) -> Any:
        """relu(x + y)."""
        return self.activation_post_process(computing.add(x, y, self.scale, self.zero_point, relu=True))

    def matmul(self, x: Any, y: Any) -> Any:
        """x @ y."""
        numbers = torch.matmul(x.dequantize(), y.dequantize())
        return computing.again(x, numbers, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> QFunctional:
        """Of an observed FloatFunctional."""
        if type(mod) is not FloatFunctional:
            raise AssertionError("QFunctional.from_float expects an instance of FloatFunctional")
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        made = cls()
        made.scale, made.zero_point = float(scale), int(zero_point)
        return made
