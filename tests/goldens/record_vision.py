"""Record what torchvision does: run this where torch, torchvision and Pillow are."""

from __future__ import annotations

import torch
from vision_behaviours import VISION
from vision_models_behaviours import MODELS
from vision_files import FILES
from vision_samples import SAMPLES
from vision_sets import SETS

if __name__ == "__main__":
    VISION.record(torch)
    MODELS.record(torch)
    SETS.record(torch)
    FILES.record(torch)
    SAMPLES.record(torch)
