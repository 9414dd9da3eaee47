"""Transforms of whole samples (torchvision.transforms.v2): images and masks in any nest, labels as they are.

Each is the transform of the same name, drawn once for a sample. PIL images, tv_tensors and the first plain
tensor of a sample without images are transformed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.pytree import flatten
from rushlight_vision import transforms as v1
from rushlight_vision.pillow import is_image
from rushlight_vision.transforms import transforms as of_images
from rushlight_vision.transforms.base import Transform as Module
from rushlight_vision.transforms.v2 import functional
from rushlight_vision.tv_tensors import Image, Mask, TVTensor, wrap


class Transform(nn.Module):
    """The base for transforms of samples: a subclass has `transform(inpt, params)`, maybe `make_params`."""

    _transformed_types: tuple[Any, ...] = (torch.Tensor, is_image)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """What is drawn once for a sample."""
        return {}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """One image or mask transformed."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method transform(inpt, params)")

    def forward(self, *inputs: Any) -> Any:
        """The sample, of one or more nests, with its images transformed."""
        sample = inputs if len(inputs) > 1 else inputs[0]
        flat, nest = flatten(sample)
        plain = [isinstance(x, torch.Tensor) and not isinstance(x, TVTensor) for x in flat]
        first = (
            -1
            if any(is_image(x) or isinstance(x, Image) for x in flat) or True not in plain
            else (plain.index(True))
        )
        taken = [
            (not plain[k] or k == first)
            and any(isinstance(x, t) if isinstance(t, type) else t(x) for t in self._transformed_types)
            for k, x in enumerate(flat)
        ]
        params = self.make_params([x for x, take in zip(flat, taken) if take])
        return nest.unflatten(self.transform(x, params) if take else x for x, take in zip(flat, taken))


class _Sample(Transform):
    """A v1 transform, whose class follows in the order of bases, made one of samples."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """What the transform draws for the first image."""
        pictures = [x for x in flat_inputs if not isinstance(x, Mask)] or flat_inputs
        return {"drawn": self._draw(pictures[0]) if pictures else None}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The v1 transform with what was drawn."""
        if params["drawn"] is None or (isinstance(inpt, Mask) and not self.geometric):
            return inpt
        found = self._apply(inpt, *params["drawn"])
        meant = isinstance(inpt, TVTensor) and isinstance(found, torch.Tensor)
        return wrap(found, like=inpt) if meant else found


class Compose(of_images.Compose, nn.Module):
    """One after the other."""

    __call__ = nn.Module.__call__


class RandomChoice(of_images.RandomChoice, nn.Module):
    """One of them, drawn by torch's generator."""

    __call__ = nn.Module.__call__

    def _chosen(self) -> Iterable[Callable[..., Any]]:
        weights = torch.tensor(self.p or [1.0] * len(self.transforms))
        return (self.transforms[int(torch.multinomial(weights / weights.sum(), 1))],)


class RandomOrder(of_images.RandomOrder, nn.Module):
    """All of them, in an order drawn by torch's generator."""

    __call__ = nn.Module.__call__

    def _chosen(self) -> Iterable[Callable[..., Any]]:
        return [self.transforms[i] for i in torch.randperm(len(self.transforms)).tolist()]


class Identity(Transform):
    """The sample as it is."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The same."""
        return inpt


class ToImage(Transform):
    """PIL images, arrays and plain tensors as tv_tensors.Image."""

    _transformed_types = (is_image, np.ndarray, torch.Tensor)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The image."""
        return inpt if isinstance(inpt, TVTensor) else functional.to_image(inpt)


class ToPureTensor(Transform):
    """tv_tensors as plain tensors."""

    _transformed_types = (TVTensor,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The tensor without its meaning."""
        return inpt.as_subclass(torch.Tensor)


class ToDtype(Transform):
    """Another dtype, for images or by a dict of types; scale: values follow the dtype's range."""

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        super().__init__()
        self.dtype, self.scale = dtype, scale

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The tensor in its dtype; masks only where a dict names one."""
        plain: dict[Any, Any] = {torch.Tensor: self.dtype, Image: self.dtype}
        by_type: dict[Any, Any] = self.dtype if isinstance(self.dtype, dict) else plain
        dtype = by_type.get(type(inpt), by_type.get("others"))
        if dtype is None:
            return inpt
        found = functional.to_dtype(inpt, dtype, self.scale and not isinstance(inpt, Mask))
        return wrap(found, like=inpt) if isinstance(inpt, TVTensor) else found

    def extra_repr(self) -> str:
        """scale=..."""
        return f"scale={self.scale}"


class ConvertImageDtype(ToDtype):
    """ToDtype with values that follow the dtype's range."""

    def __init__(self, dtype: Any = torch.float32) -> None:
        super().__init__(dtype, scale=True)


def __getattr__(name: str) -> Any:
    if name not in v1.__all__:
        raise AttributeError(f"module 'torchvision.transforms.v2' has no attribute {name!r} in Rushlight")
    single = getattr(v1, name)
    if getattr(single, "of_images", False):
        if not issubclass(single, nn.Module):
            single = type(name, (single, Module), {})
        same = {"__doc__": single.__doc__, "__module__": __name__, "__repr__": single.__repr__}
        single = type(name, (_Sample, single), same)
    globals()[name] = single
    return single


def __dir__() -> list[str]:
    return sorted({*globals(), *v1.__all__})
