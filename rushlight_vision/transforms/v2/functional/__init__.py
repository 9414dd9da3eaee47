"""Functions of samples (torchvision.transforms.v2.functional): each takes an image of Pillow, a tensor or a
tv_tensor, and has kernels for those under its name and what they take (`resize_image`, `resize_mask`, ...).
"""

from rushlight_vision.transforms.conversion import InterpolationMode as InterpolationMode
from rushlight_vision.transforms.v2.functional import _utils as _utils
from rushlight_vision.transforms.v2.functional._color import *  # noqa: F403
from rushlight_vision.transforms.v2.functional._dtypes import *  # noqa: F403
from rushlight_vision.transforms.v2.functional._geometry import *  # noqa: F403
from rushlight_vision.transforms.v2.functional._meta import *  # noqa: F403
from rushlight_vision.transforms.v2.functional._misc import *  # noqa: F403
from rushlight_vision.transforms.v2.functional._utils import (
    is_pure_tensor as is_pure_tensor,
    register_kernel as register_kernel,
)
from rushlight_vision.transforms.v2.functional._warping import *  # noqa: F403
