"""Windows erased, batches mixed, compression."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten
from rushlight.nn.functional import one_hot
from rushlight_vision import tv_tensors
from rushlight_vision.pillow import is_image
from rushlight_vision.transforms import draws, transforms as v1
from rushlight_vision.transforms.options import _check_sequence_input
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._transform import Transform, _RandomApplyTransform
from rushlight_vision.transforms.v2._utils import (
    _parse_labels_getter,
    has_any,
    query_chw,
    query_size,
)
from rushlight_vision.transforms.v2.functional._utils import is_pure_tensor


class RandomErasing(_RandomApplyTransform):
    """A window replaced by `value` (a number, one a channel, or "random"), with probability p."""

    _v1_transform_cls = v1.RandomErasing

    def _extract_params_for_v1_transform(self) -> dict[str, Any]:
        value = "random" if self.value is None else self.value
        return {**super()._extract_params_for_v1_transform(), "value": value}

    def __init__(
        self,
        p: float = 0.5,
        scale: Any = (0.02, 0.33),
        ratio: Any = (0.3, 3.3),
        value: Any = 0.0,
        inplace: bool = False,
    ) -> None:
        super().__init__(p=p)
        if not isinstance(value, (int, float, str, tuple, list)):
            raise TypeError("Argument value should be either a number or str or a sequence")
        if isinstance(value, str) and value != "random":
            raise ValueError("If value is str, it should be 'random'")
        for name, given in (("Scale", scale), ("Ratio", ratio)):
            if not isinstance(given, Sequence):
                raise TypeError(f"{name} should be a sequence")
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            warnings.warn("Scale and ratio should be of kind (min, max)", stacklevel=2)
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError("Scale should be between 0 and 1")
        self.scale, self.ratio = scale, ratio
        values = [value] if isinstance(value, (int, float)) else value
        self.value = None if isinstance(value, str) else [float(v) for v in values]
        self.inplace = inplace

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The window and what comes there; v None where no window was found."""
        channels, height, width = query_chw(flat_inputs)
        if self.value is not None and len(self.value) not in (1, channels):
            raise ValueError(
                "If value is a sequence, it should have either a single value or "
                f"{channels} (number of inpt channels)"
            )
        found = draws.erasure_of(channels, height, width, self.scale, self.ratio, self.value)
        return dict(zip("ijhwv", found or (0, 0, height, width, None)))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """With the window replaced."""
        if params["v"] is None:
            return inpt
        if isinstance(inpt, (tv_tensors.BoundingBoxes, tv_tensors.KeyPoints, tv_tensors.Mask)):
            warnings.warn(
                f"{type(self).__name__}() is currently passing through inputs of type "
                f"tv_tensors.{type(inpt).__name__}. This will likely change in the future.",
                stacklevel=2,
            )
        return self._call_kernel(F.erase, inpt, **params, inplace=self.inplace)


class _Mixing(Transform):
    """Each image of a batch mixed with the one before it, and their labels."""

    def __init__(
        self, *, alpha: float = 1.0, num_classes: int | None = None, labels_getter: Any = "default"
    ) -> None:
        super().__init__()
        self.alpha = float(alpha)
        self._dist = torch.distributions.Beta(torch.tensor([alpha]), torch.tensor([alpha]))
        self.num_classes = num_classes
        self._labels_getter = _parse_labels_getter(labels_getter)

    def _check_labels(self, labels: Any) -> None:
        if not isinstance(labels, torch.Tensor):
            raise ValueError(f"The labels must be a tensor, but got {type(labels)} instead.")
        if labels.ndim not in (1, 2):
            raise ValueError(
                "labels should be index based with shape (batch_size,) or probability based with shape "
                f"(batch_size, num_classes), but got a tensor of shape {labels.shape} instead."
            )
        if labels.ndim == 2 and self.num_classes not in (None, labels.shape[-1]):
            raise ValueError(
                "When passing 2D labels, the number of elements in last dimension must match num_classes: "
                f"{labels.shape[-1]} != {self.num_classes}. You can Leave num_classes to None."
            )
        if labels.ndim == 1 and self.num_classes is None:
            raise ValueError("num_classes must be passed if the labels are index-based (1D)")

    def forward(self, *inputs: Any) -> Any:
        """The batch, mixed."""
        sample = inputs if len(inputs) > 1 else inputs[0]
        flat, nest = flatten(sample)
        flat = list(flat)
        taken = self._needs_transform_list(flat)
        refused = (is_image, tv_tensors.BoundingBoxes, tv_tensors.Mask, tv_tensors.KeyPoints)
        if has_any(flat, *refused):
            raise ValueError(
                f"{type(self).__name__}() does not support PIL images, bounding boxes, keypoints and masks."
            )
        labels = self._labels_getter(sample)
        self._check_labels(labels)
        drawn = self.make_params([x for x, take in zip(flat, taken) if take])
        params = {"labels": labels, "batch_size": labels.shape[0], **drawn}
        return nest.unflatten(
            self.transform(x, params) if take or x is labels else x for x, take in zip(flat, taken)
        )

    def _mixed(self, image: Any, params: dict[str, Any]) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: expected a method _mixed(image, params)")

    def _share(self, params: dict[str, Any]) -> float:
        """How much of each image stays."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method _share(params)")

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Images, videos and the labels, mixed."""
        if inpt is params["labels"]:
            return self._mixup_label(inpt, lam=self._share(params))
        pictured = isinstance(inpt, (tv_tensors.Image, tv_tensors.Video))
        if not pictured and not is_pure_tensor(inpt):
            return inpt
        self._check_image_or_video(inpt, batch_size=params["batch_size"])
        found = self._mixed(inpt, params)
        return tv_tensors.wrap(found, like=inpt) if pictured else found

    def _check_image_or_video(self, inpt: Any, *, batch_size: int) -> None:
        dims = 5 if isinstance(inpt, tv_tensors.Video) else 4
        if inpt.ndim != dims:
            raise ValueError(
                f"Expected a batched input with {dims} dims, but got {inpt.ndim} dimensions instead."
            )
        if inpt.shape[0] != batch_size:
            raise ValueError(
                "The batch size of the image or video does not match the batch size of the labels: "
                f"{inpt.shape[0]} != {batch_size}."
            )

    def _mixup_label(self, label: Any, *, lam: float) -> Any:
        shares = one_hot(label, num_classes=self.num_classes or -1) if label.ndim == 1 else label
        shares = shares if shares.is_floating_point() else shares.float()
        return shares.roll(1, 0).mul_(1.0 - lam).add_(shares.mul(lam))


class MixUp(_Mixing):
    """Each image blended with the one before it in the batch, by a share of a Beta distribution."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The share."""
        return {"lam": float(self._dist.sample(()))}

    def _share(self, params: dict[str, Any]) -> float:
        share: float = params["lam"]
        return share

    def _mixed(self, image: Any, params: dict[str, Any]) -> Any:
        return image.roll(1, 0).mul_(1.0 - params["lam"]).add_(image.mul(params["lam"]))


class CutMix(_Mixing):
    """A window of each image replaced by that of the one before it in the batch."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The window (x1, y1, x2, y2) and the share outside it."""
        share = float(self._dist.sample(()))
        height, width = query_size(flat_inputs)
        x, y = (int(torch.randint(side, size=(1,))) for side in (width, height))
        reach = 0.5 * math.sqrt(1.0 - share)
        across, down = int(reach * width), int(reach * height)
        x1, y1 = max(x - across, 0), max(y - down, 0)
        x2, y2 = min(x + across, width), min(y + down, height)
        outside = 1.0 - (x2 - x1) * (y2 - y1) / (width * height)
        return {"box": (x1, y1, x2, y2), "lam_adjusted": float(outside)}

    def _share(self, params: dict[str, Any]) -> float:
        share: float = params["lam_adjusted"]
        return share

    def _mixed(self, image: Any, params: dict[str, Any]) -> Any:
        x1, y1, x2, y2 = params["box"]
        found = image.clone()
        found[..., y1:y2, x1:x2] = image.roll(1, 0)[..., y1:y2, x1:x2]
        return found


class JPEG(Transform):
    """As JPEG of a quality between two (1 to 100) shows it."""

    def __init__(self, quality: int | Sequence[int]) -> None:
        super().__init__()
        if isinstance(quality, bool):
            raise TypeError("quality can't be bool")
        if not isinstance(quality, int):
            _check_sequence_input(quality, "quality", req_sizes=(2,))
        low, high = (quality, quality) if isinstance(quality, int) else quality
        if not (isinstance(low, int) and isinstance(high, int) and 1 <= low <= high <= 100):
            raise ValueError(f"quality must be an integer from 1 to 100, got quality ={quality!r}")
        self.quality = [quality, quality] if isinstance(quality, int) else quality

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The quality."""
        return {"quality": torch.randint(self.quality[0], self.quality[1] + 1, ()).item()}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """As JPEG shows it."""
        return self._call_kernel(F.jpeg, inpt, quality=params["quality"])
