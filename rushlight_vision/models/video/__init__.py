"""torchvision.models.video: networks that classify videos (N, 3, T, H, W) by what happens in them."""

from __future__ import annotations

from rushlight_vision.models import _api

__getattr__, __dir__ = _api.package(__name__)
