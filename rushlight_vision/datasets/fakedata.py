"""FakeData, where torchvision has it."""

from rushlight_vision.datasets.vision import FakeData, VisionDataset

__all__ = ["FakeData", "VisionDataset"]
