"""The functions of transforms.functional on Pillow's images, by the name under which packages import them."""

from rushlight_vision.pillow import is_image as _is_pil_image  # noqa: F401
from rushlight_vision.transforms.colors import *  # noqa: F403
from rushlight_vision.transforms.conversion import *  # noqa: F403
from rushlight_vision.transforms.geometry import *  # noqa: F403
from rushlight_vision.transforms.tones import *  # noqa: F403
from rushlight_vision.transforms.warping import *  # noqa: F403
