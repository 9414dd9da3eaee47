"""Images for training, under torchvision's names: datasets, transforms, models, ops, utils, tv_tensors.

`import torchvision` means this package after `rushlight.install_as_torch()`. Pillow is optional and asked
for when an image is first needed. Models classify images or segment them; those of detection and of video
are not here, nor are the ops for quantized models and deformable convolutions.
"""

from __future__ import annotations

from rushlight._engine.lazy import lazy_names

__version__ = "0.28.0+rushlight"
__getattr__, __dir__ = lazy_names(
    globals(), dict.fromkeys(("datasets", "io", "models", "ops", "transforms", "tv_tensors", "utils"), ".")
)
