"""Policies of augmentation, drawn once for a sample's image (transforms.autoaugment's)."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight_vision import tv_tensors
from rushlight_vision.transforms import autoaugment as v1
from rushlight_vision.transforms.autoaugment import AutoAugmentPolicy
from rushlight_vision.transforms.v2._transform import Transform
from rushlight_vision.tv_tensors import Mask, TVTensor, wrap


class _Sample(Transform):
    """A policy of images, whose class follows in the order of bases, made one of samples."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """What the policy draws for the first image."""
        pictures = [x for x in flat_inputs if not isinstance(x, Mask)] or flat_inputs
        drawing: Any = self
        return {"drawn": drawing._draw(pictures[0]) if pictures else None}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The policy with what was drawn."""
        passed = isinstance(inpt, TVTensor) and not isinstance(inpt, (tv_tensors.Image, tv_tensors.Video))
        if params["drawn"] is None or passed:
            return inpt
        applying: Any = self
        found = applying._apply(inpt, *params["drawn"])
        meant = isinstance(inpt, TVTensor) and isinstance(found, torch.Tensor)
        return wrap(found, like=inpt) if meant else found


class AutoAugment(_Sample, v1.AutoAugment):
    """A pair of operations of a policy learned for a data set."""

    __repr__ = v1.AutoAugment.__repr__


class RandAugment(_Sample, v1.RandAugment):
    """Several random operations of one magnitude."""

    __repr__ = v1.RandAugment.__repr__


class TrivialAugmentWide(_Sample, v1.TrivialAugmentWide):
    """One random operation of a random magnitude."""

    __repr__ = v1.TrivialAugmentWide.__repr__


class AugMix(_Sample, v1.AugMix):
    """Several chains of random operations, mixed with the image."""

    __repr__ = v1.AugMix.__repr__


__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]
