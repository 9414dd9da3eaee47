"""Making a module without initialising it."""

from __future__ import annotations

import inspect
from typing import Any

import rushlight as torch


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """module_cls(*args, **kwargs) with uninitialised parameters; the class must take `device`."""
    if not (isinstance(module_cls, type) and issubclass(module_cls, torch.nn.Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
