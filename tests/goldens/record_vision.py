"""Record what torchvision's transforms and data sets do: run this where torch, torchvision and Pillow are."""
from __future__ import annotations

import torch
from vision_behaviours import VISION

if __name__ == "__main__":
    VISION.record(torch)
