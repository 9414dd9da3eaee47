"""Coefficients of series and rational functions, by name: coefficients.tsv, a line each."""
from __future__ import annotations

import os

with open(os.path.join(os.path.dirname(__file__), "coefficients.tsv"), encoding="utf-8") as _file:
    SERIES: dict[str, tuple[float, ...]] = {
        name: tuple(map(float, numbers)) for name, *numbers in map(str.split, _file)}


def rational(name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """A numerator and a denominator."""
    return SERIES[f"{name}_above"], SERIES[f"{name}_below"]
