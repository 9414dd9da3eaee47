"""What all transforms of images have in common."""

from __future__ import annotations

import inspect
from typing import Any

import rushlight.nn as nn
from rushlight import Tensor
from rushlight_vision.transforms.conversion import InterpolationMode, get_dimensions
from rushlight_vision.transforms.draws import happens


class Plain:
    """A transform that is no module, as in torchvision: a container of transforms, and what converts.

    Its options are the arguments of its __init__, under their names.
    """

    shown: tuple[str, ...] = ()  # the options that the repr shows; all, where it is empty
    hidden: dict[str, Any] = {"center": None, "mode": None}  # options that it leaves out at these values
    joint = ", "  # what torchvision's repr has between options
    spelled = False  # whether that repr says InterpolationMode.NEAREST for nearest

    def forward(self, img: Any) -> Any:
        """The image transformed."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it does with an image")

    def __call__(self, *sample: Any) -> Any:
        """`forward`."""
        return self.forward(*sample)

    def __repr__(self) -> str:
        names = self.shown or _options(type(self))
        options = {name: getattr(self, name) for name in names}
        texts = [
            f"{name}={value if self.spelled else _text(value)}"
            for name, value in options.items()
            if name not in self.hidden or value != self.hidden[name]
        ]
        return f"{type(self).__name__}({self.joint.join(texts)})"


class Transform(Plain, nn.Module):
    """A transform that is a module."""

    __call__ = nn.Module.__call__


class _Sometimes(Transform):
    """Transforms an image with probability p; a subclass has `_changed(img)`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def _changed(self, img: Tensor) -> Tensor:
        raise NotImplementedError("this transform does not say what it does with an image")

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed, or as it is."""
        return self._changed(img) if happens(self.p) else img


class _Filled(Transform):
    """A transform that has a `fill` for what is beyond the image."""

    fill: Any

    def _fill_for(self, img: Tensor) -> list[float]:
        """The fill as functions of tensors take it."""
        fill = self.fill
        if isinstance(fill, (int, float)):
            return [float(fill)] * get_dimensions(img)[0]
        return [float(f) for f in fill]


def _options(cls: Any) -> list[str]:
    """The names of what __init__ takes."""
    taken = inspect.signature(cls.__init__).parameters.values()
    return [p.name for p in taken if p.kind is p.POSITIONAL_OR_KEYWORD][1:]


def _text(value: Any) -> Any:
    if isinstance(value, tuple) and all(isinstance(v, float) for v in value):
        return tuple(round(v, 4) for v in value)
    return value.value if isinstance(value, InterpolationMode) else value
