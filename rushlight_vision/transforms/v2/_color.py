"""Transforms of colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight_vision.transforms import draws, transforms as v1
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._transform import Transform, _RandomApplyTransform
from rushlight_vision.transforms.v2._utils import query_chw

_FACTORS = ("brightness_factor", "contrast_factor", "saturation_factor", "hue_factor")


class Grayscale(Transform):
    """In grey, with 1 or 3 channels."""

    _v1_transform_cls = v1.Grayscale

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """In grey."""
        return self._call_kernel(F.rgb_to_grayscale, inpt, num_output_channels=self.num_output_channels)


class RandomGrayscale(_RandomApplyTransform):
    """In grey, with probability p, and as many channels as before."""

    _v1_transform_cls = v1.RandomGrayscale

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p=p)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """How many channels there are."""
        return {"num_input_channels": query_chw(flat_inputs)[0]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """In grey."""
        count = params["num_input_channels"]
        return self._call_kernel(F.rgb_to_grayscale, inpt, num_output_channels=count)


class RGB(Transform):
    """With three channels."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """With three channels."""
        return self._call_kernel(F.grayscale_to_rgb, inpt)


class _Coloured(Transform):
    def _changed(self, inpt: Any, name: str, factor: float | None) -> Any:
        """A colour changed by a factor; None leaves it."""
        if factor is None:
            return inpt
        return self._call_kernel(getattr(F, f"adjust_{name.removesuffix('_factor')}"), inpt, **{name: factor})


class ColorJitter(_Coloured):
    """The colours changed, each by a random factor, in random order."""

    _v1_transform_cls = v1.ColorJitter

    def _extract_params_for_v1_transform(self) -> dict[str, Any]:
        return {name: value or 0 for name, value in super()._extract_params_for_v1_transform().items()}

    def __init__(
        self, brightness: Any = None, contrast: Any = None, saturation: Any = None, hue: Any = None
    ) -> None:
        super().__init__()
        self.brightness = self._check_input(brightness, "brightness")
        self.contrast = self._check_input(contrast, "contrast")
        self.saturation = self._check_input(saturation, "saturation")
        self.hue = self._check_input(hue, "hue")

    def _check_input(self, value: Any, name: str) -> tuple[float, float] | None:
        """The range that a factor is drawn from; None where nothing changes."""
        middle, low, high = (0, -0.5, 0.5) if name == "hue" else (1.0, 0, float("inf"))
        if value is None:
            return None
        if isinstance(value, (int, float)):
            if value < 0:
                raise ValueError(f"If {name} is a single number, it must be non negative.")
            least = middle - value
            value = [least if name == "hue" else max(least, 0.0), middle + value]
        elif isinstance(value, Sequence) and len(value) == 2:
            value = [float(v) for v in value]
        else:
            raise TypeError(f"{name}={value} should be a single number or a sequence with length 2.")
        if not low <= value[0] <= value[1] <= high:
            raise ValueError(
                f"{name} values should be between {(low, high)} and increasing, but got {value}."
            )
        return None if value[0] == value[1] == middle else (float(value[0]), float(value[1]))

    @staticmethod
    def _generate_value(left: float, right: float) -> float:
        """A factor, drawn between two."""
        return draws.uniform(left, right)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The order and the factors."""
        order = torch.randperm(4)
        ranges = (self.brightness, self.contrast, self.saturation, self.hue)
        factors = [None if r is None else self._generate_value(*r) for r in ranges]
        return {"fn_idx": order, **dict(zip(_FACTORS, factors))}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The colours changed."""
        for k in params["fn_idx"].tolist():
            inpt = self._changed(inpt, _FACTORS[k], params[_FACTORS[k]])
        return inpt


class RandomChannelPermutation(Transform):
    """The channels in a random order."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The order."""
        return {"permutation": torch.randperm(query_chw(flat_inputs)[0])}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """In that order."""
        return self._call_kernel(F.permute_channels, inpt, permutation=params["permutation"])


class RandomPhotometricDistort(_Coloured):
    """The colours changed as for SSD, each with probability p; and the channels exchanged."""

    def __init__(
        self,
        brightness: tuple[float, float] = (0.875, 1.125),
        contrast: tuple[float, float] = (0.5, 1.5),
        saturation: tuple[float, float] = (0.5, 1.5),
        hue: tuple[float, float] = (-0.05, 0.05),
        p: float = 0.5,
    ) -> None:
        super().__init__()
        self.brightness, self.contrast, self.hue, self.saturation = brightness, contrast, hue, saturation
        self.p = p

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The factors, whether contrast comes before saturation, the order of the channels."""
        channels = query_chw(flat_inputs)[0]
        ranges = (self.brightness, self.contrast, self.saturation, self.hue)
        params: dict[str, Any] = {
            name: draws.uniform(*r) if torch.rand(1) < self.p else None for name, r in zip(_FACTORS, ranges)
        }
        params["contrast_before"] = bool(torch.rand(()) < 0.5)
        params["channel_permutation"] = torch.randperm(channels) if torch.rand(1) < self.p else None
        return params

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The colours changed."""
        order = ["brightness_factor", "saturation_factor", "hue_factor"]
        order.insert(1 if params["contrast_before"] else 3, "contrast_factor")
        for name in order:
            inpt = self._changed(inpt, name, params[name])
        if params["channel_permutation"] is None:
            return inpt
        return self._call_kernel(F.permute_channels, inpt, permutation=params["channel_permutation"])


class RandomEqualize(_RandomApplyTransform):
    """Values so changed that each is as frequent, with probability p."""

    _v1_transform_cls = v1.RandomEqualize

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Equalised."""
        return self._call_kernel(F.equalize, inpt)


class RandomInvert(_RandomApplyTransform):
    """The negative, with probability p."""

    _v1_transform_cls = v1.RandomInvert

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The negative."""
        return self._call_kernel(F.invert, inpt)


class RandomPosterize(_RandomApplyTransform):
    """Only the first bits of each value, with probability p."""

    _v1_transform_cls = v1.RandomPosterize

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.bits = bits

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """With so many bits."""
        return self._call_kernel(F.posterize, inpt, bits=self.bits)


class RandomSolarize(_RandomApplyTransform):
    """Values from a threshold on inverted, with probability p."""

    _v1_transform_cls = v1.RandomSolarize

    def _extract_params_for_v1_transform(self) -> dict[str, Any]:
        options = super()._extract_params_for_v1_transform()
        return {**options, "threshold": float(options["threshold"])}

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.threshold = threshold

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Solarised."""
        return self._call_kernel(F.solarize, inpt, threshold=self.threshold)


class RandomAutocontrast(_RandomApplyTransform):
    """Each channel's values spread over the whole range, with probability p."""

    _v1_transform_cls = v1.RandomAutocontrast

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Spread."""
        return self._call_kernel(F.autocontrast, inpt)


class RandomAdjustSharpness(_RandomApplyTransform):
    """Blurred (factor 0) up to sharpened (2), with probability p."""

    _v1_transform_cls = v1.RandomAdjustSharpness

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.sharpness_factor = sharpness_factor

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Sharpened."""
        return self._call_kernel(F.adjust_sharpness, inpt, sharpness_factor=self.sharpness_factor)
