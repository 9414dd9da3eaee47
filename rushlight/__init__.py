"""Rushlight: PyTorch's programming model, in Python that one person can read.

`import rushlight as torch` and write PyTorch. Nothing but this file is loaded until a name is first
mentioned: ops are generated from the table, everything else comes from the module that base/homes.tsv says.
"""
from __future__ import annotations

import sys
from importlib import import_module
from math import e, inf, nan, pi

from rushlight.base.lazy import LazyPackage as _LazyPackage, homes as _homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight.autograd.mode import enable_grad, inference_mode, no_grad, set_grad_enabled
    from rushlight.base.device import device
    from rushlight.base.dtype import dtype, get_default_dtype, set_default_dtype
    from rushlight.base.promotion import promote_types
    from rushlight.base.size import Size
    from rushlight.tensor.data import tensor
    from rushlight.tensor.tensor import Tensor

newaxis = None
torch = sys.modules[__name__]  # as PyTorch's own attribute of that name

_HOMES = _homes(__name__)  # sub-packages, and public names that are not ops
_RENAMED = {"memory_format": "MemoryFormat", "layout": "StorageLayout"}


def __getattr__(name: str) -> Any:
    found = _elsewhere(name)
    if found is None:
        found = import_module("rushlight.dispatch.door").lookup("torch", name)
    if found is None:
        found = import_module("rushlight.base.elsewhere").attribute("rushlight", name)
    globals()[name] = import_module("rushlight.base.frames").own(found)
    return found


def _elsewhere(name: str) -> Any:
    home = _HOMES.get(name)
    if home is not None:
        found = import_module(f"rushlight.{name if home == '.' else home}")
        return found if home == "." else getattr(found, _RENAMED.get(name, name))
    if name.endswith("Tensor") or name.endswith("Storage"):
        home = "typed" if name.endswith("Storage") else "legacy"
        legacy = import_module(f"rushlight.tensor.{home}")
        if hasattr(legacy, name):
            return getattr(legacy, name)
    return import_module("rushlight.base.dtype").NAMED.get(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module("rushlight.base.listing").names("torch"), *_HOMES})


class _Package(_LazyPackage):
    """`tensor` is PyTorch's function here, though a room of the engine has the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "tensor" or not isinstance(value, type(sys)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
__all__ = ["Size", "Tensor", "device", "dtype", "enable_grad", "get_default_dtype", "inference_mode",
           "no_grad", "promote_types", "set_default_dtype", "set_grad_enabled"]
