"""torchvision.models.detection: networks that say what is where in an image.

They take a list of images (3, H, W) in [0, 1]; while training also what is in each, and give losses by
name; else for each image its boxes, labels and scores. Builders take `weights=`, `progress=`, `num_classes=`
(91, or 2 for keypoints), `weights_backbone=`, weights of the classifier that the features come from, which
are fetched unless `weights` or None is given, and `trainable_backbone_layers=`.
"""

from __future__ import annotations

from rushlight_vision.models import _api

__getattr__, __dir__ = _api.package(__name__)
