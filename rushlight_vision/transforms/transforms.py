"""Transforms of images as modules (torchvision.transforms): a table of functions and of what they draw.

A transform draws arguments for one image (`_draw`; None: leave the image as it is) and calls its function
with these and with those of its own attributes that the function names. Draws come from torch's generator in
torchvision's order, so that a seed gives the same images.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any

import rushlight as torch
import rushlight.nn as nn
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms.conversion import InterpolationMode, get_dimensions, mode_of
from rushlight_vision.transforms.geometry import pair

# Attributes that reprs leave out at these values; numbers of (low, high) that one number stands for.
_HIDDEN = {"center": None, "mode": None}


def _degrees(given: Any) -> Any:
    if isinstance(given, (int, float)):
        if given < 0:
            raise ValueError("If degrees is a single number, it must be positive.")
        return [-float(given), float(given)]
    if given is not None and len(given) not in (2, 4):
        raise ValueError(f"degrees should be a sequence of length 2 (or 4 for shear), got {given}")
    return given if given is None else [float(d) for d in given]


def _checked(test: Callable[[Any], bool], error: Callable[[Any], Exception]) -> Callable[[Any], Any]:
    def check(given: Any) -> Any:
        if not test(given):
            raise error(given)
        return given

    return check


_PREPARED = {
    "interpolation": mode_of,
    "degrees": _degrees,
    "shear": _degrees,
    "lambd": _checked(
        callable, lambda v: TypeError(f"Argument lambd should be callable, got {type(v).__name__!r}")
    ),
    "value": _checked(
        lambda v: not isinstance(v, str) or v == "random",
        lambda v: ValueError(f"If value is str, it should be 'random', got {v!r}"),
    ),
    "translate": _checked(
        lambda v: v is None or all(0.0 <= t <= 1.0 for t in v),
        lambda v: ValueError(f"translation values should be between 0 and 1, got {v}"),
    ),
}


class AutoAugmentPolicy(Enum):
    """The data sets that AutoAugment's policies were learned on."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


class Plain:
    """What all have in common; `takes` says the attributes as a signature. These are no modules, as in
    torchvision: a container of transforms and what converts.
    """

    does: Callable[..., Any]
    shown: tuple[str, ...] = ()
    joint = ", "  # what torchvision's repr has between options
    spelled = False  # whether that repr says InterpolationMode.NEAREST for nearest
    hidden: dict[str, Any] = _HIDDEN
    prepared: dict[str, Callable[[Any], Any]] = {}
    geometric = False  # whether masks follow

    def __init_subclass__(cls, takes: str | None = None, **more: Any) -> None:
        super().__init_subclass__(**more)
        if takes is not None:
            known = {
                "BILINEAR": InterpolationMode.BILINEAR,
                "NEAREST": InterpolationMode.NEAREST,
                "IMAGENET": AutoAugmentPolicy.IMAGENET,
            }
            begin = eval(f"lambda self, {takes}: self._begin(locals())", known)
            cls.__init__, cls.fields = begin, begin.__code__.co_varnames[1:]  # type: ignore[assignment]

    def _begin(self, given: dict[str, Any]) -> None:
        if isinstance(self, nn.Module):
            nn.Module.__init__(self)
        for name in self.fields:
            prepare = {**_PREPARED, **self.prepared}.get(name)
            setattr(self, name, prepare(given[name]) if prepare else given[name])

    def _draw(self, img: Any) -> tuple[Any, ...] | None:
        return ()

    def _apply(self, img: Any, *drawn: Any) -> Any:  # type: ignore[override]
        code = type(self).does.__code__
        own = {
            name: getattr(self, name)
            for name in code.co_varnames[1 + len(drawn) : code.co_argcount]
            if name in self.fields
        }
        if "interpolation" in own and type(img).__name__ == "Mask":
            own["interpolation"] = InterpolationMode.NEAREST
        return type(self).does(img, *drawn, **own)

    def forward(self, img: Any) -> Any:
        """The image transformed."""
        drawn = self._draw(img)
        return img if drawn is None else self._apply(img, *drawn)

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in (self.shown or self.fields)}
        texts = [
            f"{name}={v if self.spelled else _text(v)}"
            for name, v in shown.items()
            if name not in self.hidden or v != self.hidden[name]
        ]
        return f"{type(self).__name__}({self.joint.join(texts)})"

    def __call__(self, *sample: Any) -> Any:
        """`forward`."""
        return self.forward(*sample)


class Transform(Plain, nn.Module):
    """A transform that is a module."""

    __call__ = nn.Module.__call__


def _text(value: Any) -> Any:
    if isinstance(value, tuple) and all(isinstance(v, float) for v in value):
        return tuple(round(v, 4) for v in value)
    return value.value if isinstance(value, InterpolationMode) else value


# --- several transforms -------------------------------------------------------------------------


class Compose(Plain, takes="transforms"):
    """One after the other."""

    def _chosen(self) -> Iterable[Callable[..., Any]]:
        return self.transforms

    def forward(self, *sample: Any) -> Any:
        """The image through those chosen."""
        for transform in self._chosen():
            sample = (transform(*sample),)
        return sample if len(sample) > 1 else sample[0]

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}(", *(f"    {t}" for t in self.transforms), ")"])


class RandomApply(Compose, Transform, takes="transforms, p=0.5"):
    """All of them with probability p, else none."""

    __call__ = nn.Module.__call__

    def _chosen(self) -> Iterable[Callable[..., Any]]:
        return () if self.p < torch.rand(1) else self.transforms

    def __repr__(self) -> str:
        inner = [f"    p={self.p}", *(f"    {t}" for t in self.transforms)]
        return "\n".join([f"{type(self).__name__}(", *inner, ")"])


class RandomChoice(Compose, takes="transforms, p=None"):
    """One of them, by Python's random module as in torchvision."""

    def _chosen(self) -> Iterable[Callable[..., Any]]:
        return random.choices(self.transforms, weights=self.p)


class RandomOrder(Compose, takes="transforms"):
    """All of them, in an order by Python's random module as in torchvision."""

    def _chosen(self) -> Iterable[Callable[..., Any]]:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        return [self.transforms[i] for i in order]


class Lambda(Plain, takes="lambd"):
    """A function as a transform."""

    def _apply(self, img: Any) -> Any:  # type: ignore[override]
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


# --- what is drawn ------------------------------------------------------------------------------


def _uniform(low: float, high: float) -> float:
    return torch.empty(1).uniform_(float(low), float(high)).item()


def _place(h: int, w: int, th: int, tw: int) -> tuple[int, int, int, int]:
    """(top, left, height, width) of a window anywhere in an image."""
    return *(int(torch.randint(0, most + 1, size=(1,)).item()) for most in (h - th, w - tw)), th, tw


def _sometimes(self: Any, img: Any) -> tuple[()] | None:
    return () if torch.rand(1) < self.p else None


def _crop(img: Any, output_size: Any) -> tuple[int, int, int, int]:
    (_, h, w), (th, tw) = get_dimensions(img), output_size
    if h < th or w < tw:
        raise ValueError(f"Required crop size {(th, tw)} is larger than input image size {(h, w)}")
    return (0, 0, h, w) if (h, w) == (th, tw) else _place(h, w, th, tw)


def _sized(area: int, scale: Sequence[float], ratio: Sequence[float]) -> tuple[int, int]:
    """Two sides by a share of the area and their ratio (first to second)."""
    area = area * _uniform(*scale)
    aspect = torch.exp(torch.empty(1).uniform_(*torch.log(torch.tensor(ratio)).tolist())).item()
    return round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))


def _resized_crop(img: Any, scale: Any, ratio: Any) -> tuple[int, int, int, int]:
    """After ten failures the largest window in the middle that fits."""
    _, h, w = get_dimensions(img)
    for _ in range(10):
        wide, tall = _sized(h * w, scale, ratio)
        if 0 < wide <= w and 0 < tall <= h:
            return _place(h, w, tall, wide)
    tall = round(w / min(ratio)) if w / h < min(ratio) else h
    wide = round(h * max(ratio)) if w / h > max(ratio) else w
    return (h - tall) // 2, (w - wide) // 2, tall, wide


def _erased(img: Any, scale: Any, ratio: Any, value: Any = None) -> tuple[Any, ...]:
    """The image itself as value where no window fits after ten draws."""
    c, h, w = get_dimensions(img)
    for _ in range(10):
        tall, wide = _sized(h * w, scale, ratio)
        if tall < h and wide < w:
            noise = torch.empty([c, tall, wide]).normal_() if value is None else None
            return *_place(h, w, tall, wide), torch.tensor(value)[:, None, None] if noise is None else noise
    return 0, 0, h, w, img


def _erasing(self: Any, img: Any) -> tuple[Any, ...] | None:
    if not torch.rand(1) < self.p:
        return None
    value = [float(self.value)] if isinstance(self.value, (int, float)) else self.value
    if not isinstance(value, str) and len(value) not in (1, get_dimensions(img)[0]):
        raise ValueError(
            "If value is a sequence, it should have either a single value or "
            f"{get_dimensions(img)[0]} (number of input channels)"
        )
    return _erased(img, self.scale, self.ratio, None if isinstance(value, str) else [float(v) for v in value])


def _affine(degrees: Any, translate: Any, scale_ranges: Any, shears: Any, img_size: Any) -> tuple[Any, ...]:
    """(angle, shifts in pixels, scale, shears) for an image of (width, height)."""
    angle = _uniform(*degrees)
    shift = tuple(round(_uniform(-t * n, t * n)) for t, n in zip(translate or (), img_size)) or (0, 0)
    scale = 1.0 if scale_ranges is None else _uniform(*scale_ranges)
    shear = [_uniform(*shears[k : k + 2]) for k in range(0, len(shears or ()), 2)]
    return angle, shift, scale, (*shear, 0.0, 0.0)[:2]


# --- colours ------------------------------------------------------------------------------------


def _range(name: str) -> Callable[[Any], tuple[float, float] | None]:
    middle, least, most = (0.0, -0.5, 0.5) if name == "hue" else (1.0, 0, math.inf)

    def prepare(given: Any) -> tuple[float, float] | None:
        if isinstance(given, (int, float)):
            if given < 0:
                raise ValueError(f"If {name} is a single number, it must be non negative.")
            low = middle - given
            given = (low if name == "hue" else max(low, 0.0), middle + given)
        given = [float(v) for v in given]
        if not least <= given[0] <= given[1] <= most:
            raise ValueError(f"{name} values should be between {(least, most)}, but got {given}.")
        return None if given[0] == given[1] == middle else tuple(given)

    return prepare


_COLOURS = ("brightness", "contrast", "saturation", "hue")


def _factors(*ranges: Any) -> tuple[Any, ...]:
    return torch.randperm(4), *(None if r is None else _uniform(*r) for r in ranges)


def _jitter(img: Any, order: Any, *factors: Any) -> Any:
    """The colours changed, each by a random factor, in random order."""
    for i in order.tolist():
        img = img if factors[i] is None else getattr(F, f"adjust_{_COLOURS[i]}")(img, factors[i])
    return img


def _cropped(img: Any, top: int, left: int, height: int, width: int, padded: Any) -> Any:
    """A window of `size` anywhere in the image, padded before."""
    return F.crop(padded(img), top, left, height, width)


def _padding(self: Any) -> Callable[[Any], Any]:
    def padded(img: Any) -> Any:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        _, h, w = get_dimensions(img)
        for missing in ([max(self.size[1] - w, 0), 0], [0, max(self.size[0] - h, 0)]):
            if self.pad_if_needed and any(missing):
                img = F.pad(img, missing, self.fill, self.padding_mode)
        return img

    return padded


def _cropping(self: Any, img: Any) -> tuple[Any, ...]:
    padded = _padding(self)
    return *self.get_params(padded(img), self.size), padded


def _corners(width: int, height: int, distortion_scale: float) -> tuple[list[list[int]], list[list[int]]]:
    """The corners of an image (x, y), clockwise from the top left, and where they come to."""
    reach = [int(distortion_scale * (n // 2)) for n in (width, height)]

    def drawn(n: int, by: int, far: bool) -> int:
        low, high = (n - by - 1, n) if far else (0, by + 1)
        return int(torch.randint(low, high, size=(1,)).item())

    sides = ((False, False), (True, False), (True, True), (False, True))
    ends = [[drawn(width, reach[0], right), drawn(height, reach[1], low)] for right, low in sides]
    return [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], ends


def _seen(self: Any, img: Any) -> tuple[Any, ...] | None:
    if _sometimes(self, img) is None:
        return None
    _, height, width = get_dimensions(img)
    return self.get_params(width, height, self.distortion_scale)  # type: ignore[no-any-return]


def _filled(img: Any, start: Any, end: Any, interpolation: Any, fill: Any) -> Any:
    """The image seen from elsewhere, by chance."""
    if isinstance(img, torch.Tensor):
        number = isinstance(fill, (int, float))
        fill = [float(fill)] * get_dimensions(img)[0] if number else [float(f) for f in fill]
    return F.perspective(img, start, end, interpolation, fill)


def _spread(given: Any) -> Any:
    if isinstance(given, (int, float)):
        if given <= 0:
            raise ValueError("If sigma is a single number, it must be positive.")
        return (given, given)
    if len(given) != 2:
        raise ValueError("sigma should be a single number or a list/tuple with length 2.")
    if not 0.0 < given[0] <= given[1]:
        raise ValueError("sigma values should be positive and of the form (min, max).")
    return given


def _odd(given: Any) -> Any:
    sizes = pair(given, "Kernel size should be a tuple/list of two integers")
    if any(n <= 0 or n % 2 == 0 for n in sizes):
        raise ValueError("Kernel size value should be an odd and positive number.")
    return sizes


def _blurred(img: Any, sigma: float, kernel_size: Any) -> Any:
    """Smoothed by a Gaussian of a width drawn between two."""
    return F.gaussian_blur(img, kernel_size, [sigma, sigma])


def _both(name: str) -> Callable[[Any], list[float]]:
    def prepare(given: Any) -> list[float]:
        if not isinstance(given, (float, Sequence)):
            raise TypeError(f"{name} should be float or a sequence of floats. Got {type(given)}")
        found = [given] * 2 if isinstance(given, float) else list(given)
        if len(found) != 2:
            raise ValueError(f"If {name} is a sequence its length should be 2. Got {len(found)}")
        return [float(v) for v in found]

    return prepare


def _displacement(alpha: Any, sigma: Any, size: Any) -> Any:
    """(1, H, W, 2): smooth noise, in halves of the sides."""
    parts = []
    for strength, width, side in zip(alpha, sigma, size[::-1]):
        noise = torch.rand([1, 1, *size]) * 2 - 1
        if width > 0.0:
            reach = int(8 * width + 1)
            noise = F.gaussian_blur(noise, [reach + (reach % 2 == 0)] * 2, sigma)
        parts.append(noise * strength / side)
    return torch.concat(parts, 1).permute([0, 2, 3, 1])


def _whitened(img: Any, transformation_matrix: Any, mean_vector: Any) -> Any:
    """(the flat image - mean_vector) @ transformation_matrix, a tensor of the image's shape."""
    count = math.prod(img.shape[-3:])
    if count != len(transformation_matrix):
        raise ValueError(
            "Input tensor and transformation matrix have incompatible shape."
            f"[{' x '.join(map(str, img.shape[-3:]))}] != {len(transformation_matrix)}"
        )
    flat = img.view(-1, count) - mean_vector
    return torch.mm(flat, transformation_matrix.to(flat.dtype)).view(img.shape)


# --- the table ----------------------------------------------------------------------------------


def _made(
    name: str,
    does: Callable[..., Any],
    takes: str = "",
    draw: Any = None,
    base: type = Transform,
    **more: Any,
) -> Any:
    more = {k: staticmethod(v) if k == "get_params" else v for k, v in more.items()}
    more.update({"_draw": draw} if draw else {}, does=staticmethod(does), __module__=__name__)
    return type(base)(name, (base,), {**more, "__doc__": does.__doc__}, takes=takes)


ToTensor = _made("ToTensor", F.to_tensor, base=Plain)
PILToTensor = _made("PILToTensor", F.pil_to_tensor, base=Plain)
ToPILImage = _made("ToPILImage", F.to_pil_image, "mode=None", base=Plain)
ConvertImageDtype = _made("ConvertImageDtype", F.convert_image_dtype, "dtype", __repr__=Lambda.__repr__)
Normalize = _made("Normalize", F.normalize, "mean, std, inplace=False", shown=("mean", "std"))
Resize = _made(
    "Resize",
    F.resize,
    "size, interpolation=BILINEAR, max_size=None, antialias=True",
    prepared={
        "size": _checked(
            lambda v: isinstance(v, (int, Sequence)),
            lambda v: TypeError(f"Size should be int or sequence. Got {type(v)}"),
        )
    },
    geometric=True,
)
CenterCrop = _made(
    "CenterCrop",
    F.center_crop,
    "size",
    lambda self, img: (self.size,),
    prepared={"size": pair},
    geometric=True,
)
Pad = _made("Pad", F.pad, "padding, fill=0, padding_mode='constant'", geometric=True)
Grayscale = _made("Grayscale", F.rgb_to_grayscale, "num_output_channels=1")
RandomHorizontalFlip = _made("RandomHorizontalFlip", F.hflip, "p=0.5", _sometimes, geometric=True)
RandomVerticalFlip = _made("RandomVerticalFlip", F.vflip, "p=0.5", _sometimes, geometric=True)
RandomGrayscale = _made(
    "RandomGrayscale",
    F.rgb_to_grayscale,
    "p=0.1",
    lambda self, img: None if _sometimes(self, img) is None else (get_dimensions(img)[0],),
)
RandomCrop = _made(
    "RandomCrop",
    _cropped,
    "size, padding=None, pad_if_needed=False, fill=0, padding_mode='constant'",
    _cropping,
    get_params=_crop,
    shown=("size", "padding"),
    prepared={"size": pair},
    geometric=True,
)
RandomResizedCrop = _made(
    "RandomResizedCrop",
    F.resized_crop,
    "size, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3), interpolation=BILINEAR, antialias=True",
    lambda self, img: self.get_params(img, self.scale, self.ratio),
    get_params=_resized_crop,
    prepared={"size": pair},
    geometric=True,
)
ColorJitter = _made(
    "ColorJitter",
    _jitter,
    "brightness=0, contrast=0, saturation=0, hue=0",
    lambda self, img: self.get_params(*(getattr(self, name) for name in _COLOURS)),
    get_params=_factors,
    prepared={name: _range(name) for name in _COLOURS},
)
RandomRotation = _made(
    "RandomRotation",
    F.rotate,
    "degrees, interpolation=NEAREST, expand=False, center=None, fill=0",
    lambda self, img: (self.get_params(self.degrees),),
    get_params=lambda degrees: _uniform(*degrees),
    geometric=True,
)
RandomAffine = _made(
    "RandomAffine",
    F.affine,
    "degrees, translate=None, scale=None, shear=None, interpolation=NEAREST, fill=0, center=None",
    lambda self, img: self.get_params(
        self.degrees, self.translate, self.scale, self.shear, F.get_image_size(img)
    ),
    get_params=_affine,
    geometric=True,
    hidden={
        **dict.fromkeys(("translate", "scale", "shear", "center")),
        "fill": 0,
        "interpolation": InterpolationMode.NEAREST,
    },
)
RandomErasing = _made(
    "RandomErasing",
    F.erase,
    "p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False",
    _erasing,
    get_params=_erased,
)
FiveCrop = _made("FiveCrop", F.five_crop, "size", prepared={"size": pair})
TenCrop = _made("TenCrop", F.ten_crop, "size, vertical_flip=False", prepared={"size": pair})
RandomInvert = _made("RandomInvert", F.invert, "p=0.5", _sometimes)
RandomPosterize = _made("RandomPosterize", F.posterize, "bits, p=0.5", _sometimes, joint=",")
RandomSolarize = _made("RandomSolarize", F.solarize, "threshold, p=0.5", _sometimes, joint=",")
RandomAutocontrast = _made("RandomAutocontrast", F.autocontrast, "p=0.5", _sometimes)
RandomEqualize = _made("RandomEqualize", F.equalize, "p=0.5", _sometimes)
RandomAdjustSharpness = _made(
    "RandomAdjustSharpness", F.adjust_sharpness, "sharpness_factor, p=0.5", _sometimes, joint=","
)
RandomPerspective = _made(
    "RandomPerspective",
    _filled,
    "distortion_scale=0.5, p=0.5, interpolation=BILINEAR, fill=0",
    _seen,
    get_params=_corners,
    shown=("p",),
    geometric=True,
)
GaussianBlur = _made(
    "GaussianBlur",
    _blurred,
    "kernel_size, sigma=(0.1, 2.0)",
    lambda self, img: (self.get_params(*self.sigma),),
    get_params=_uniform,
    prepared={"kernel_size": _odd, "sigma": _spread},
)
ElasticTransform = _made(
    "ElasticTransform",
    F.elastic_transform,
    "alpha=50.0, sigma=5.0, interpolation=BILINEAR, fill=0",
    lambda self, img: (self.get_params(self.alpha, self.sigma, get_dimensions(img)[1:]),),
    get_params=_displacement,
    geometric=True,
    spelled=True,
    prepared={
        "alpha": _both("alpha"),
        "sigma": _both("sigma"),
        "fill": lambda v: [float(v)] if isinstance(v, (int, float)) else [float(f) for f in v],
    },
)
LinearTransformation = _made("LinearTransformation", _whitened, "transformation_matrix, mean_vector")
