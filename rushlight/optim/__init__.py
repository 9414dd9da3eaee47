"""torch.optim: optimizers and learning-rate schedulers."""
from __future__ import annotations

from importlib import import_module
from typing import Any

from rushlight.optim.optimizer import Optimizer

_HOME = {"ASGD": "asgd", "Adadelta": "adadelta", "Adafactor": "_adafactor", "Adagrad": "adagrad",
         "Adam": "adam", "AdamW": "adam", "Adamax": "adamax", "LBFGS": "lbfgs", "Muon": "_muon",
         "NAdam": "nadam", "RAdam": "radam", "RMSprop": "rmsprop", "Rprop": "rprop", "SGD": "sgd",
         "SparseAdam": "sparse_adam", "swap_in_optimizer_params_and_state": "_stateless"}

__all__ = [*_HOME, "Optimizer", "lr_scheduler", "swa_utils"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"rushlight.optim.{_HOME[name]}"), name)
    try:
        return import_module(f"rushlight.optim.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'torch.optim' has no attribute {name!r} in Rushlight yet; it has "
                             f"{', '.join(__all__)}") from None
