"""torchvision.models.segmentation: networks that say of each pixel what it belongs to.

Builders take, beside what those of `torchvision.models` take, `weights_backbone=`: weights of the classifier
that the features come from, which are fetched unless `weights` or None is given; and `aux_loss=`.
"""

from __future__ import annotations

from rushlight_vision.models import _api

__getattr__, __dir__ = _api.package(__name__)
