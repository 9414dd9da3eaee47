"""Transforms of images as modules (torchvision.transforms).

A transform draws arguments for one image and calls its function with these and with its options, in words
that scripts have. What is drawn, and how options are prepared, is in draws.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import rushlight as torch
import rushlight.nn as nn
from rushlight import Tensor
from rushlight_vision.transforms import draws, functional as F
from rushlight_vision.transforms.base import Plain, Transform, _Filled, _Sometimes
from rushlight_vision.transforms.conversion import InterpolationMode, get_dimensions, mode_of
from rushlight_vision.transforms.geometry import Ten, pair
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

    def forward(self, img: Tensor) -> Tensor:
        """The image through all, or as it is."""
        if self.p < torch.rand(1):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

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

    def forward(self, img: Any) -> Any:
        """The image transformed."""
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


# --- conversions --------------------------------------------------------------------------------


class ToTensor(Plain):
    """A PIL image or array (H, W, C) as a tensor (C, H, W); bytes become floats from 0 to 1."""

    def forward(self, img: Any) -> Any:
        """The image transformed."""
        return F.to_tensor(img)


class PILToTensor(Plain):
    """A PIL image as a tensor (C, H, W) of the same values."""

    def forward(self, img: Any) -> Any:
        """The image transformed."""
        return F.pil_to_tensor(img)


class ToPILImage(Plain):
    """A tensor (C, H, W) or array (H, W, C) as a PIL image."""

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def forward(self, img: Any) -> Any:
        """The image transformed."""
        return F.to_pil_image(img, self.mode)


class ConvertImageDtype(Transform):
    """A tensor in another dtype, its values scaled to that dtype's range."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        return F.convert_image_dtype(img, self.dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Normalize(Transform):
    """(image - mean) / std, channel by channel."""

    shown = ("mean", "std")

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        return F.normalize(img, self.mean, self.std, self.inplace)


class LinearTransformation(Transform):
    """(the flat image - mean_vector) @ transformation_matrix, a tensor of the image's shape."""

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        c, h, w = img.shape[-3], img.shape[-2], img.shape[-1]
        count = c * h * w
        if count != self.transformation_matrix.shape[0]:
            raise ValueError(
                "Input tensor and transformation matrix have incompatible shape."
                f"[{c} x {h} x {w}] != {self.transformation_matrix.shape[0]}"
            )
        if img.device.type != self.mean_vector.device.type:
            raise ValueError(
                "Input tensor should be on the same device as transformation matrix and mean vector. "
                f"Got {img.device} vs {self.mean_vector.device}"
            )
        flat = img.view(-1, count) - self.mean_vector
        return torch.mm(flat, self.transformation_matrix.to(flat.dtype)).view(img.shape)


# --- sizes and places ---------------------------------------------------------------------------


class Resize(Transform):
    """The image at another size: (height, width), or the shorter side alone."""

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
        self.size: Any = size
        self.interpolation = mode_of(interpolation)
        self.max_size = max_size
        self.antialias = antialias

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)


class CenterCrop(Transform):
    """The middle of the image, padded where it is smaller."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size: Any = pair(size)

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        return F.center_crop(img, self.size)


class Pad(Transform):
    """The image with a border."""

    def __init__(self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        self.padding: Any = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        return F.pad(img, self.padding, self.fill, self.padding_mode)


class RandomCrop(Transform):
    """A window of `size` anywhere in the image, padded before."""

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
        self.size: Any = pair(size)
        self.padding: Any = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img: Tensor, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """(top, left, height, width) of the window."""
        _, h, w = get_dimensions(img)
        th, tw = output_size
        if h < th or w < tw:
            raise ValueError(f"Required crop size {(th, tw)} is larger than input image size {(h, w)}")
        return (0, 0, h, w) if h == th and w == tw else draws.place(h, w, th, tw)

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        _, h, w = get_dimensions(img)
        across, down = max(self.size[1] - w, 0), max(self.size[0] - h, 0)
        if self.pad_if_needed and (across > 0 or down > 0):
            img = F.pad(img, [across, down], self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))


class RandomResizedCrop(Transform):
    """A window of a random size and aspect, resized to `size`."""

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: Any = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size: Any = pair(size)
        self.scale: Any = scale
        self.ratio: Any = ratio
        self.interpolation = mode_of(interpolation)
        self.antialias = antialias

    @staticmethod
    def get_params(img: Tensor, scale: list[float], ratio: list[float]) -> tuple[int, int, int, int]:
        """(top, left, height, width); after ten failures the largest window in the middle that fits."""
        return draws.window(img, scale, ratio)

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        window = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *window, self.size, self.interpolation, self.antialias)


class FiveCrop(Transform):
    """The four corners and the middle, as a tuple."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size: Any = pair(size)

    def forward(self, img: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """The five."""
        return F.five_crop(img, self.size)


class TenCrop(Transform):
    """FiveCrop of the image and of its mirror image, as a tuple."""

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__()
        self.size: Any = pair(size)
        self.vertical_flip = vertical_flip

    def forward(self, img: Tensor) -> Ten:
        """The ten."""
        return F.ten_crop(img, self.size, self.vertical_flip)


class RandomHorizontalFlip(_Sometimes):
    """The image mirrored left to right, with probability p."""

    def _changed(self, img: Tensor) -> Tensor:
        return F.hflip(img)


class RandomVerticalFlip(_Sometimes):
    """The image upside down, with probability p."""

    def _changed(self, img: Tensor) -> Tensor:
        return F.vflip(img)


class RandomRotation(_Filled):
    """The image turned by an angle drawn from `degrees`."""

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
        self.center: Any = center
        self.fill = checked_fill(fill)

    @staticmethod
    def get_params(degrees: list[float]) -> float:
        """The angle."""
        return draws.uniform(degrees[0], degrees[1])

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        fill = self._fill_for(img) if isinstance(img, Tensor) else self.fill
        angle = self.get_params(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, fill)


class RandomAffine(_Filled):
    """The image turned, moved, scaled and sheared by what is drawn."""

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
        self.translate: Any = translate
        self.scale: Any = scale
        self.shear = draws.degrees(shear)
        self.interpolation = mode_of(interpolation)
        self.fill = checked_fill(fill)
        self.center: Any = center

    @staticmethod
    def get_params(
        degrees: list[float],
        translate: list[float] | None,
        scale_ranges: list[float] | None,
        shears: list[float] | None,
        img_size: list[int],
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """(angle, shifts in pixels, scale, shears) for an image of (width, height)."""
        return draws.motion(degrees, translate, scale_ranges, shears, img_size)

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        fill = self._fill_for(img) if isinstance(img, Tensor) else self.fill
        angle, shift, scale, shear = self.get_params(
            self.degrees, self.translate, self.scale, self.shear, F.get_image_size(img)
        )
        return F.affine(img, angle, list(shift), scale, list(shear), self.interpolation, fill, self.center)


class RandomPerspective(_Filled):
    """The image seen from elsewhere, with probability p."""

    shown = ("p",)

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Any = InterpolationMode.BILINEAR,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.p = p
        self.distortion_scale = distortion_scale
        self.interpolation = mode_of(interpolation)
        self.fill = checked_fill(fill)

    @staticmethod
    def get_params(
        width: int, height: int, distortion_scale: float
    ) -> tuple[list[list[int]], list[list[int]]]:
        """The corners of an image (x, y), clockwise from the top left, and where they come to."""
        return draws.corners(width, height, distortion_scale)

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed, or as it is."""
        if not draws.happens(self.p):
            return img
        fill = self._fill_for(img) if isinstance(img, Tensor) else self.fill
        _, height, width = get_dimensions(img)
        start, end = self.get_params(width, height, self.distortion_scale)
        return F.perspective(img, start, end, self.interpolation, fill)


class ElasticTransform(Transform):
    """The image with each pixel moved a little, smoothly: by noise of strength alpha, sigma wide."""

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
    def get_params(alpha: list[float], sigma: list[float], size: list[int]) -> Tensor:
        """(1, H, W, 2): smooth noise, in halves of the sides."""
        return draws.displacement(alpha, sigma, size)

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        _, height, width = get_dimensions(img)
        displacement = self.get_params(self.alpha, self.sigma, [height, width])
        return F.elastic_transform(img, displacement, self.interpolation, self.fill)


class RandomErasing(Transform):
    """A window of a tensor replaced by `value` (a number, one a channel, or "random"), with probability p."""

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
    ) -> None:
        super().__init__()
        self.p = p
        if isinstance(value, str) and value != "random":
            raise ValueError(f"If value is str, it should be 'random', got {value!r}")
        self.scale: Any = scale
        self.ratio: Any = ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(
        img: Tensor, scale: list[float], ratio: list[float], value: list[float] | None = None
    ) -> tuple[int, int, int, int, Tensor]:
        """(top, left, height, width, value); the image itself where no window fits after ten draws."""
        return draws.erasure(img, scale, ratio, value)

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed, or as it is."""
        if not draws.happens(self.p):
            return img
        if isinstance(self.value, str):
            value = None
        elif isinstance(self.value, (int, float)):
            value = [float(self.value)]
        else:
            value = [float(v) for v in self.value]
        if value is not None and len(value) not in [1, img.shape[-3]]:
            raise ValueError(
                "If value is a sequence, it should have either a single value or "
                f"{img.shape[-3]} (number of input channels)"
            )
        return F.erase(img, *self.get_params(img, self.scale, self.ratio, value), self.inplace)


# --- colours ------------------------------------------------------------------------------------


class ColorJitter(Transform):
    """The colours changed, each by a random factor, in random order."""

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0) -> None:
        super().__init__()
        self.brightness: Any = draws.factors(brightness, "brightness")
        self.contrast: Any = draws.factors(contrast, "contrast")
        self.saturation: Any = draws.factors(saturation, "saturation")
        self.hue: Any = draws.factors(hue, "hue")

    @staticmethod
    def get_params(
        brightness: list[float] | None,
        contrast: list[float] | None,
        saturation: list[float] | None,
        hue: list[float] | None,
    ) -> tuple[Tensor, float | None, float | None, float | None, float | None]:
        """(the order, and a factor for each; None where nothing changes)."""
        order = torch.randperm(4)
        b = None if brightness is None else draws.uniform(brightness[0], brightness[1])
        c = None if contrast is None else draws.uniform(contrast[0], contrast[1])
        s = None if saturation is None else draws.uniform(saturation[0], saturation[1])
        h = None if hue is None else draws.uniform(hue[0], hue[1])
        return order, b, c, s, h

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        order, b, c, s, h = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        places: list[int] = order.tolist()
        for i in places:
            if i == 0 and b is not None:
                img = F.adjust_brightness(img, b)
            elif i == 1 and c is not None:
                img = F.adjust_contrast(img, c)
            elif i == 2 and s is not None:
                img = F.adjust_saturation(img, s)
            elif i == 3 and h is not None:
                img = F.adjust_hue(img, h)
        return img


class Grayscale(Transform):
    """The image in grey, with 1 or 3 channels."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        return F.rgb_to_grayscale(img, self.num_output_channels)


class RandomGrayscale(Transform):
    """The image in grey, with probability p, and as many channels as before."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed, or as it is."""
        return F.rgb_to_grayscale(img, get_dimensions(img)[0]) if draws.happens(self.p) else img


class GaussianBlur(Transform):
    """Smoothed by a Gaussian of a width drawn between two."""

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = draws.odd(kernel_size)
        self.sigma = draws.spread(sigma)

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """The width."""
        return draws.uniform(sigma_min, sigma_max)

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        sigma = self.get_params(self.sigma[0], self.sigma[1])
        return F.gaussian_blur(img, self.kernel_size, [sigma, sigma])


class RandomInvert(_Sometimes):
    """The image's negative, with probability p."""

    def _changed(self, img: Tensor) -> Tensor:
        return F.invert(img)


class RandomPosterize(_Sometimes):
    """Only the first bits of each value, with probability p."""

    joint = ","

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def _changed(self, img: Tensor) -> Tensor:
        return F.posterize(img, self.bits)


class RandomSolarize(_Sometimes):
    """Values from a threshold on inverted, with probability p."""

    joint = ","

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def _changed(self, img: Tensor) -> Tensor:
        return F.solarize(img, self.threshold)


class RandomAdjustSharpness(_Sometimes):
    """Blurred (factor 0) up to sharpened (2), with probability p."""

    joint = ","

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def _changed(self, img: Tensor) -> Tensor:
        return F.adjust_sharpness(img, self.sharpness_factor)


class RandomAutocontrast(_Sometimes):
    """Each channel's values spread over the whole range, with probability p."""

    def _changed(self, img: Tensor) -> Tensor:
        return F.autocontrast(img)


class RandomEqualize(_Sometimes):
    """Values so changed that each is as frequent, with probability p."""

    def _changed(self, img: Tensor) -> Tensor:
        return F.equalize(img)
