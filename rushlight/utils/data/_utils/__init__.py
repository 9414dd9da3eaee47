"""PyTorch's private place of the collating functions, which programs import from."""
from rushlight.utils.data._utils import collate as collate
