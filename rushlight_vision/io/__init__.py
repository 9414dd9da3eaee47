"""Image files as tensors (torchvision.io), read and written by Pillow. Videos are not here."""

from __future__ import annotations

from rushlight._engine.lazy import lazy_names, public

_HOMES = {
    **dict.fromkeys(
        (
            "ImageReadMode",
            "decode_avif",
            "decode_gif",
            "decode_heic",
            "decode_image",
            "decode_jpeg",
            "decode_png",
            "decode_webp",
            "encode_jpeg",
            "encode_png",
            "read_file",
            "read_image",
            "write_file",
            "write_jpeg",
            "write_png",
        ),
        "image",
    ),
    "image": ".",
}
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = public(_HOMES)
