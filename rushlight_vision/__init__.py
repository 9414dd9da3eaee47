"""Images for training, under torchvision's names: datasets, transforms, models, ops, utils, tv_tensors.

`import torchvision` means this package after `rushlight.install_as_torch()`. Pillow is optional and asked
for when an image is first needed. Models classify images, segment them, detect what is in them, or classify
videos; those of optical flow, MViT and Swin for videos, and the quantized ones are not here.
"""

from __future__ import annotations

from rushlight._engine.lazy import lazy_names

__version__ = "0.28.0+rushlight"
_backends = {"image": "PIL", "video": "pyav"}


def get_image_backend() -> str:
    """What reads images: "PIL"."""
    return _backends["image"]


def set_image_backend(backend: str) -> None:
    """ "PIL" alone is there; ValueError for another."""
    if backend not in ("PIL", "accimage"):
        raise ValueError(f"Invalid backend '{backend}'. Options are 'PIL' and 'accimage'")
    if backend != "PIL":
        raise ValueError("the package accimage is not used; Pillow reads images")


def get_video_backend() -> str:
    """What would read videos: "pyav"."""
    return _backends["video"]


def set_video_backend(backend: str) -> None:
    """ "pyav" alone can be chosen; ValueError for another."""
    if backend != "pyav":
        raise ValueError(f"Invalid video backend '{backend}'. The option is 'pyav'")


__getattr__, __dir__ = lazy_names(
    globals(), dict.fromkeys(("datasets", "io", "models", "ops", "transforms", "tv_tensors", "utils"), ".")
)
