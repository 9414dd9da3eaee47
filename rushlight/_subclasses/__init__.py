"""torch._subclasses: fake tensors, which have a device and no memory."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rushlight._engine.names.alternatives import attribute

_NAMES = ("DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException")


def __getattr__(name: str) -> Any:
    if name in ("fake_tensor", "fake_utils", "functional_tensor", "meta_utils", "schema_check_mode"):
        return import_module(f"{__name__}.{name}")
    if name == "CrossRefFakeMode":
        return import_module(f"{__name__}.fake_utils").CrossRefFakeMode
    if name not in _NAMES:
        return attribute(__name__, name)
    return getattr(import_module(f"{__name__}.fake_tensor"), name)
