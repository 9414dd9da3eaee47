"""Comparisons, logic and bits."""

from __future__ import annotations

from rushlight._engine.ops.declared import atoms, formulas

formulas("pointwise.comparison")

atoms("pointwise.comparison")
