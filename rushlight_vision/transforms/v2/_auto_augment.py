"""Policies of augmentation: operations drawn once for the image or video of a sample."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.core.pytree import flatten
from rushlight_vision import tv_tensors
from rushlight_vision.pillow import is_image
from rushlight_vision.transforms import autoaugment as v1, policies
from rushlight_vision.transforms.autoaugment import AutoAugmentPolicy
from rushlight_vision.transforms.conversion import most
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._transform import Transform
from rushlight_vision.transforms.v2._utils import _get_fill, _setup_fill_arg, check_type
from rushlight_vision.transforms.v2.functional._utils import is_pure_tensor

_UNSUPPORTED = (tv_tensors.BoundingBoxes, tv_tensors.Mask, tv_tensors.KeyPoints)
_IMAGES = (tv_tensors.Image, is_image, is_pure_tensor, tv_tensors.Video)
_OPERATIONS = policies.operations(F)


class _AutoAugmentBase(Transform):
    """A policy of operations on the one image or video of a sample."""

    _AUGMENTATION_SPACE: policies.Space = {}

    def __init__(self, *, interpolation: Any = "nearest", fill: Any = None) -> None:
        super().__init__()
        self.interpolation, self.fill = interpolation, fill
        self._fill = _setup_fill_arg(fill)

    def _extract_params_for_v1_transform(self) -> dict[str, Any]:
        options = super()._extract_params_for_v1_transform()
        if isinstance(options["fill"], dict):
            raise ValueError(f"{type(self).__name__}() can not be scripted for when `fill` is a dictionary.")
        return options

    def _get_random_item(self, dct: policies.Space) -> tuple[str, tuple[policies.Magnitudes, bool]]:
        """One of the operations."""
        name = list(dct)[int(torch.randint(len(dct), ()))]
        return name, dct[name]

    def _flatten_and_extract_image_or_video(
        self, inputs: Any, unsupported_types: tuple[type, ...] = _UNSUPPORTED
    ) -> tuple[tuple[list[Any], Any, int], Any]:
        """((the sample's leaves, their nest, the image's place), the image); TypeError without just one."""
        leaves, nest = flatten(inputs if len(inputs) > 1 else inputs[0])
        leaves = list(leaves)
        images = []
        for place, (leaf, taken) in enumerate(zip(leaves, self._needs_transform_list(leaves), strict=True)):
            if taken and check_type(leaf, _IMAGES):
                images.append(place)
            elif isinstance(leaf, unsupported_types):
                raise TypeError(
                    f"Inputs of type {type(leaf).__name__} are not supported by {type(self).__name__}()"
                )
        if not images:
            raise TypeError("Found no image in the sample.")
        if len(images) > 1:
            raise TypeError(
                "Auto augment transformations are only properly defined for a single image or video, "
                f"but found {len(images)}."
            )
        return (leaves, nest, images[0]), leaves[images[0]]

    def _unflatten_and_insert_image_or_video(
        self, flat_inputs_with_spec: tuple[list[Any], Any, int], image_or_video: Any
    ) -> Any:
        """The sample with another image."""
        leaves, nest, place = flat_inputs_with_spec
        leaves[place] = image_or_video
        return nest.unflatten(leaves)

    def _apply_image_or_video_transform(
        self, image: Any, transform_id: str, magnitude: float, interpolation: Any, fill: Any
    ) -> Any:
        """The image after one operation; ValueError for an unknown one."""
        if transform_id not in _OPERATIONS:
            raise ValueError(f"No transform available for {transform_id}")
        how = {"interpolation": interpolation, "fill": _get_fill(fill, type(image))}
        if transform_id == "Solarize":  # a part of the dtype's range
            magnitude *= most(image.dtype) if isinstance(image, Tensor) else 255
        return _OPERATIONS[transform_id](image, magnitude, how)

    def _operated(
        self, image: Any, name: str, how: tuple[policies.Magnitudes, bool], bins: int, place: Any
    ) -> Any:
        """The image after operation `name`, of the magnitude at place(), its sign drawn where it has one."""
        height, width = F.get_size(image)
        magnitudes, magnitude = how[0](bins, height, width), 0.0
        if magnitudes is not None:
            magnitude = float(magnitudes[place()])
            if how[1] and torch.rand(()) <= 0.5:
                magnitude = -magnitude
        return self._apply_image_or_video_transform(
            image, name, magnitude, interpolation=self.interpolation, fill=self._fill
        )


class AutoAugment(_AutoAugmentBase):
    """A pair of operations of a policy learned for a data set."""

    _v1_transform_cls = v1.AutoAugment
    _AUGMENTATION_SPACE = policies.AUTO

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Any = "nearest",
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self.policy = policy
        self._policies = self._get_policies(policy)

    def _get_policies(self, policy: AutoAugmentPolicy) -> list[Any]:
        """Pairs of (name, probability, place among ten magnitudes, or None)."""
        return v1.learned(policy)

    def forward(self, *inputs: Any) -> Any:
        """The sample with its image changed."""
        sample, image = self._flatten_and_extract_image_or_video(inputs)
        for name, probability, place in self._policies[int(torch.randint(len(self._policies), ()))]:
            if torch.rand(()) <= probability:
                space = self._AUGMENTATION_SPACE[name]
                image = self._operated(image, name, space, 10, lambda place=place: place)
        return self._unflatten_and_insert_image_or_video(sample, image)


class RandAugment(_AutoAugmentBase):
    """`num_ops` random operations, all of the magnitude number `magnitude`."""

    _v1_transform_cls = v1.RandAugment
    _AUGMENTATION_SPACE = policies.RANDOM

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Any = "nearest",
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        if not isinstance(num_ops, int) or num_ops < 0:
            raise ValueError(f"num_ops should be a non-negative integer, but got {num_ops} instead.")
        self.num_ops, self.magnitude, self.num_magnitude_bins = num_ops, magnitude, num_magnitude_bins

    def forward(self, *inputs: Any) -> Any:
        """The sample with its image changed."""
        sample, image = self._flatten_and_extract_image_or_video(inputs)
        for _ in range(self.num_ops):
            name, space = self._get_random_item(self._AUGMENTATION_SPACE)
            image = self._operated(image, name, space, self.num_magnitude_bins, lambda: self.magnitude)
        return self._unflatten_and_insert_image_or_video(sample, image)


class TrivialAugmentWide(_AutoAugmentBase):
    """One random operation of a random magnitude."""

    _v1_transform_cls = v1.TrivialAugmentWide
    _AUGMENTATION_SPACE = policies.WIDE

    def __init__(
        self, num_magnitude_bins: int = 31, interpolation: Any = "nearest", fill: Any = None
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self.num_magnitude_bins = num_magnitude_bins

    def forward(self, *inputs: Any) -> Any:
        """The sample with its image changed."""
        sample, image = self._flatten_and_extract_image_or_video(inputs)
        bins = self.num_magnitude_bins
        name, space = self._get_random_item(self._AUGMENTATION_SPACE)
        image = self._operated(image, name, space, bins, lambda: int(torch.randint(bins, ())))
        return self._unflatten_and_insert_image_or_video(sample, image)


class AugMix(_AutoAugmentBase):
    """The image mixed with `mixture_width` chains of operations, by weights of Dirichlet distributions."""

    _v1_transform_cls = v1.AugMix
    _PARAMETER_MAX = 10
    _PARTIAL_AUGMENTATION_SPACE = policies.PARTLY_MIXED
    _AUGMENTATION_SPACE = policies.MIXED

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: Any = "bilinear",
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        if not 1 <= severity <= self._PARAMETER_MAX:
            raise ValueError(
                f"The severity must be between [1, {self._PARAMETER_MAX}]. Got {severity} instead."
            )
        self.severity, self.mixture_width, self.chain_depth = severity, mixture_width, chain_depth
        self.alpha, self.all_ops = alpha, all_ops

    def _drawn_place(self) -> int:
        """Which of the magnitudes."""
        return int(torch.randint(self.severity, ()))

    def _sample_dirichlet(self, params: Tensor) -> Tensor:
        found: Tensor = torch._sample_dirichlet(params)
        return found

    def forward(self, *inputs: Any) -> Any:
        """The sample with its image changed."""
        sample, given = self._flatten_and_extract_image_or_video(inputs)
        image = F.pil_to_tensor(given) if is_image(given) else given
        space = self._AUGMENTATION_SPACE if self.all_ops else self._PARTIAL_AUGMENTATION_SPACE
        dims = 5 if isinstance(given, tv_tensors.Video) else 4
        batch = image.reshape([1] * max(dims - image.ndim, 0) + list(image.shape))
        count, ones = batch.size(0), [1] * (batch.ndim - 1)
        alphas = torch.tensor([self.alpha] * 2, device=batch.device)
        shares = self._sample_dirichlet(alphas.expand(count, -1))
        alphas = torch.tensor([self.alpha] * self.mixture_width, device=batch.device)
        weights = self._sample_dirichlet(alphas.expand(count, -1)) * shares[:, 1].reshape([count, -1])
        mix = shares[:, 0].reshape([count, *ones]) * batch
        for i in range(self.mixture_width):
            changed = batch
            depth = self.chain_depth
            if depth <= 0:
                depth = int(torch.randint(low=1, high=4, size=(1,)).item())
            for _ in range(depth):
                name, how = self._get_random_item(space)
                changed = self._operated(changed, name, how, self._PARAMETER_MAX, self._drawn_place)
            mix.add_(weights[:, i].reshape([count, *ones]) * changed)
        mix = mix.reshape(image.shape).to(dtype=image.dtype)
        if isinstance(given, (tv_tensors.Image, tv_tensors.Video)):
            mix = tv_tensors.wrap(mix, like=given)
        elif is_image(given):
            mix = F.to_pil_image(mix)
        return self._unflatten_and_insert_image_or_video(sample, mix)


__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]
