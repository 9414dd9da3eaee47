"""Checks of options that torchvision has by these names, which other packages call."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any


def _check_sequence_input(x: Any, name: str, req_sizes: Sequence[int]) -> None:
    """TypeError for no sequence, ValueError for one of another length."""
    sizes = req_sizes[0] if len(req_sizes) < 2 else " or ".join(str(n) for n in req_sizes)
    if not isinstance(x, Sequence):
        raise TypeError(f"{name} should be a sequence of length {sizes}.")
    if len(x) not in req_sizes:
        raise ValueError(f"{name} should be a sequence of length {sizes}.")


def _setup_angle(x: Any, name: str, req_sizes: Sequence[int] = (2,)) -> list[float]:
    """(low, high) of an angle, of which one number says both."""
    if isinstance(x, (int, float)):
        if x < 0:
            raise ValueError(f"If {name} is a single number, it must be positive.")
        return [-float(x), float(x)]
    _check_sequence_input(x, name, req_sizes)
    return [float(d) for d in x]


def checked_fill(fill: Any) -> Any:
    """What is beyond an image: a number, or one for each channel; None: 0. TypeError for others."""
    if fill is None:
        return 0
    if not isinstance(fill, (Sequence, Number)):
        raise TypeError("Fill should be either a sequence or a number.")
    return fill


def _setup_size(size: Any, error_msg: str) -> Any:
    """(height, width) of one number or two."""
    if isinstance(size, (int, float)):
        return int(size), int(size)
    if len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise ValueError(error_msg)
    return size
