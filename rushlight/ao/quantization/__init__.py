"""torch.ao.quantization: numbers at levels of small integers, in models.

Observers see which levels tensors need, fake quantization rounds to them while a model is trained, and
prepare() and convert() put quantized layers in place of float ones.
"""

from __future__ import annotations

from typing import Any

from rushlight._engine.lazy import homes, lazy_names, public

_HOMES = homes("rushlight.ao.quantization")
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = public(_HOMES)


def default_eval_fn(model: Any, calib_data: Any) -> None:
    """Run a model on examples, a data set of (input, target)."""
    for data, _ in calib_data:
        model(data)
