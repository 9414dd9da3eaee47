"""What all transforms of images have in common."""

from __future__ import annotations

import inspect
from typing import Any

import rushlight as torch
import rushlight.nn as nn
from rushlight_vision.transforms.conversion import InterpolationMode


class Plain:
    """A transform that is no module, as in torchvision: a container of transforms, and what converts.

    A subclass has `_apply(img, *drawn)`, and `_draw(img)` where something is drawn. Its options are the
    arguments of its __init__, under their names.
    """

    of_images = False  # whether transforms.v2 makes of it a transform of samples, which draws once
    geometric = False  # whether masks follow, there
    shown: tuple[str, ...] = ()  # the options that the repr shows; all, where it is empty
    hidden: dict[str, Any] = {"center": None, "mode": None}  # options that it leaves out at these values
    joint = ", "  # what torchvision's repr has between options
    spelled = False  # whether that repr says InterpolationMode.NEAREST for nearest

    def _draw(self, img: Any) -> tuple[Any, ...] | None:
        """What is drawn for one image; None leaves it as it is."""
        return ()

    def _apply(self, img: Any, *drawn: Any) -> Any:
        """The image transformed by what was drawn."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it does with an image")

    def forward(self, img: Any) -> Any:
        """The image transformed."""
        drawn = self._draw(img)
        return img if drawn is None else self._apply(img, *drawn)

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


class _Image(Transform):
    """A transform of one image, of which transforms.v2 makes one of samples."""

    of_images = True


class _Sometimes(_Image):
    """Transforms an image with probability p."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def _draw(self, img: Any) -> tuple[Any, ...] | None:
        return () if torch.rand(1) < self.p else None


def interpolation_for(img: Any, interpolation: Any) -> Any:
    """How an image is read between pixels: a mask's classes are not mixed."""
    return InterpolationMode.NEAREST if type(img).__name__ == "Mask" else interpolation


def _options(cls: Any) -> list[str]:
    """The names of what __init__ takes."""
    taken = inspect.signature(cls.__init__).parameters.values()
    return [p.name for p in taken if p.kind is p.POSITIONAL_OR_KEYWORD][1:]


def _text(value: Any) -> Any:
    if isinstance(value, tuple) and all(isinstance(v, float) for v in value):
        return tuple(round(v, 4) for v in value)
    return value.value if isinstance(value, InterpolationMode) else value
