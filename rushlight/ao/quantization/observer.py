"""Observers: modules that return their input as it is, and see which levels its numbers need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.callers import warn
from rushlight.ao.quantization.utils import (
    calculate_qmin_qmax,
    check_min_max_valid,
    is_per_channel,
    is_per_tensor,
    validate_qmin_qmax,
)

Tensor = torch.Tensor
_EPS = torch.finfo(torch.float32).eps


class _PartialWrapper:
    """A constructor with arguments given beforehand; those with a callable are made anew at each call."""

    def __init__(self, p: partial[Any]) -> None:
        self.p = p
        self.callable_args: dict[str, Callable[[], Any]] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Construct."""
        late = {name: make() for name, make in self.callable_args.items() if name not in keywords}
        return self.p(*args, **{**keywords, **late})

    def __repr__(self) -> str:
        return repr(self.p) + repr(self.callable_args)

    def with_args(self, **kwargs: Any) -> _PartialWrapper:
        """The same with more arguments."""
        return _with_args(self, **kwargs)

    def with_callable_args(self, **kwargs: Any) -> _PartialWrapper:
        """The same with arguments that a call makes."""
        made = self.with_args()
        made.callable_args = {**self.callable_args, **kwargs}
        return made


def _with_args(cls_or_self: Any, **kwargs: Any) -> _PartialWrapper:
    return _PartialWrapper(partial(cls_or_self, **kwargs))


def _with_callable_args(cls_or_self: Any, **kwargs: Any) -> _PartialWrapper:
    return _with_args(cls_or_self).with_callable_args(**kwargs)


class ObserverBase(ABC, nn.Module):
    """What all observers have: `forward(x)` sees a tensor, `calculate_qparams()` gives (scale, zero_point).

    dtype: of the levels. is_dynamic: the range is that of each call, not of all.
    """

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    @abstractmethod
    def forward(self, x: Any) -> Any:
        """See a tensor, and return it."""

    if TYPE_CHECKING:  # each class takes arguments of its own
        calculate_qparams: Callable[..., Any]
    else:

        @abstractmethod
        def calculate_qparams(self, **kwargs: Any) -> Any:
            """(scale, zero_point) for what was seen."""

    @classmethod
    def with_args(cls, **kwargs: Any) -> Any:
        """The constructor with arguments given beforehand."""
        return _with_args(cls, **kwargs)

    @classmethod
    def with_callable_args(cls, **kwargs: Any) -> Any:
        """The constructor with arguments that each call makes."""
        return _with_callable_args(cls, **kwargs)


class UniformQuantizationObserverBase(ObserverBase):
    """Observers of levels at equal distances.

    qscheme: of tensors or channels, affine or symmetric (then zero lies in the middle of the levels).
    reduce_range: levels of one bit less, for kernels whose sums could overflow. quant_min, quant_max: the
    levels, by default all of the dtype. eps: the least scale.
    """

    _version = 3
    eps: Tensor

    def __init__(
        self,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.qscheme = qscheme
        if reduce_range:
            warn(
                "Please use quant_min and quant_max to specify the range for observers. "
                "                    reduce_range will be deprecated in a future release of PyTorch."
            )
        self.reduce_range = reduce_range
        self.register_buffer("eps", torch.tensor([eps], **(factory_kwargs or {})))
        if not (is_per_tensor(qscheme) or is_per_channel(qscheme)):
            raise AssertionError(
                "Default Observer only works for per_tensor_affine, per_tensor_symmetric, "
                "per_channel_affine, per_channel_symmetric and per_channel_float_qparams quantization scheme"
            )
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if self.has_customized_qrange:
            validate_qmin_qmax(quant_min, quant_max)
        self.quant_min, self.quant_max = calculate_qmin_qmax(
            quant_min, quant_max, self.has_customized_qrange, dtype, reduce_range
        )

    def _calculate_qparams(self, min_val: Tensor, max_val: Tensor) -> tuple[Tensor, Tensor]:
        """(scale, zero_point), of one element or of each channel, for numbers from min_val to max_val."""
        if not check_min_max_valid(min_val, max_val):
            return torch.tensor([1.0]), torch.tensor([0])
        low, high = self.quant_min, self.quant_max
        least, most = min_val.clamp(max=0.0), max_val.clamp(min=0.0)
        zero_point = torch.zeros(least.shape, dtype=torch.int64, device=least.device)
        eps = self.eps.to(least.device)
        if self.qscheme in (torch.per_tensor_symmetric, torch.per_channel_symmetric):
            most = torch.max(-least, most)
            scale = torch.max(most / ((high - low) / 2.0), eps)
            if self.dtype in (torch.quint8, torch.uint8):
                zero_point.fill_((low + high) // 2 if self.has_customized_qrange else 128)
            elif self.dtype is torch.uint16:
                zero_point.fill_((low + high) // 2 if self.has_customized_qrange else 2**15)
        elif self.qscheme is torch.per_channel_affine_float_qparams:
            scale = (max_val - min_val) / float(high - low)
            scale = torch.where(scale > eps, scale, torch.ones_like(scale))
            zero_point = -1.0 * min_val / scale
        else:
            scale = torch.max((most - least) / float(high - low), eps)
            zero_point = (low - torch.round(least / scale).to(torch.int)).clamp(low, high)
        if scale.ndim == 0:
            scale = scale.reshape(1)
        if zero_point.ndim == 0:
            zero_point = zero_point.reshape(1)
        return scale, zero_point

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        raise NotImplementedError("Cannot reset min/max values in the given observer.")

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *rest: Any
    ) -> None:
        version = local_metadata.get("version", None)
        if version is None or version == 1:  # files of before there was a least scale
            self.register_buffer("eps", torch.tensor([_EPS]))
            state_dict[prefix + "eps"] = self.eps
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, *rest)


def _refuse_unsigned_half(dtype: Any, qscheme: Any, reduce_range: bool) -> None:
    if qscheme is torch.per_tensor_symmetric and reduce_range and dtype is torch.quint8:
        raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")


class MinMaxObserver(UniformQuantizationObserverBase):
    """The range of all numbers that were seen: buffers min_val and max_val, of no dims."""

    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if not is_per_tensor(qscheme):
            raise NotImplementedError(
                "MinMaxObserver's qscheme only support torch.per_tensor_symmetric                     "
                "and torch.per_tensor_affine."
            )
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs
        )
        self.register_buffer("min_val", torch.tensor(float("inf"), **(factory_kwargs or {})))
        self.register_buffer("max_val", torch.tensor(float("-inf"), **(factory_kwargs or {})))
        _refuse_unsigned_half(dtype, qscheme, reduce_range)

    def forward(self, x_orig: Any) -> Any:
        """See a tensor, and return it."""
        if x_orig.numel():
            least, most = torch.aminmax(x_orig.detach().to(self.min_val.dtype))
            self._take(torch.min(least, self.min_val), torch.max(most, self.max_val))
        return x_orig

    def _take(self, least: Tensor, most: Tensor) -> None:
        self.min_val.copy_(least)
        self.max_val.copy_(most)

    def calculate_qparams(self) -> Any:
        """(scale, zero_point), of one element each."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        """The range."""
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val.copy_(torch.tensor(float("inf")))
        self.max_val.copy_(torch.tensor(float("-inf")))


def _averaged(observer: Any, least: Tensor, most: Tensor) -> tuple[Tensor, Tensor]:
    """The range of an observer that takes the moving average, after a call with this one."""
    share = observer.averaging_constant
    known = observer.min_val, observer.max_val
    return known[0] + share * (least - known[0]), known[1] + share * (most - known[1])


class MovingAverageMinMaxObserver(MinMaxObserver):
    """The moving average of ranges: range += averaging_constant * (range of the call - range)."""

    def __init__(
        self,
        averaging_constant: float = 0.01,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if not is_per_tensor(qscheme):
            raise NotImplementedError(
                "MovingAverageMinMaxObserver's qscheme only support torch.per_tensor_symmetric "
                f"and torch.per_tensor_affine. but got: {qscheme}"
            )
        self.averaging_constant = averaging_constant
        if is_dynamic and averaging_constant != 1:
            raise NotImplementedError(
                "MovingAverageMinMaxObserver doesn't support dynamic quantization for "
                f"averaging constant of {averaging_constant}"
            )
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs
        )

    def forward(self, x_orig: Any) -> Any:
        """See a tensor, and return it."""
        if x_orig.numel():
            least, most = torch.aminmax(x_orig.detach().to(self.min_val.dtype))
            if not (self.min_val == float("inf") and self.max_val == float("-inf")):
                least, most = _averaged(self, least, most)
            self._take(least, most)
        return x_orig


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """The range at each place of ch_axis: buffers min_val and max_val, (channels,), empty at first."""

    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        ch_axis: int = 0,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_channel_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if not is_per_channel(qscheme):
            raise NotImplementedError(
                "PerChannelMinMaxObserver's qscheme only support                     "
                "torch.per_channel_symmetric, torch.per_channel_affine and "
                "torch.per_channel_affine_float_qparams."
            )
        if is_dynamic:
            raise NotImplementedError("PerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs
        )
        self.ch_axis = ch_axis
        self.register_buffer("min_val", torch.tensor([], **(factory_kwargs or {})))
        self.register_buffer("max_val", torch.tensor([], **(factory_kwargs or {})))
        if qscheme is torch.per_channel_symmetric and reduce_range and dtype is torch.quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")

    def _ranges(self, x: Tensor) -> tuple[Tensor, Tensor]:
        rows = x.detach().to(self.min_val.dtype).transpose(0, self.ch_axis).flatten(1)
        least, most = torch.aminmax(rows, dim=1)
        return least, most

    def forward(self, x_orig: Any) -> Any:
        """See a tensor, and return it."""
        if x_orig.numel():
            least, most = self._ranges(x_orig)
            if self.min_val.numel():
                least, most = self._combined(least, most)
            self._take(least, most)
        return x_orig

    def _combined(self, least: Tensor, most: Tensor) -> tuple[Tensor, Tensor]:
        """The ranges after a call with these."""
        return torch.min(least, self.min_val), torch.max(most, self.max_val)

    def _take(self, least: Tensor, most: Tensor) -> None:
        self.min_val.resize_(least.shape).copy_(least)
        self.max_val.resize_(most.shape).copy_(most)

    def calculate_qparams(self) -> Any:
        """(scale, zero_point), one for each channel."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        """The ranges."""
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *rest: Any
    ) -> None:
        for name in ("min_val", "max_val"):
            held = state_dict.get(prefix + name)
            if held is not None:
                getattr(self, name).resize_(held.shape)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, *rest)

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val, self.max_val = torch.rand(0), torch.rand(0)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """The moving average of the ranges of calls, at each place of ch_axis."""

    def __init__(
        self,
        averaging_constant: float = 0.01,
        ch_axis: int = 0,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_channel_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            ch_axis,
            dtype,
            qscheme,
            reduce_range,
            quant_min,
            quant_max,
            eps=eps,
            is_dynamic=is_dynamic,
            **kwargs,
        )
        self.averaging_constant = averaging_constant

    _combined = _averaged


class HistogramObserver(UniformQuantizationObserverBase):
    """A histogram of all numbers that were seen; the range is the part of it with the least error.

    bins: of the histogram.
    """

    histogram: Tensor
    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        bins: int = 2048,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if not is_per_tensor(qscheme):
            raise NotImplementedError(
                "HistogramObserver's qscheme only support torch.per_tensor_symmetric                     "
                "and torch.per_tensor_affine."
            )
        if is_dynamic:
            raise NotImplementedError("HistogramObserver doesn't support dynamic quantization")
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs
        )
        self.bins = bins
        self.register_buffer("histogram", torch.zeros(bins, **(factory_kwargs or {})))
        self.register_buffer("min_val", torch.tensor(float("inf"), **(factory_kwargs or {})))
        self.register_buffer("max_val", torch.tensor(float("-inf"), **(factory_kwargs or {})))
        self.dst_nbins = 2 ** torch.iinfo(dtype).bits
        self.upsample_rate = 16  # finer bins, when a histogram is laid over a larger range

    # --- seeing -------------------------------------------------------------------------------------

    def forward(self, x_orig: Any) -> Any:
        """See a tensor, and return it; infinite numbers are left out, with a warning."""
        x = x_orig.detach()
        if not x.numel():
            return x_orig
        least, most = torch.aminmax(x)
        if least == -torch.inf or most == torch.inf:
            warn("torch.inf detected in input tensor, ignoring input")
            x = x[x.abs() != torch.inf]
            if not x.numel():
                return x_orig
            least, most = torch.aminmax(x)
        if self.min_val == float("inf") or self.max_val == float("-inf"):
            self._take(self._counted(x, least, most), least, most)
            return x_orig
        least, most = torch.min(self.min_val, least), torch.max(self.max_val, most)
        found = self._counted(x, least, most)
        self._take(self._over(least, most) + found, least, most)
        return x_orig

    def _counted(self, x: Tensor, least: Tensor, most: Tensor) -> Tensor:
        return torch.histc(x, self.bins, min=float(least), max=float(most))

    def _take(self, histogram: Tensor, least: Tensor, most: Tensor) -> None:
        self.histogram.copy_(histogram)
        self.min_val.copy_(least)
        self.max_val.copy_(most)

    def _over(self, least: Tensor, most: Tensor) -> Tensor:
        """The histogram so far, in bins of a range that contains its own."""
        if least == self.min_val and most == self.max_val:
            return self.histogram
        if self.min_val == self.max_val:
            return self._counted(self.min_val, least, most) * self.histogram.sum()
        many = self.bins * self.upsample_rate
        weights = self.histogram.repeat_interleave(self.upsample_rate) / self.upsample_rate
        width = (self.max_val - self.min_val) / many
        where = self.histogram.device
        middles = torch.linspace(self.min_val, self.max_val, many + 1, device=where)[:-1] + 0.5 * width
        edges = torch.linspace(least, most, self.bins + 1, device=where)
        places = (torch.bucketize(middles, edges, right=True) - 1).clamp(0, self.bins - 1)
        return torch.bincount(places, weights=weights, minlength=self.bins)

    # --- choosing the range -------------------------------------------------------------------------

    def calculate_qparams(self) -> Any:
        """(scale, zero_point), of one element each; defaults, with a warning, before anything was seen."""
        if self.min_val == float("inf") and self.max_val == float("-inf"):
            warn(
                "must run observer before calling calculate_qparams. Returning default scale and zero point "
            )
            return torch.tensor([1.0]), torch.tensor([0])
        return self._calculate_qparams(*self._non_linear_param_search())

    def _compute_quantization_error(self, first: int, last: int) -> float:
        """The squared error of numbers that lie evenly in the bins, with levels over bins first to last."""
        width = (self.max_val.item() - self.min_val.item()) / self.bins
        step = width * (last - first + 1) / self.dst_nbins
        if step == 0.0:
            return 0.0
        begins = (torch.arange(self.bins, device=self.histogram.device) - first) * width
        ends = begins + width
        from_level = torch.div(begins, step, rounding_mode="floor").clamp(0, self.dst_nbins - 1)
        to_level = torch.div(ends, step, rounding_mode="floor").clamp(0, self.dst_nbins - 1)
        density = self.histogram / width
        half = torch.tensor(step / 2)
        error = _squares(begins - (from_level + 0.5) * step, half, density)
        error = error + (to_level - from_level - 1) * _squares(-half, half, density)
        error = error + _squares(-half, ends - (to_level * step + step / 2), density)
        return float(error.sum())

    def _non_linear_param_search(self) -> tuple[Tensor, Tensor]:
        """The range of bins with the least error, found by leaving out more and more of the tails."""
        width = (self.max_val - self.min_val) / self.bins
        sums = torch.cumsum(self.histogram, dim=0).tolist()
        total = float(self.histogram.sum())
        step, alpha, beta = 1e-5, 0.0, 1.0
        first, last, least = 0, self.bins - 1, float("inf")
        while alpha < beta:
            left, right = first, last
            while left < last and sums[left] < (alpha + step) * total:
                left += 1
            while right > first and sums[right] > (beta - step) * total:
                right -= 1
            from_bin, to_bin = first, last
            if left - first > last - right:
                from_bin, alpha = left, alpha + step
            else:
                to_bin, beta = right, beta - step
            if (from_bin, to_bin) == (first, last):
                continue
            error = self._compute_quantization_error(from_bin, to_bin)
            if error > least:
                break
            least, first, last = error, from_bin, to_bin
        return self.min_val + width * first, self.min_val + width * (last + 1)

    def extra_repr(self) -> str:
        """The range."""
        return f"min_val={self.min_val}, max_val={self.max_val}"


def _squares(begin: Any, end: Any, density: Tensor) -> Tensor:
    """The integral of x ** 2 from begin to end, times a density."""
    found: Tensor = density * ((end * end * end - begin * begin * begin) / 3)
    return found


class FixedQParamsObserver(ObserverBase):
    """An observer whose scale and zero point are given."""

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        scale: float,
        zero_point: int,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        quant_min: int = 0,
        quant_max: int = 255,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min, self.quant_max, self.qscheme = quant_min, quant_max, qscheme
        self.register_buffer("scale", torch.tensor([scale], dtype=torch.float))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.int))

    def forward(self, X: Any) -> Any:
        """The input."""
        return X

    def calculate_qparams(self) -> Any:
        """What was given."""
        return self.scale, self.zero_point


class _Unseeing(ObserverBase):
    """Observers that choose no levels."""

    def forward(self, x: Any) -> Any:
        """The input."""
        return x

    def calculate_qparams(self) -> Any:
        """Refused: nothing was seen."""
        raise Exception(f"calculate_qparams should not be called for {type(self).__name__}")


class PlaceholderObserver(_Unseeing):
    """Only says a dtype, for layers that choose levels call by call or compute in a smaller float dtype."""

    def __init__(
        self,
        dtype: Any = torch.float32,
        custom_op_name: str = "",
        compute_dtype: Any = None,
        quant_min: int | None = None,
        quant_max: int | None = None,
        qscheme: Any = None,
        eps: float | None = None,
        is_dynamic: bool = False,
    ) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = torch.per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.eps = quant_min, quant_max, eps
        self.custom_op = custom_op_name
        if compute_dtype:
            warn("Please use `is_dynamic` instead of `compute_dtype`. `compute_dtype` will be deprecated.")

    def extra_repr(self) -> str:
        """The dtype."""
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"


class RecordingObserver(_Unseeing):
    """Keeps copies of all tensors that it sees."""

    def __init__(self, dtype: Any = torch.quint8) -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.tensor_val: list[Tensor] = []

    def forward(self, x: Any) -> Any:
        """Keep a copy, and return the input."""
        self.tensor_val.append(x.clone())
        return x

    def get_tensor_value(self) -> list[Tensor]:
        """The copies."""
        return self.tensor_val


class NoopObserver(_Unseeing):
    """Sees nothing; says a dtype."""

    def __init__(self, dtype: Any = torch.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.custom_op = custom_op_name


class ReuseInputObserver(_Unseeing):
    """Stands for the observer of the input, of ops that only move elements."""

    def __init__(self) -> None:
        super().__init__(torch.quint8, is_dynamic=False)


def _is_observer(name: str) -> bool:
    return "activation_post_process" in name


def get_observer_state_dict(mod: nn.Module) -> dict[str, Any]:
    """The part of a model's state_dict that is its observers'."""
    found = {key: value for key, value in mod.state_dict().items() if _is_observer(key)}
    return type(mod.state_dict())(found)


def load_observer_state_dict(mod: nn.Module, obs_dict: dict[str, Any]) -> None:
    """Load what get_observer_state_dict gave into a model's observers; RuntimeError for what does not fit."""
    missing, unexpected = mod.load_state_dict(obs_dict, strict=False)
    lost = [key for key in missing if _is_observer(key)] + list(unexpected)
    if lost:
        raise RuntimeError(f"Missing or unexpected keys for observers in state_dict: {lost}")


_WEIGHT: dict[str, Any] = {"dtype": torch.qint8, "qscheme": torch.per_tensor_symmetric}
_CHANNELS: dict[str, Any] = {"dtype": torch.qint8, "qscheme": torch.per_channel_symmetric}
_WITHOUT_LEAST: dict[str, Any] = {"quant_min": -127, "quant_max": 127, "eps": 2**-12}
_FIXED: dict[str, Any] = {"dtype": torch.quint8, "quant_min": 0, "quant_max": 255}
_FLOAT_POINTS: dict[str, Any] = {"qscheme": torch.per_channel_affine_float_qparams, "ch_axis": 0}

default_observer: Any = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer: Any = PlaceholderObserver
default_debug_observer: Any = RecordingObserver
default_weight_observer: Any = MinMaxObserver.with_args(**_WEIGHT)
weight_observer_range_neg_127_to_127: Any = MinMaxObserver.with_args(**_WEIGHT, **_WITHOUT_LEAST)
default_histogram_observer: Any = HistogramObserver.with_args(quant_min=0, quant_max=127)
default_per_channel_weight_observer: Any = PerChannelMinMaxObserver.with_args(**_CHANNELS)
per_channel_weight_observer_range_neg_127_to_127: Any = PerChannelMinMaxObserver.with_args(
    **_CHANNELS, **_WITHOUT_LEAST
)
default_dynamic_quant_observer: Any = PlaceholderObserver.with_args(
    dtype=torch.quint8, quant_min=0, quant_max=255, is_dynamic=True
)
default_float_qparams_observer: Any = PerChannelMinMaxObserver.with_args(dtype=torch.quint8, **_FLOAT_POINTS)
default_float_qparams_observer_4bit: Any = PerChannelMinMaxObserver.with_args(
    dtype=torch.quint4x2, **_FLOAT_POINTS
)
default_fixed_qparams_range_neg1to1_observer: Any = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, **_FIXED
)
default_fixed_qparams_range_0to1_observer: Any = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, **_FIXED
)
default_symmetric_fixed_qparams_observer: Any = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer: Any = default_fixed_qparams_range_0to1_observer
default_reuse_input_observer: Any = ReuseInputObserver
