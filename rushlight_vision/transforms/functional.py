"""Functions on images: Pillow's, and tensors (..., C, H, W) (torchvision.transforms.functional).

Each gives back what it was given. Pillow does the work for its images; tensors are computed with ops, and
integers are rounded where torchvision rounds.
"""

from rushlight_vision.transforms.colors import *  # noqa: F403
from rushlight_vision.transforms.conversion import *  # noqa: F403
from rushlight_vision.transforms.geometry import *  # noqa: F403
from rushlight_vision.transforms.tones import *  # noqa: F403
from rushlight_vision.transforms.warping import *  # noqa: F403
