"""PyTorch's private place of the collating functions, which programs import from."""
from __future__ import annotations

from rushlight.utils.data._utils import collate as collate
