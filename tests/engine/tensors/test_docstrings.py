"""What PyTorch's docstrings show: its recorded answers."""

from __future__ import annotations

import sys
from pathlib import Path

import rushlight as torch

sys.path.insert(0, str(Path(__file__).parents[2] / "goldens"))
from docstring_behaviours import DOCSTRINGS

test_as_recorded = DOCSTRINGS.compared(torch)
