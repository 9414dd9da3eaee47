"""Every distribution, divergence, transform and constraint answers as PyTorch was recorded to."""

from __future__ import annotations

import sys
from pathlib import Path

import rushlight as torch

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from distribution_cases import CASES

test_case = CASES.compared(torch)
