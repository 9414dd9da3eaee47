"""Functions on images: Pillow's, and tensors (..., C, H, W) (torchvision.transforms.functional).

Each gives back what it was given. Pillow does the work for its images; tensors are computed with ops, and
integers are rounded where torchvision rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight_vision.pillow import is_image as _is_pil_image  # noqa: F401
from rushlight_vision.transforms import _functional_pil as F_pil, _functional_tensor as F_t  # noqa: F401
from rushlight_vision.transforms.colors import *  # noqa: F403
from rushlight_vision.transforms.conversion import *  # noqa: F403
from rushlight_vision.transforms.conversion import PILLOWS, InterpolationMode, mode_of
from rushlight_vision.transforms.geometry import *  # noqa: F403
from rushlight_vision.transforms.tones import *  # noqa: F403
from rushlight_vision.transforms.warping import *  # noqa: F403
from rushlight_vision.transforms.warping import any_matrix, perspective_coefficients

_interpolation_modes_from_int = mode_of
_get_inverse_affine_matrix = any_matrix
_get_perspective_coeffs = perspective_coefficients
pil_modes_mapping = {InterpolationMode(name): number for name, number in PILLOWS.items()}


def _is_numpy(img: Any) -> bool:
    """Whether it is an array."""
    return isinstance(img, np.ndarray)


def _is_numpy_image(img: Any) -> bool:
    """Whether an array has the dims of an image."""
    found: bool = img.ndim in (2, 3)
    return found
