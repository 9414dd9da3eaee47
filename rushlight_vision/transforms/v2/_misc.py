"""Dtypes, normalization, blur, noise; kinds of images; boxes and points."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.core.pytree import flatten
from rushlight_vision import tv_tensors
from rushlight_vision.pillow import is_image
from rushlight_vision.transforms import draws, transforms as v1
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._transform import Transform
from rushlight_vision.transforms.v2._utils import (
    _parse_labels_getter,
    _setup_number_or_seq,
    get_bounding_boxes,
    get_keypoints,
    has_any,
)
from rushlight_vision.transforms.v2.functional._misc import valid_boxes, valid_points
from rushlight_vision.transforms.v2.functional._utils import is_pure_tensor


class Identity(Transform):
    """The sample as it is."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The same."""
        return inpt


class Lambda(Transform):
    """A function of everything in a sample, or of what is of some types."""

    _transformed_types = (object,)

    def __init__(self, lambd: Any, *types: type) -> None:
        super().__init__()
        self.lambd = lambd
        self.types = types or self._transformed_types

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """What the function gives."""
        return self.lambd(inpt) if isinstance(inpt, self.types) else inpt

    def extra_repr(self) -> str:
        """The function's name and the types."""
        name = getattr(self.lambd, "__name__", None)
        return ", ".join([*([name] if name else []), f"types={[t.__name__ for t in self.types]}"])


class _Tensors(Transform):
    """A transform that takes no image of Pillow."""

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """TypeError for an image of Pillow."""
        if has_any(flat_inputs, is_image):
            raise TypeError(f"{type(self).__name__}() does not support PIL images.")


class LinearTransformation(_Tensors):
    """(the flat image - mean_vector) @ transformation_matrix, a tensor of the image's shape."""

    _v1_transform_cls = v1.LinearTransformation

    _transformed_types = (is_pure_tensor, tv_tensors.Image, tv_tensors.Video)

    def __init__(self, transformation_matrix: Any, mean_vector: Any) -> None:
        super().__init__()
        shape = tuple(transformation_matrix.shape)
        if shape[0] != shape[1]:
            raise ValueError(f"transformation_matrix should be square. Got {shape} rectangular matrix.")
        if len(mean_vector) != shape[0]:
            raise ValueError(
                f"mean_vector should have the same length {len(mean_vector)} as any one of the dimensions of "
                f"the transformation_matrix [{shape}]"
            )
        if transformation_matrix.dtype != mean_vector.dtype:
            raise ValueError(
                f"Input tensors should have the same dtype. Got {transformation_matrix.dtype} and "
                f"{mean_vector.dtype}"
            )
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The image, transformed."""
        c, h, w = inpt.shape[-3:]
        if c * h * w != len(self.transformation_matrix):
            raise ValueError(
                "Input tensor and transformation matrix have incompatible shape."
                f"[{c} x {h} x {w}] != {len(self.transformation_matrix)}"
            )
        if inpt.device.type != self.mean_vector.device.type:
            raise ValueError(
                "Input tensor should be on the same device as transformation matrix and mean vector. "
                f"Got {inpt.device} vs {self.mean_vector.device}"
            )
        flat = inpt.as_subclass(torch.Tensor).reshape(-1, c * h * w) - self.mean_vector
        found = torch.mm(flat, self.transformation_matrix.to(flat.dtype)).reshape(inpt.shape)
        return found if is_pure_tensor(inpt) else tv_tensors.wrap(found, like=inpt)


class Normalize(_Tensors):
    """(image - mean) / std, channel by channel."""

    _v1_transform_cls = v1.Normalize

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        super().__init__()
        self.mean, self.std, self.inplace = list(mean), list(std), inplace

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Normalised."""
        return self._call_kernel(F.normalize, inpt, mean=self.mean, std=self.std, inplace=self.inplace)


class GaussianBlur(Transform):
    """Smoothed by a Gaussian of a width drawn between two."""

    _v1_transform_cls = v1.GaussianBlur

    def __init__(self, kernel_size: Any, sigma: Any = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = draws.odd(kernel_size)
        self.sigma = _setup_number_or_seq(sigma, "sigma")
        if not 0.0 < self.sigma[0] <= self.sigma[1]:
            raise ValueError(f"sigma values should be positive and of the form (min, max). Got {self.sigma}")

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The width."""
        return {"sigma": [draws.uniform(*self.sigma)] * 2}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Smoothed."""
        return self._call_kernel(F.gaussian_blur, inpt, kernel_size=self.kernel_size, **params)


class GaussianNoise(Transform):
    """With noise of a mean and a width; clip: kept in the range."""

    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None:
        super().__init__()
        self.mean, self.sigma, self.clip = mean, sigma, clip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """With noise."""
        how = {"mean": self.mean, "sigma": self.sigma, "clip": self.clip}
        return self._call_kernel(F.gaussian_noise, inpt, **how)


class ToDtype(Transform):
    """Another dtype, for images or by a dict of types; scale: values of images follow the dtype's range."""

    _transformed_types = (torch.Tensor,)

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        super().__init__()
        if not isinstance(dtype, (dict, torch.dtype)):
            raise ValueError(f"dtype must be a dict or a torch.dtype, got {type(dtype)} instead")
        named: tuple[Any, ...] = tuple(dtype) if isinstance(dtype, dict) else ()
        if torch.Tensor in named and (tv_tensors.Image in named or tv_tensors.Video in named):
            warnings.warn(
                "Got `dtype` values for `torch.Tensor` and either `tv_tensors.Image` or `tv_tensors.Video`. "
                "Note that a plain `torch.Tensor` will *not* be transformed by this (or any other "
                "transformation) in case a `tv_tensors.Image` or `tv_tensors.Video` is present in the input.",
                stacklevel=2,
            )
        self.dtype: Any = dtype
        self.scale = scale

    def _wanted(self, inpt: Any) -> Any:
        pictured = is_pure_tensor(inpt) or isinstance(inpt, (tv_tensors.Image, tv_tensors.Video))
        if not isinstance(self.dtype, dict):
            return self.dtype if pictured else None
        if type(inpt) not in self.dtype and "others" not in self.dtype:
            raise ValueError(
                f"No dtype was specified for type {type(inpt)}. If you only need to convert the dtype of "
                "images or videos, you can just pass e.g. dtype=torch.float32. If you're passing a dict as "
                'dtype, you can use "others" as a catch-all key e.g. dtype={tv_tensors.Mask: torch.int64, '
                '"others": None} to pass-through the rest of the inputs.'
            )
        found = self.dtype.get(type(inpt), self.dtype.get("others"))
        if found is None and self.scale and pictured:
            warnings.warn(
                "scale was set to True but no dtype was specified for images or videos: "
                "no scaling will be done.",
                stacklevel=3,
            )
        return found

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """In its dtype."""
        dtype = self._wanted(inpt)
        return inpt if dtype is None else self._call_kernel(F.to_dtype, inpt, dtype=dtype, scale=self.scale)


class ConvertImageDtype(Transform):
    """ToDtype of images, with values that follow the dtype's range."""

    _v1_transform_cls = v1.ConvertImageDtype

    def __init__(self, dtype: Any = torch.float32) -> None:
        super().__init__()
        self.dtype = dtype

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """In the dtype."""
        return self._call_kernel(F.to_dtype, inpt, dtype=self.dtype, scale=True)


class UniformTemporalSubsample(Transform):
    """So many frames of a video, evenly spaced."""

    _transformed_types = (torch.Tensor,)

    def __init__(self, num_samples: int) -> None:
        super().__init__()
        self.num_samples = num_samples

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The frames."""
        return self._call_kernel(F.uniform_temporal_subsample, inpt, num_samples=self.num_samples)


# --- kinds of images ----------------------------------------------------------------------------


class PILToTensor(Transform):
    """PIL images as tensors of the same values."""

    _transformed_types = (is_image,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """(C, H, W)."""
        return F.pil_to_tensor(inpt)


class ToImage(Transform):
    """PIL images, arrays and plain tensors as tv_tensors.Image."""

    _transformed_types = (is_pure_tensor, is_image, np.ndarray)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The image."""
        return F.to_image(inpt)


class ToPILImage(Transform):
    """Tensors and arrays as PIL images."""

    _transformed_types = (is_pure_tensor, tv_tensors.Image, np.ndarray)

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The image."""
        return F.to_pil_image(inpt, mode=self.mode)


class ToPureTensor(Transform):
    """tv_tensors as plain tensors."""

    _transformed_types = (tv_tensors.TVTensor,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The tensor without its meaning."""
        return inpt.as_subclass(torch.Tensor)


class ToTensor(Transform):
    """PIL images and arrays as tensors (C, H, W); bytes become floats from 0 to 1."""

    _transformed_types = (is_image, np.ndarray)

    def __init__(self) -> None:
        warnings.warn(
            "The transform `ToTensor()` is deprecated and will be removed in a future release. Instead, "
            "please use `v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])`."
            "Output is equivalent up to float precision.",
            stacklevel=2,
        )
        super().__init__()

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The tensor."""
        return F.to_tensor(inpt)


# --- boxes and points ---------------------------------------------------------------------------


class ConvertBoundingBoxFormat(Transform):
    """Boxes in another format."""

    _transformed_types = (tv_tensors.BoundingBoxes,)

    def __init__(self, format: Any) -> None:
        super().__init__()
        self.format = format

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """In the format."""
        return F.convert_bounding_box_format(inpt, new_format=self.format)


class ClampBoundingBoxes(Transform):
    """Boxes cut where they reach beyond the canvas."""

    _transformed_types = (tv_tensors.BoundingBoxes,)

    def __init__(self, clamping_mode: str | None = "auto") -> None:
        super().__init__()
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """On the canvas."""
        return F.clamp_bounding_boxes(inpt, clamping_mode=self.clamping_mode)


class ClampKeyPoints(Transform):
    """Points moved to the nearest pixel of the canvas."""

    _transformed_types = (tv_tensors.KeyPoints,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """On the canvas."""
        return F.clamp_keypoints(inpt)


class SetClampingMode(Transform):
    """Boxes that say otherwise how transforms keep them on the canvas."""

    _transformed_types = (tv_tensors.BoundingBoxes,)

    def __init__(self, clamping_mode: str | None) -> None:
        super().__init__()
        if clamping_mode not in (None, "soft", "hard"):
            raise ValueError(f"clamping_mode must be soft, hard or None, got {clamping_mode}")
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """With the mode."""
        return tv_tensors.wrap(
            inpt.as_subclass(torch.Tensor).clone(), like=inpt, clamping_mode=self.clamping_mode
        )


class _Sanitizing(Transform):
    """Takes away what is none of its kind, and the labels of it."""

    labels_getter: Any
    _noun = ""

    def _kept(self, flat_inputs: list[Any]) -> tuple[Any, Any]:
        """(the boxes or points, which of them stay)."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method _kept(flat_inputs)")

    def forward(self, *inputs: Any) -> Any:
        """The sample without those."""
        sample = inputs if len(inputs) > 1 else inputs[0]
        labels = _parse_labels_getter(self.labels_getter)(sample)
        several = labels if isinstance(labels, (tuple, list)) else [] if labels is None else [labels]
        for label in several:
            if not isinstance(label, torch.Tensor):
                raise ValueError(
                    "The labels in the input to forward() must be a tensor or None, "
                    f"got {type(label)} instead."
                )
        flat, nest = flatten(sample)
        flat = list(flat)
        found, valid = self._kept(flat)
        for label in several:
            if len(found) != len(label):
                raise ValueError(
                    f"Number of {self._noun} (shape={found.shape}) must match the number of labels."
                    f"Found labels with shape={label.shape})."
                )
        params = {"valid": valid, "labels": several}
        return nest.unflatten(self.transform(inpt, params) for inpt in flat)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Those that stay."""
        if any(inpt is label for label in params["labels"]):
            return inpt[params["valid"]]
        if not isinstance(inpt, self._transformed_types):
            return inpt
        try:
            found = inpt.as_subclass(torch.Tensor)[params["valid"]]
        except IndexError:
            return inpt  # one mask for the whole image, not one for each box
        return tv_tensors.wrap(found, like=inpt)


class SanitizeBoundingBoxes(_Sanitizing):
    """Without boxes that are too small or beyond the canvas, nor their labels and masks."""

    _transformed_types = (tv_tensors.BoundingBoxes, tv_tensors.Mask)
    _noun = "boxes"

    def __init__(self, min_size: float = 1.0, min_area: float = 1.0, labels_getter: Any = "default") -> None:
        super().__init__()
        for name, least in (("min_size", min_size), ("min_area", min_area)):
            if least < 1:
                raise ValueError(f"{name} must be >= 1, got {least}.")
        _parse_labels_getter(labels_getter)
        self.min_size, self.min_area, self.labels_getter = min_size, min_area, labels_getter

    def _kept(self, flat_inputs: list[Any]) -> tuple[Any, Any]:
        boxes = get_bounding_boxes(flat_inputs)
        least = (self.min_size, self.min_area)
        return boxes, valid_boxes(boxes, boxes.format, boxes.canvas_size, *least)


class SanitizeKeyPoints(_Sanitizing):
    """Without points beyond the canvas, nor their labels."""

    _transformed_types = (tv_tensors.KeyPoints,)
    _noun = "keypoints"

    def __init__(self, labels_getter: Any = None) -> None:
        super().__init__()
        _parse_labels_getter(labels_getter)
        self.labels_getter = labels_getter

    def _kept(self, flat_inputs: list[Any]) -> tuple[Any, Any]:
        points = get_keypoints(flat_inputs)
        return points, valid_points(points.as_subclass(torch.Tensor), points.canvas_size)
