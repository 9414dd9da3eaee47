"""Record what torchvision does: run this where torch, torchvision, SciPy and Pillow are."""

from __future__ import annotations

import torch
from vision_behaviours import VISION
from vision_detection_behaviours import DETECTION
from vision_files import FILES
from vision_models_behaviours import MODELS
from vision_samples import SAMPLES
from vision_sets import SETS

if __name__ == "__main__":
    for table in (VISION, MODELS, DETECTION, SETS, SAMPLES, FILES):
        table.record(torch)
