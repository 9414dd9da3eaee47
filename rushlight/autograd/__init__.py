"""torch.autograd: the graph, the engine, and their public names."""
from __future__ import annotations

from typing import Any

_HOME = {
    "Function": "function", "backward": "engine", "grad": "engine", "no_grad": "mode",
    "enable_grad": "mode", "set_grad_enabled": "mode", "inference_mode": "mode",
    "gradcheck": "gradchecking", "gradgradcheck": "gradchecking", "detect_anomaly": "anomaly",
    "set_detect_anomaly": "anomaly", "is_anomaly_enabled": "anomaly", "Node": "node",
    "GradcheckError": "gradchecking", "is_grad_enabled": "mode", "Variable": "function",
    "once_differentiable": "function",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOME:
        found = getattr(import_module(f"rushlight.autograd.{_HOME[name]}"), name)
        globals()[name] = found
        return found
    try:
        return import_module(f"rushlight.autograd.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'torch.autograd' has no attribute {name!r}") from None
