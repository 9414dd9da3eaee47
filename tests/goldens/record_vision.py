"""Record what torchvision does: run this where torch, torchvision and Pillow are."""

from __future__ import annotations

import torch
from vision_behaviours import VISION
from vision_detection_behaviours import DETECTION
from vision_models_behaviours import MODELS

if __name__ == "__main__":
    VISION.record(torch)
    MODELS.record(torch)
    DETECTION.record(torch)
