"""Comparisons, logic and bits."""
from __future__ import annotations

from rushlight.ops.oneatom import atoms, formulas

formulas("comparison")

atoms("comparison")
