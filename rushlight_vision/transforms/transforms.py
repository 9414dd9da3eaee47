"""Transforms of images as modules (torchvision.transforms).

A transform draws arguments for one image (`_draw`) and calls its function with these and with its options
(`_apply`). What is drawn, and how options are prepared, is in draws.py.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import rushlight as torch
import rushlight.nn as nn
from rushlight import Tensor
from rushlight_vision.transforms import draws, functional as F
from rushlight_vision.transforms.base import Plain, Transform, _Image, _Sometimes, interpolation_for
from rushlight_vision.transforms.conversion import InterpolationMode, get_dimensions, mode_of
from rushlight_vision.transforms.geometry import pair
from rushlight_vision.transforms.options import (
    _check_sequence_input as _check_sequence_input,
    _setup_angle as _setup_angle,
    _setup_size as _setup_size,
    checked_fill,
)

# --- several transforms -------------------------------------------------------------------------


class Compose(Plain):
    """One after the other."""

    def __init__(self, transforms: Any) -> None:
        super().__init__()
        self.transforms: Sequence[Callable[..., Any]] = transforms

    def _chosen(self) -> Iterable[Callable[..., Any]]:
        return self.transforms

    def forward(self, *sample: Any) -> Any:
        """The image through those chosen."""
        for transform in self._chosen():
            sample = (transform(*sample),)
        return sample if len(sample) > 1 else sample[0]

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}(", *(f"    {t}" for t in self.transforms), ")"])


class RandomTransforms(Compose):
    """The base of transforms that draw among several."""

    def __init__(self, transforms: Any) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError("Argument transforms should be a sequence")
        super().__init__(transforms)


class RandomApply(Compose, Transform):
    """All of them with probability p, else none."""

    __call__ = nn.Module.__call__

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__(transforms)
        self.p = p

    def _chosen(self) -> Iterable[Callable[..., Any]]:
        return () if self.p < torch.rand(1) else super()._chosen()

    def __repr__(self) -> str:
        inner = [f"    p={self.p}", *(f"    {t}" for t in self.transforms)]
        return "\n".join([f"{type(self).__name__}(", *inner, ")"])


class RandomChoice(RandomTransforms):
    """One of them, by Python's random module as in torchvision."""

    def __init__(self, transforms: Any, p: Sequence[float] | None = None) -> None:
        super().__init__(transforms)
        self.p = p

    def _chosen(self) -> Iterable[Callable[..., Any]]:
        return random.choices(self.transforms, weights=self.p)


class RandomOrder(RandomTransforms):
    """All of them, in an order by Python's random module as in torchvision."""

    def _chosen(self) -> Iterable[Callable[..., Any]]:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        return [self.transforms[i] for i in order]


class Lambda(Plain):
    """A function as a transform."""

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        super().__init__()
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


# --- conversions --------------------------------------------------------------------------------


class ToTensor(Plain):
    """A PIL image or array (H, W, C) as a tensor (C, H, W); bytes become floats from 0 to 1."""

    of_images = True

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.to_tensor(img)


class PILToTensor(Plain):
    """A PIL image as a tensor (C, H, W) of the same values."""

    of_images = True

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.pil_to_tensor(img)


class ToPILImage(Plain):
    """A tensor (C, H, W) or array (H, W, C) as a PIL image."""

    of_images = True

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.to_pil_image(img, self.mode)


class ConvertImageDtype(_Image):
    """A tensor in another dtype, its values scaled to that dtype's range."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.convert_image_dtype(img, self.dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Normalize(_Image):
    """(image - mean) / std, channel by channel."""

    shown = ("mean", "std")

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.normalize(img, self.mean, self.std, self.inplace)


class LinearTransformation(_Image):
    """(the flat image - mean_vector) @ transformation_matrix, a tensor of the image's shape."""

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def _apply(self, img: Any, *drawn: Any) -> Any:
        count = math.prod(img.shape[-3:])
        if count != len(self.transformation_matrix):
            raise ValueError(
                "Input tensor and transformation matrix have incompatible shape."
                f"[{' x '.join(map(str, img.shape[-3:]))}] != {len(self.transformation_matrix)}"
            )
        if img.device.type != self.mean_vector.device.type:
            raise ValueError(
                "Input tensor should be on the same device as transformation matrix and mean vector. "
                f"Got {img.device} vs {self.mean_vector.device}"
            )
        flat = img.view(-1, count) - self.mean_vector
        return torch.mm(flat, self.transformation_matrix.to(flat.dtype)).view(img.shape)


# --- sizes and places ---------------------------------------------------------------------------


class Resize(_Image):
    """The image at another size: (height, width), or the shorter side alone."""

    geometric = True

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: Any = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if not isinstance(size, (int, Sequence)):
            raise TypeError(f"Size should be int or sequence. Got {type(size)}")
        self.size = size
        self.interpolation = mode_of(interpolation)
        self.max_size = max_size
        self.antialias = antialias

    def _apply(self, img: Any, *drawn: Any) -> Any:
        how = interpolation_for(img, self.interpolation)
        return F.resize(img, self.size, how, self.max_size, self.antialias)


class CenterCrop(_Image):
    """The middle of the image, padded where it is smaller."""

    geometric = True

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = pair(size)

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.center_crop(img, self.size)


class Pad(_Image):
    """The image with a border."""

    geometric = True

    def __init__(self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)


class RandomCrop(_Image):
    """A window of `size` anywhere in the image, padded before."""

    geometric = True
    shown = ("size", "padding")

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = pair(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img: Any, output_size: Any) -> tuple[int, int, int, int]:
        """(top, left, height, width) of the window."""
        (_, h, w), (th, tw) = get_dimensions(img), output_size
        if h < th or w < tw:
            raise ValueError(f"Required crop size {(th, tw)} is larger than input image size {(h, w)}")
        return (0, 0, h, w) if (h, w) == (th, tw) else draws.place(h, w, th, tw)

    def _padded(self, img: Any) -> Any:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        _, h, w = get_dimensions(img)
        for missing in ([max(self.size[1] - w, 0), 0], [0, max(self.size[0] - h, 0)]):
            if self.pad_if_needed and any(missing):
                img = F.pad(img, missing, self.fill, self.padding_mode)
        return img

    def _draw(self, img: Any) -> tuple[Any, ...] | None:
        return self.get_params(self._padded(img), self.size)

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.crop(self._padded(img), *drawn)


class RandomResizedCrop(_Image):
    """A window of a random size and aspect, resized to `size`."""

    geometric = True

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: Any = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = pair(size)
        self.scale = scale
        self.ratio = ratio
        self.interpolation = mode_of(interpolation)
        self.antialias = antialias

    @staticmethod
    def get_params(img: Any, scale: Any, ratio: Any) -> tuple[int, int, int, int]:
        """(top, left, height, width); after ten failures the largest window in the middle that fits."""
        return draws.window(img, scale, ratio)

    def _draw(self, img: Any) -> tuple[Any, ...] | None:
        return self.get_params(img, self.scale, self.ratio)

    def _apply(self, img: Any, top: int, left: int, height: int, width: int) -> Any:
        how = interpolation_for(img, self.interpolation)
        return F.resized_crop(img, top, left, height, width, self.size, how, self.antialias)


class FiveCrop(_Image):
    """The four corners and the middle, as a tuple."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = pair(size)

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.five_crop(img, self.size)


class TenCrop(_Image):
    """FiveCrop of the image and of its mirror image, as a tuple."""

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__()
        self.size = pair(size)
        self.vertical_flip = vertical_flip

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.ten_crop(img, self.size, self.vertical_flip)


class RandomHorizontalFlip(_Sometimes):
    """The image mirrored left to right, with probability p."""

    geometric = True

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.hflip(img)


class RandomVerticalFlip(_Sometimes):
    """The image upside down, with probability p."""

    geometric = True

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.vflip(img)


class RandomRotation(_Image):
    """The image turned by an angle drawn from `degrees`."""

    geometric = True

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: Any = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.degrees = draws.degrees(degrees)
        self.interpolation = mode_of(interpolation)
        self.expand = expand
        self.center = center
        self.fill = checked_fill(fill)

    @staticmethod
    def get_params(degrees: Any) -> float:
        """The angle."""
        return draws.uniform(*degrees)

    def _draw(self, img: Any) -> tuple[Any, ...] | None:
        return (self.get_params(self.degrees),)

    def _apply(self, img: Any, angle: float) -> Any:
        how = interpolation_for(img, self.interpolation)
        return F.rotate(img, angle, how, self.expand, self.center, self.fill)


class RandomAffine(_Image):
    """The image turned, moved, scaled and sheared by what is drawn."""

    geometric = True
    hidden = {
        **dict.fromkeys(("translate", "scale", "shear", "center")),
        "fill": 0,
        "interpolation": InterpolationMode.NEAREST,
    }

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.degrees = draws.degrees(degrees)
        if translate is not None and not all(0.0 <= t <= 1.0 for t in translate):
            raise ValueError(f"translation values should be between 0 and 1, got {translate}")
        self.translate = translate
        self.scale = scale
        self.shear = draws.degrees(shear)
        self.interpolation = mode_of(interpolation)
        self.fill = checked_fill(fill)
        self.center = center

    @staticmethod
    def get_params(
        degrees: Any, translate: Any, scale_ranges: Any, shears: Any, img_size: Any
    ) -> tuple[Any, ...]:
        """(angle, shifts in pixels, scale, shears) for an image of (width, height)."""
        return draws.motion(degrees, translate, scale_ranges, shears, img_size)

    def _draw(self, img: Any) -> tuple[Any, ...] | None:
        size = F.get_image_size(img)
        return self.get_params(self.degrees, self.translate, self.scale, self.shear, size)

    def _apply(self, img: Any, angle: Any, shift: Any, scale: Any, shear: Any) -> Any:
        how = interpolation_for(img, self.interpolation)
        return F.affine(img, angle, shift, scale, shear, how, self.fill, self.center)


class RandomPerspective(_Sometimes):
    """The image seen from elsewhere, with probability p."""

    geometric = True
    shown = ("p",)

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Any = InterpolationMode.BILINEAR,
        fill: Any = 0,
    ) -> None:
        super().__init__(p)
        self.distortion_scale = distortion_scale
        self.interpolation = mode_of(interpolation)
        self.fill = checked_fill(fill)

    @staticmethod
    def get_params(
        width: int, height: int, distortion_scale: float
    ) -> tuple[list[list[int]], list[list[int]]]:
        """The corners of an image (x, y), clockwise from the top left, and where they come to."""
        return draws.corners(width, height, distortion_scale)

    def _draw(self, img: Any) -> tuple[Any, ...] | None:
        if super()._draw(img) is None:
            return None
        _, height, width = get_dimensions(img)
        return self.get_params(width, height, self.distortion_scale)

    def _apply(self, img: Any, *drawn: Any) -> Any:
        fill = self.fill
        if isinstance(img, torch.Tensor):
            number = isinstance(fill, (int, float))
            fill = [float(fill)] * get_dimensions(img)[0] if number else [float(f) for f in fill]
        return F.perspective(img, drawn[0], drawn[1], interpolation_for(img, self.interpolation), fill)


class ElasticTransform(_Image):
    """The image with each pixel moved a little, smoothly: by noise of strength alpha, sigma wide."""

    geometric = True
    spelled = True

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: Any = InterpolationMode.BILINEAR,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.alpha = draws.two(alpha, "alpha")
        self.sigma = draws.two(sigma, "sigma")
        self.interpolation = mode_of(interpolation)
        self.fill = [float(fill)] if isinstance(fill, (int, float)) else [float(f) for f in fill]

    @staticmethod
    def get_params(alpha: Any, sigma: Any, size: Any) -> Any:
        """(1, H, W, 2): smooth noise, in halves of the sides."""
        return draws.displacement(alpha, sigma, size)

    def _draw(self, img: Any) -> tuple[Any, ...] | None:
        return (self.get_params(self.alpha, self.sigma, get_dimensions(img)[1:]),)

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.elastic_transform(img, drawn[0], interpolation_for(img, self.interpolation), self.fill)


class RandomErasing(_Sometimes):
    """A window of a tensor replaced by `value` (a number, one a channel, or "random"), with probability p."""

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
    ) -> None:
        super().__init__(p)
        if isinstance(value, str) and value != "random":
            raise ValueError(f"If value is str, it should be 'random', got {value!r}")
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(img: Any, scale: Any, ratio: Any, value: Any = None) -> tuple[Any, ...]:
        """(top, left, height, width, value); the image itself where no window fits after ten draws."""
        return draws.erasure(img, scale, ratio, value)

    def _draw(self, img: Any) -> tuple[Any, ...] | None:
        if super()._draw(img) is None:
            return None
        value = [float(self.value)] if isinstance(self.value, (int, float)) else self.value
        if isinstance(value, str):
            return self.get_params(img, self.scale, self.ratio)
        if len(value) not in (1, get_dimensions(img)[0]):
            raise ValueError(
                "If value is a sequence, it should have either a single value or "
                f"{get_dimensions(img)[0]} (number of input channels)"
            )
        return self.get_params(img, self.scale, self.ratio, [float(v) for v in value])

    def _apply(self, img: Any, top: Any, left: Any, height: Any, width: Any, values: Any) -> Any:
        return F.erase(img, top, left, height, width, values, self.inplace)


# --- colours ------------------------------------------------------------------------------------

_COLOURS = ("brightness", "contrast", "saturation", "hue")


class ColorJitter(_Image):
    """The colours changed, each by a random factor, in random order."""

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0) -> None:
        super().__init__()
        self.brightness = draws.factors(brightness, "brightness")
        self.contrast = draws.factors(contrast, "contrast")
        self.saturation = draws.factors(saturation, "saturation")
        self.hue = draws.factors(hue, "hue")

    @staticmethod
    def get_params(brightness: Any, contrast: Any, saturation: Any, hue: Any) -> tuple[Any, ...]:
        """(the order, and a factor for each; None where nothing changes)."""
        order = torch.randperm(4)
        ranges = (brightness, contrast, saturation, hue)
        return order, *(None if r is None else draws.uniform(*r) for r in ranges)

    def _draw(self, img: Any) -> tuple[Any, ...] | None:
        return self.get_params(self.brightness, self.contrast, self.saturation, self.hue)

    def _apply(self, img: Any, *drawn: Any) -> Any:
        order, *factors = drawn
        for i in order.tolist():
            if factors[i] is not None:
                img = getattr(F, f"adjust_{_COLOURS[i]}")(img, factors[i])
        return img


class Grayscale(_Image):
    """The image in grey, with 1 or 3 channels."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.rgb_to_grayscale(img, self.num_output_channels)


class RandomGrayscale(_Sometimes):
    """The image in grey, with probability p, and as many channels as before."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def _draw(self, img: Any) -> tuple[Any, ...] | None:
        return None if super()._draw(img) is None else (get_dimensions(img)[0],)

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.rgb_to_grayscale(img, *drawn)


class GaussianBlur(_Image):
    """Smoothed by a Gaussian of a width drawn between two."""

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = draws.odd(kernel_size)
        self.sigma = draws.spread(sigma)

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """The width."""
        return draws.uniform(sigma_min, sigma_max)

    def _draw(self, img: Any) -> tuple[Any, ...] | None:
        return (self.get_params(*self.sigma),)

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.gaussian_blur(img, self.kernel_size, [*drawn, *drawn])


class RandomInvert(_Sometimes):
    """The image's negative, with probability p."""

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.invert(img)


class RandomPosterize(_Sometimes):
    """Only the first bits of each value, with probability p."""

    joint = ","

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.posterize(img, self.bits)


class RandomSolarize(_Sometimes):
    """Values from a threshold on inverted, with probability p."""

    joint = ","

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.solarize(img, self.threshold)


class RandomAdjustSharpness(_Sometimes):
    """Blurred (factor 0) up to sharpened (2), with probability p."""

    joint = ","

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.adjust_sharpness(img, self.sharpness_factor)


class RandomAutocontrast(_Sometimes):
    """Each channel's values spread over the whole range, with probability p."""

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.autocontrast(img)


class RandomEqualize(_Sometimes):
    """Values so changed that each is as frequent, with probability p."""

    def _apply(self, img: Any, *drawn: Any) -> Any:
        return F.equalize(img)
