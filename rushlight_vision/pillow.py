"""The way to Pillow: an optional dependency, imported when an image is first needed."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np


def pillow(name: str = "Image") -> Any:
    """A module of Pillow; ImportError with the remedy where it is not installed."""
    try:
        return import_module(f"PIL.{name}")
    except ImportError as error:
        raise ImportError(
            "images (PIL) need Pillow, which is not installed; pip install 'rushlight[vision]' brings it"
        ) from error


def is_image(value: Any) -> bool:
    """Whether it is a Pillow image: there is none before somebody has imported Pillow."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)


def checked_image(value: Any) -> Any:
    """A Pillow image as it is; TypeError for others."""
    if not is_image(value):
        raise TypeError(f"Unexpected type {type(value)}: expected a PIL image or a tensor (..., C, H, W)")
    return value


def image_of(array: Any, mode: str) -> Any:
    """The image of an (H, W) or (H, W, C) array, whose bytes are laid out as the mode says."""
    return pillow().frombytes(mode, (array.shape[1], array.shape[0]), np.ascontiguousarray(array).tobytes())


def palette_kept(old: Any, array: Any) -> Any:
    """An image of an array with the old image's mode and, where it has one, palette."""
    new = image_of(array, old.mode)
    if old.mode == "P":
        new.putpalette(old.getpalette())
    return new


def needed(module: str, name: str) -> Any:
    """A module of an optional package; ImportError that says what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{name} is not found, which this needs to read its files: pip install {package}"
        ) from error
