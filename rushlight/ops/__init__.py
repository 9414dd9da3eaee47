"""The op table, one file per family of rows; `load()` fills it."""
from __future__ import annotations

from importlib import import_module

# In order of need: a family may use the rows of those before it.
FAMILIES = (
    "copying", "creation", "ranges", "tapers", "grids", "arithmetic", "elementary",
    "comparison", "activations", "views", "reshaping", "splitting", "index", "scatter", "indexed",
    "masking", "joining", "rearranging", "scanning", "sorting", "searching", "embedding",
    "reductions", "products", "linear", "softmax", "einsum", "statistics", "normalization",
    "losses", "classification", "attention", "padding", "convolution", "pooling", "shuffles",
    "margins", "resampling", "decompositions", "random", "sampling", "dropout", "recurrent",
)


def load() -> None:
    """Import every family, which enters its rows into the table."""
    for family in FAMILIES:
        import_module(f"rushlight.ops.{family}")
