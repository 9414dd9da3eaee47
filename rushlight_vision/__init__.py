"""Images for training, under torchvision's names: datasets, transforms, utils, tv_tensors.

`import torchvision` means this package after `rushlight.install_as_torch()`. Pillow is optional and asked
for when an image is first needed. Models, detection ops and video are not here.
"""
from __future__ import annotations

from rushlight.base.lazy import lazy_names

__version__ = "0.28.0+rushlight"
__getattr__, __dir__ = lazy_names(globals(), dict.fromkeys(
    ("datasets", "io", "transforms", "tv_tensors", "utils"), "."))
