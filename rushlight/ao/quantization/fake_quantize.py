"""Fake quantization: modules that see a tensor as observers do, and round it to levels, with a gradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight.ao.quantization.observer import (
    FixedQParamsObserver,
    HistogramObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    _with_args,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
)
from rushlight.ao.quantization.utils import is_per_channel, is_per_tensor
from rushlight.ao.quantized_tensors import levels_over

Tensor = torch.Tensor


class FakeQuantizeBase(ABC, nn.Module):
    """What all have: whether they round (fake_quant_enabled) and whether they see (observer_enabled)."""

    fake_quant_enabled: Tensor
    observer_enabled: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", torch.tensor([1], dtype=torch.uint8))
        self.register_buffer("observer_enabled", torch.tensor([1], dtype=torch.uint8))

    @abstractmethod
    def forward(self, x: Any) -> Any:
        """The input, rounded to levels."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """(scale, zero_point) for what was seen."""

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Round from now on."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self) -> None:
        """Round no more."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """See from now on."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self) -> None:
        """See no more: scale and zero point stay."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> Any:
        """The constructor with arguments given beforehand."""
        return _with_args(cls, **kwargs)


class FakeQuantize(FakeQuantizeBase):
    """(clamp(round(x / scale) + zero_point, quant_min, quant_max) - zero_point) * scale.

    observer: a class of observers, made with `observer_kwargs`, which says what scale and zero_point are.
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int | None = None,
        quant_max: int | None = None,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise AssertionError("quant_min must be less than or equal to quant_max")
            dtype = observer_kwargs.get("dtype", torch.quint8)
            if hasattr(observer, "p"):
                dtype = getattr(observer.p, "keywords", {}).get("dtype", dtype)
            if torch.iinfo(dtype).min > quant_min:
                raise AssertionError("quant_min out of bound")
            if quant_max > torch.iinfo(dtype).max:
                raise AssertionError("quant_max out of bound")
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        seen = self.activation_post_process = observer(**observer_kwargs, is_dynamic=is_dynamic)
        self.quant_min, self.quant_max, self.is_dynamic = seen.quant_min, seen.quant_max, seen.is_dynamic
        floating = seen.qscheme is torch.per_channel_affine_float_qparams
        self.register_buffer("scale", torch.tensor([1.0], dtype=torch.float))
        self.register_buffer("zero_point", torch.tensor([0], dtype=torch.float if floating else torch.int))
        self.dtype, self.qscheme = seen.dtype, seen.qscheme
        self.ch_axis = getattr(seen, "ch_axis", -1)
        if not (is_per_channel(self.qscheme) or is_per_tensor(self.qscheme)):
            raise AssertionError(
                "Only per channel and per tensor quantization are supported in fake quantize got qscheme: "
                f"{self.qscheme}"
            )
        self.is_per_channel = is_per_channel(self.qscheme)

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """The observer's."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Any) -> Any:
        """The input, rounded to levels."""
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            scale, zero_point = self.calculate_qparams()
            if self.scale.shape != scale.shape:
                self.scale.resize_(scale.shape)
                self.zero_point.resize_(zero_point.shape)
            self.scale.copy_(scale)
            self.zero_point.copy_(zero_point)
        return self._rounded(X) if self.fake_quant_enabled[0] == 1 else X

    def _rounded(self, X: Any) -> Any:
        seen = self.activation_post_process
        if self.is_per_channel:
            return torch.fake_quantize_per_channel_affine(
                X, self.scale, self.zero_point, self.ch_axis, seen.quant_min, seen.quant_max
            )
        return torch.fake_quantize_per_tensor_affine(
            X, self.scale, self.zero_point, seen.quant_min, seen.quant_max
        )

    def extra_repr(self) -> str:
        """All that governs it."""
        seen = self.activation_post_process
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"quant_min={seen.quant_min}, quant_max={seen.quant_max}, dtype={self.dtype}, "
            f"qscheme={self.qscheme}, ch_axis={self.ch_axis}, "
            f"scale={self.scale}, zero_point={self.zero_point}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name in ("scale", "zero_point"):
            held = state_dict.get(prefix + name)
            if held is not None:
                getattr(self, name).resize_(held.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)  # type: ignore[misc]


class FixedQParamsFakeQuantize(FakeQuantize):
    """Fake quantization whose scale and zero point are given, by a FixedQParamsObserver."""

    def __init__(self, observer: Any) -> None:
        super().__init__(observer=observer)
        if type(self.activation_post_process) is not FixedQParamsObserver:
            raise AssertionError(
                f"{type(self).__name__}'s observer must be a {FixedQParamsObserver.__name__}"
            )
        self._observer_ctr = observer
        self.scale = self.activation_post_process.scale
        self.zero_point = self.activation_post_process.zero_point

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """What was given."""
        return self.scale, self.zero_point


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """FakeQuantize with a moving average of ranges, in one op."""

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int = 0,
        quant_max: int = 255,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        averaging = (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver)
        if not isinstance(self.activation_post_process, averaging):
            raise AssertionError(
                "Fused observer+fake_quant module only works with MovingAverageMinMaxObserver"
            )
        self.register_buffer("fake_quant_enabled", torch.tensor([1], dtype=torch.long))
        self.register_buffer("observer_enabled", torch.tensor([1], dtype=torch.long))
        self.is_symmetric_quant = self.qscheme in (torch.per_tensor_symmetric, torch.per_channel_symmetric)

    def extra_repr(self) -> str:
        """All that governs it."""
        seen = self.activation_post_process
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}, "
            f"quant_min={seen.quant_min}, quant_max={seen.quant_max}, qscheme={self.qscheme}, "
            f"reduce_range={seen.reduce_range}"
        )

    def forward(self, X: Any) -> Any:
        """The input, rounded to levels."""
        seen = self.activation_post_process
        return fused_moving_avg_obs_fake_quant(
            X,
            self.observer_enabled,
            self.fake_quant_enabled,
            seen.min_val,
            seen.max_val,
            self.scale,
            self.zero_point,
            seen.averaging_constant,
            seen.quant_min,
            seen.quant_max,
            self.ch_axis,
            self.is_per_channel,
            self.is_symmetric_quant,
        )


def _average(
    x: Tensor, running_min: Tensor, running_max: Tensor, constant: float, ch_axis: int, per_row: bool
) -> None:
    rows = x.transpose(0, ch_axis).flatten(1) if per_row else x.reshape(1, -1)
    least, most = (v if per_row else v.reshape(()) for v in torch.aminmax(rows, dim=1))
    if per_row and not running_min.numel():
        running_min.resize_(least.shape).fill_(float("inf"))
        running_max.resize_(most.shape).fill_(float("-inf"))
    for held, now in ((running_min, least), (running_max, most)):
        fresh = held.isinf()
        held.copy_(
            torch.where(fresh, now.reshape(held.shape), held + constant * (now.reshape(held.shape) - held))
        )


def fused_moving_avg_obs_fake_quant(
    input: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor,
    running_max: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Tensor:
    """Average the range, choose levels over it, and round the input to them, as far as the `..._on` say.

    running_min, running_max, scale and zero_point are changed in place.
    """
    if bool(observer_on.any()) and input.numel():
        _average(input.detach(), running_min, running_max, averaging_const, ch_axis, per_row_fake_quant)
        least, most = (v.double().numpy() for v in (running_min, running_max))
        found = levels_over(least, most, quant_min, quant_max, symmetric_quant)
        for held, now in zip((scale, zero_point), found):
            held.resize_(max(running_min.numel(), 1)).copy_(torch.from_numpy(now.reshape(-1)))
    if not bool(fake_quant_on.any()):
        return input.clone()
    if per_row_fake_quant:
        return torch.fake_quantize_per_channel_affine(input, scale, zero_point, ch_axis, quant_min, quant_max)
    return torch.fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max)


def _switch(method: str, doc: str) -> Any:
    def switch(mod: Any) -> None:
        if isinstance(mod, FakeQuantizeBase):
            getattr(mod, method)()

    switch.__name__ = switch.__qualname__ = method
    switch.__doc__ = f"{doc}, for `model.apply`; of other modules nothing."
    return switch


disable_fake_quant = _switch("disable_fake_quant", "Let a fake-quantize module round no more")
enable_fake_quant = _switch("enable_fake_quant", "Let a fake-quantize module round")
disable_observer = _switch("disable_observer", "Let a fake-quantize module see no more")
enable_observer = _switch("enable_observer", "Let a fake-quantize module see")

_UNSIGNED: dict[str, Any] = {"quant_min": 0, "quant_max": 255, "dtype": torch.quint8}
_SIGNED: dict[str, Any] = {"quant_min": -128, "quant_max": 127, "dtype": torch.qint8}
_WITHOUT_LEAST: dict[str, Any] = {"quant_min": -127, "quant_max": 127, "dtype": torch.qint8, "eps": 2**-12}
_TENSOR: dict[str, Any] = {"observer": MovingAverageMinMaxObserver, "qscheme": torch.per_tensor_symmetric}
_ROWS: dict[str, Any] = {
    "observer": MovingAveragePerChannelMinMaxObserver,
    "qscheme": torch.per_channel_symmetric,
}
_FLOAT_POINTS: dict[str, Any] = {
    "observer": MovingAveragePerChannelMinMaxObserver,
    "qscheme": torch.per_channel_affine_float_qparams,
    "ch_axis": 0,
    "averaging_constant": 1,
}

default_fake_quant: Any = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, qscheme=torch.per_tensor_affine, reduce_range=True, **_UNSIGNED
)
default_weight_fake_quant: Any = FakeQuantize.with_args(**_TENSOR, **_SIGNED, reduce_range=False)
default_dynamic_fake_quant: Any = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, is_dynamic=True, averaging_constant=1, **_UNSIGNED
)
default_fixed_qparams_range_neg1to1_fake_quant: Any = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer
)
default_fixed_qparams_range_0to1_fake_quant: Any = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_0to1_observer
)
default_symmetric_fixed_qparams_fake_quant: Any = default_fixed_qparams_range_neg1to1_fake_quant
default_affine_fixed_qparams_fake_quant: Any = default_fixed_qparams_range_0to1_fake_quant
default_per_channel_weight_fake_quant: Any = FakeQuantize.with_args(
    **_ROWS, **_SIGNED, reduce_range=False, ch_axis=0
)
default_embedding_fake_quant: Any = FakeQuantize.with_args(**_FLOAT_POINTS, **_UNSIGNED)
default_embedding_fake_quant_4bit: Any = FakeQuantize.with_args(**_FLOAT_POINTS, dtype=torch.quint4x2)
default_histogram_fake_quant: Any = FakeQuantize.with_args(
    observer=HistogramObserver, qscheme=torch.per_tensor_affine, reduce_range=True, **_UNSIGNED
)
default_fused_act_fake_quant: Any = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, **_UNSIGNED
)
default_fused_wt_fake_quant: Any = FusedMovingAvgObsFakeQuantize.with_args(**_TENSOR, **_SIGNED)
default_fused_per_channel_wt_fake_quant: Any = FusedMovingAvgObsFakeQuantize.with_args(**_ROWS, **_SIGNED)
fused_wt_fake_quant_range_neg_127_to_127: Any = FusedMovingAvgObsFakeQuantize.with_args(
    **_TENSOR, **_WITHOUT_LEAST
)
fused_per_channel_wt_fake_quant_range_neg_127_to_127: Any = FusedMovingAvgObsFakeQuantize.with_args(
    **_ROWS, **_WITHOUT_LEAST
)
