"""Transforms of sizes, windows, borders and turns, for all that a sample has."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight_vision import tv_tensors
from rushlight_vision.ops.boxes import box_iou
from rushlight_vision.pillow import is_image
from rushlight_vision.transforms import draws, transforms as v1
from rushlight_vision.transforms.geometry import pair
from rushlight_vision.transforms.options import _check_sequence_input, _setup_angle
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._transform import Transform, _RandomApplyTransform
from rushlight_vision.transforms.v2._utils import (
    _check_padding_arg,
    _check_padding_mode_arg,
    _get_fill,
    _setup_fill_arg,
    _setup_number_or_seq,
    get_bounding_boxes,
    has_all,
    has_any,
    query_size,
)
from rushlight_vision.transforms.v2.functional._geometry import _parse_pad_padding
from rushlight_vision.transforms.v2.functional._utils import is_pure_tensor
from rushlight_vision.transforms.warping import perspective_coefficients


class _Filled(Transform):
    """A transform with a fill for what is beyond the image: one, or one for each type."""

    fill: Any

    def _set_fill(self, fill: Any) -> None:
        self.fill = fill
        self._fill = _setup_fill_arg(fill)

    def _filled(self, functional: Any, inpt: Any, **how: Any) -> Any:
        return self._call_kernel(functional, inpt, fill=_get_fill(self._fill, type(inpt)), **how)


def _with_one_fill(transform: Transform, options: dict[str, Any]) -> dict[str, Any]:
    """The options as they are; ValueError for several fills, which transforms of images do not have."""
    if not (options["fill"] is None or isinstance(options["fill"], (int, float))):
        name = type(transform).__name__
        raise ValueError(f"{name}() can only be scripted for a scalar `fill`, but got {options['fill']}.")
    return options


class RandomHorizontalFlip(_RandomApplyTransform):
    """Left and right exchanged, with probability p."""

    _v1_transform_cls = v1.RandomHorizontalFlip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The mirror image."""
        return self._call_kernel(F.horizontal_flip, inpt)


class RandomVerticalFlip(_RandomApplyTransform):
    """Top and bottom exchanged, with probability p."""

    _v1_transform_cls = v1.RandomVerticalFlip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The image upside down."""
        return self._call_kernel(F.vertical_flip, inpt)


# --- sizes --------------------------------------------------------------------------------------


class Resize(Transform):
    """`size`: (height, width), the length of the shorter side, or None: the longer one is max_size."""

    _v1_transform_cls = v1.Resize

    def __init__(
        self,
        size: Any,
        interpolation: Any = "bilinear",
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if size is None:
            if not isinstance(max_size, int):
                raise ValueError(
                    f"max_size must be an integer when size is None, but got {max_size} instead."
                )
        elif not isinstance(size, int) and not (isinstance(size, Sequence) and len(size) in (1, 2)):
            raise ValueError(
                f"size can be an integer, a sequence of one or two integers, or None, but got {size} instead."
            )
        self.size = [size] if isinstance(size, int) else size if size is None else list(size)
        self.interpolation, self.max_size, self.antialias = interpolation, max_size, antialias

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """At the size."""
        how = {"interpolation": self.interpolation, "antialias": self.antialias}
        return self._call_kernel(F.resize, inpt, size=self.size, max_size=self.max_size, **how)


class _Resizing(Transform):
    """A transform that draws a size."""

    interpolation: Any
    antialias: bool | None

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """At the size drawn."""
        how = {"interpolation": self.interpolation, "antialias": self.antialias}
        return self._call_kernel(F.resize, inpt, size=params["size"], max_size=None, **how)


class ScaleJitter(_Resizing):
    """As large as fits in target_size, times a random factor."""

    def __init__(
        self,
        target_size: tuple[int, int],
        scale_range: tuple[float, float] = (0.1, 2.0),
        interpolation: Any = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.target_size, self.scale_range = target_size, scale_range
        self.interpolation, self.antialias = interpolation, antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The size."""
        height, width = query_size(flat_inputs)
        low, high = self.scale_range
        ratio = min(self.target_size[1] / height, self.target_size[0] / width) * (
            low + torch.rand(1) * (high - low)
        )
        return {"size": (int(height * ratio), int(width * ratio))}


class RandomShortestSize(_Resizing):
    """The shorter side of a length drawn from min_size, the longer one at most max_size."""

    def __init__(
        self,
        min_size: Any,
        max_size: int | None = None,
        interpolation: Any = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.min_size = [min_size] if isinstance(min_size, int) else list(min_size)
        self.max_size, self.interpolation, self.antialias = max_size, interpolation, antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The size."""
        height, width = query_size(flat_inputs)
        ratio = self.min_size[int(torch.randint(len(self.min_size), ()))] / min(height, width)
        if self.max_size is not None:
            ratio = min(ratio, self.max_size / max(height, width))
        return {"size": (int(height * ratio), int(width * ratio))}


class RandomResize(_Resizing):
    """The shorter side of a length between min_size and max_size."""

    def __init__(
        self,
        min_size: int,
        max_size: int,
        interpolation: Any = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.min_size, self.max_size = min_size, max_size
        self.interpolation, self.antialias = interpolation, antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The size."""
        return {"size": [int(torch.randint(self.min_size, self.max_size, ()))]}


# --- windows ------------------------------------------------------------------------------------


class CenterCrop(Transform):
    """The window in the middle."""

    _v1_transform_cls = v1.CenterCrop

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = pair(size)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The middle."""
        return self._call_kernel(F.center_crop, inpt, output_size=self.size)


class RandomResizedCrop(Transform):
    """A window of a random size and aspect, resized."""

    _v1_transform_cls = v1.RandomResizedCrop

    def __init__(
        self,
        size: Any,
        scale: Any = (0.08, 1.0),
        ratio: Any = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Any = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = pair(size)
        for name, given in (("Scale", scale), ("Ratio", ratio)):
            if not isinstance(given, Sequence) or len(given) != 2:
                raise TypeError(f"{name} should be a sequence of two floats.")
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            warnings.warn("Scale and ratio should be of kind (min, max)", stacklevel=2)
        self.scale, self.ratio = scale, ratio
        self.interpolation, self.antialias = interpolation, antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The window."""
        height, width = query_size(flat_inputs)
        found = draws.window_of(height, width, self.scale, self.ratio)
        return dict(zip(("top", "left", "height", "width"), found))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The window, resized."""
        how = {"size": self.size, "interpolation": self.interpolation, "antialias": self.antialias}
        return self._call_kernel(F.resized_crop, inpt, **params, **how)


class FiveCrop(Transform):
    """The four corners and the middle, as a tuple."""

    _v1_transform_cls: Any = v1.FiveCrop

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = pair(size)

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """TypeError for boxes and masks."""
        if has_any(flat_inputs, tv_tensors.BoundingBoxes, tv_tensors.Mask):
            raise TypeError(f"BoundingBoxes'es and Mask's are not supported by {type(self).__name__}()")

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Five windows."""
        return self._call_kernel(F.five_crop, inpt, size=self.size)


class TenCrop(FiveCrop):
    """FiveCrop of the image and of its mirror image."""

    _v1_transform_cls: Any = v1.TenCrop

    def __init__(self, size: Any, vertical_flip: bool = False) -> None:
        super().__init__(size)
        self.vertical_flip = vertical_flip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Ten windows."""
        return self._call_kernel(F.ten_crop, inpt, size=self.size, vertical_flip=self.vertical_flip)


class RandomCrop(_Filled):
    """A window of `size` anywhere in the image, padded before."""

    _v1_transform_cls = v1.RandomCrop

    def _extract_params_for_v1_transform(self) -> dict[str, Any]:
        return _with_one_fill(self, super()._extract_params_for_v1_transform())

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = pair(size)
        if padding is not None:
            _check_padding_arg(padding)
        if pad_if_needed or padding is not None:
            _check_padding_mode_arg(padding_mode)
        self.padding = _parse_pad_padding(padding) if padding else None
        self.pad_if_needed = pad_if_needed
        self._set_fill(fill)
        self.padding_mode = padding_mode

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The borders and the window."""
        sides = list(query_size(flat_inputs))
        left, right, top, bottom = self.padding or (0, 0, 0, 0)
        borders = [[top, bottom], [left, right]]
        places = []
        for k in range(2):
            sides[k] += sum(borders[k])
            missing = self.size[k] - sides[k]
            if self.pad_if_needed and missing > 0:
                borders[k] = [n + missing for n in borders[k]]
                sides[k] += 2 * missing
        if any(side < wanted for side, wanted in zip(sides, self.size)):
            raise ValueError(
                f"Required crop size {tuple(self.size)} is larger than "
                f"{'padded ' if self.padding is not None else ''}input image size {tuple(sides)}."
            )
        for side, wanted in zip(sides, self.size):
            more = side - wanted
            places.append(int(torch.randint(0, more + 1, size=())) if more else 0)
        padding = [borders[1][0], borders[0][0], borders[1][1], borders[0][1]]
        return {
            "needs_crop": any(side > wanted for side, wanted in zip(sides, self.size)),
            "top": places[0],
            "left": places[1],
            "height": self.size[0],
            "width": self.size[1],
            "needs_pad": any(padding),
            "padding": padding,
        }

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The window."""
        if params["needs_pad"]:
            inpt = self._filled(F.pad, inpt, padding=params["padding"], padding_mode=self.padding_mode)
        if params["needs_crop"]:
            window = {name: params[name] for name in ("top", "left", "height", "width")}
            inpt = self._call_kernel(F.crop, inpt, **window)
        return inpt


class RandomIoUCrop(Transform):
    """A window that overlaps a box by a random share at least; boxes with their middle outside become 0."""

    def __init__(
        self,
        min_scale: float = 0.3,
        max_scale: float = 1.0,
        min_aspect_ratio: float = 0.5,
        max_aspect_ratio: float = 2.0,
        sampler_options: list[float] | None = None,
        trials: int = 40,
    ) -> None:
        super().__init__()
        self.min_scale, self.max_scale = min_scale, max_scale
        self.min_aspect_ratio, self.max_aspect_ratio = min_aspect_ratio, max_aspect_ratio
        self.options = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0] if sampler_options is None else sampler_options
        self.trials = trials

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """TypeError without an image and boxes."""
        pictured = has_any(flat_inputs, is_image, tv_tensors.Image, is_pure_tensor)
        if not (pictured and has_all(flat_inputs, tv_tensors.BoundingBoxes)):
            raise TypeError(
                f"{type(self).__name__}() requires input sample to contain tensor or PIL images "
                "and bounding boxes. Sample can also contain masks."
            )

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The window and the boxes in it; nothing where the image stays whole."""
        size, boxes = query_size(flat_inputs), get_bounding_boxes(flat_inputs)
        plain = boxes.as_subclass(torch.Tensor)
        corners = F.convert_bounding_box_format(plain, boxes.format, tv_tensors.BoundingBoxFormat.XYXY)
        while True:
            overlap = self.options[int(torch.randint(low=0, high=len(self.options), size=(1,)))]
            if overlap >= 1.0:
                return {}
            for _ in range(self.trials):
                found = self._trial(size, corners, overlap)
                if found:
                    return found

    def _trial(self, size: tuple[int, ...], corners: Any, overlap: float) -> dict[str, Any]:
        shares = self.min_scale + (self.max_scale - self.min_scale) * torch.rand(2)
        width, height = int(size[1] * shares[0]), int(size[0] * shares[1])
        if not self.min_aspect_ratio <= width / height <= self.max_aspect_ratio:
            return {}
        shares = torch.rand(2)
        left, top = int((size[1] - width) * shares[0]), int((size[0] - height) * shares[1])
        right, bottom = left + width, top + height
        if left == right or top == bottom:
            return {}
        cx, cy = 0.5 * (corners[..., 0] + corners[..., 2]), 0.5 * (corners[..., 1] + corners[..., 3])
        inside = (left < cx) & (cx < right) & (top < cy) & (cy < bottom)
        if not inside.any():
            return {}
        window = torch.tensor([[left, top, right, bottom]], dtype=corners.dtype)
        if box_iou(corners[inside], window).max() < overlap:
            return {}
        return {"top": top, "left": left, "height": height, "width": width, "is_within_crop_area": inside}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The window."""
        if not params:
            return inpt
        window = {name: params[name] for name in ("top", "left", "height", "width")}
        found = self._call_kernel(F.crop, inpt, **window)
        if isinstance(found, tv_tensors.BoundingBoxes):
            found[~params["is_within_crop_area"]] = 0
        return found


# --- borders ------------------------------------------------------------------------------------


class Pad(_Filled):
    """The image with a border."""

    _v1_transform_cls = v1.Pad

    def _extract_params_for_v1_transform(self) -> dict[str, Any]:
        return _with_one_fill(self, super()._extract_params_for_v1_transform())

    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        _check_padding_arg(padding)
        _check_padding_mode_arg(padding_mode)
        self.padding = padding if isinstance(padding, int) else list(padding)
        self._set_fill(fill)
        self.padding_mode = padding_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """With the border."""
        return self._filled(F.pad, inpt, padding=self.padding, padding_mode=self.padding_mode)


class RandomZoomOut(_RandomApplyTransform, _Filled):
    """The image somewhere on a larger canvas, side_range times its size, with probability p."""

    def __init__(self, fill: Any = 0, side_range: Sequence[float] = (1.0, 4.0), p: float = 0.5) -> None:
        super().__init__(p=p)
        self._set_fill(fill)
        _check_sequence_input(side_range, "side_range", req_sizes=(2,))
        self.side_range = side_range
        if side_range[0] < 1.0 or side_range[0] > side_range[1]:
            raise ValueError(f"Invalid side range provided {side_range}.")

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The borders."""
        height, width = query_size(flat_inputs)
        low, high = self.side_range
        factor = low + torch.rand(1) * (high - low)
        more = int(width * factor) - width, int(height * factor) - height
        share = torch.rand(2)
        left, top = int(more[0] * share[0]), int(more[1] * share[1])
        return {"padding": [left, top, more[0] - left, more[1] - top]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """On the canvas."""
        return self._filled(F.pad, inpt, padding=params["padding"], padding_mode="constant")


# --- turns --------------------------------------------------------------------------------------


class RandomRotation(_Filled):
    """Turned by an angle drawn from `degrees`."""

    _v1_transform_cls = v1.RandomRotation

    def __init__(
        self,
        degrees: Any,
        interpolation: Any = "nearest",
        expand: bool = False,
        center: Any = None,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.degrees = _setup_angle(degrees, name="degrees", req_sizes=(2,))
        self.interpolation, self.expand = interpolation, expand
        self._set_fill(fill)
        if center is not None:
            _check_sequence_input(center, "center", req_sizes=(2,))
        self.center = center

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The angle."""
        return {"angle": draws.uniform(*self.degrees)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Turned."""
        how = {"interpolation": self.interpolation, "expand": self.expand, "center": self.center}
        return self._filled(F.rotate, inpt, **params, **how)


class RandomAffine(_Filled):
    """Turned, moved, scaled and sheared by what is drawn."""

    _v1_transform_cls = v1.RandomAffine

    def __init__(
        self,
        degrees: Any,
        translate: Any = None,
        scale: Any = None,
        shear: Any = None,
        interpolation: Any = "nearest",
        fill: Any = 0,
        center: Any = None,
    ) -> None:
        super().__init__()
        self.degrees = _setup_angle(degrees, name="degrees", req_sizes=(2,))
        for name, given in (("translate", translate), ("scale", scale), ("center", center)):
            if given is not None:
                _check_sequence_input(given, name, req_sizes=(2,))
        if not all(0.0 <= t <= 1.0 for t in translate or ()):
            raise ValueError("translation values should be between 0 and 1")
        if not all(s > 0 for s in scale or ()):
            raise ValueError("scale values should be positive")
        self.translate, self.scale = translate, scale
        self.shear = None if shear is None else _setup_angle(shear, name="shear", req_sizes=(2, 4))
        self.interpolation = interpolation
        self._set_fill(fill)
        self.center = center

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Angle, shifts, scale and shears."""
        size = query_size(flat_inputs)[::-1]
        found = draws.motion(self.degrees, self.translate, self.scale, self.shear, list(size))
        return dict(zip(("angle", "translate", "scale", "shear"), found))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Turned, moved, scaled and sheared."""
        how = {"interpolation": self.interpolation, "center": self.center}
        return self._filled(F.affine, inpt, **params, **how)


class RandomPerspective(_RandomApplyTransform, _Filled):
    """Seen from elsewhere, with probability p."""

    _v1_transform_cls = v1.RandomPerspective

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Any = "bilinear",
        fill: Any = 0,
    ) -> None:
        super().__init__(p=p)
        if not 0 <= distortion_scale <= 1:
            raise ValueError("Argument distortion_scale value should be between 0 and 1")
        self.distortion_scale, self.interpolation = distortion_scale, interpolation
        self._set_fill(fill)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The coefficients."""
        height, width = query_size(flat_inputs)
        ends = draws.corners(width, height, self.distortion_scale)
        return {"coefficients": perspective_coefficients(*ends)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Seen from elsewhere."""
        how = {"startpoints": None, "endpoints": None, "interpolation": self.interpolation}
        return self._filled(F.perspective, inpt, **how, **params)


class ElasticTransform(_Filled):
    """Each pixel moved a little, smoothly: by noise of strength alpha, sigma wide."""

    _v1_transform_cls = v1.ElasticTransform

    def __init__(
        self,
        alpha: Any = 50.0,
        sigma: Any = 5.0,
        interpolation: Any = "bilinear",
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.alpha, self.sigma = _setup_number_or_seq(alpha, "alpha"), _setup_number_or_seq(sigma, "sigma")
        self.interpolation = interpolation
        self._set_fill(fill)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The displacement."""
        height, width = query_size(flat_inputs)
        parts = []
        for strength, wide, side in zip(self.alpha, self.sigma, (width, height)):
            noise = torch.rand([1, 1, height, width]) * 2 - 1
            if wide > 0.0:
                noise = F.gaussian_blur_image(noise, [draws.reach_of(wide)] * 2, self.sigma)
            parts.append(noise * strength / side)
        return {"displacement": torch.concat(parts, 1).permute([0, 2, 3, 1])}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Displaced."""
        return self._filled(F.elastic, inpt, **params, interpolation=self.interpolation)
