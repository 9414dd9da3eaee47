"""Rushlight: PyTorch's programming model, in Python that one person can read.

`import rushlight as torch` and write PyTorch. Nothing but this file is loaded until a name is first
mentioned: ops are generated from the table, everything else comes from the module that homes.tsv says.
"""

from __future__ import annotations

import sys
from importlib import import_module
from math import e, inf, nan, pi

from rushlight._engine.lazy import LazyPackage as _LazyPackage, homes as _homes

TYPE_CHECKING = False
if TYPE_CHECKING:  # at run time a name is found at its first mention
    from typing import Any

    from rushlight._engine.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
    from rushlight._engine.core.device import device
    from rushlight._engine.core.dtype import dtype, get_default_dtype, set_default_dtype
    from rushlight._engine.core.promotion import promote_types
    from rushlight._engine.core.size import Size
    from rushlight._engine.tensors.construction.factories import tensor
    from rushlight._engine.tensors.tensor import Tensor

newaxis = None
torch = sys.modules[__name__]  # as PyTorch's own attribute of that name

_HOMES = _homes(__name__)  # sub-packages, and public names that are not ops
_RENAMED = {"memory_format": "MemoryFormat", "layout": "StorageLayout"}


def __getattr__(name: str) -> Any:
    found = _public_name(name)
    if found is None:
        found = import_module("rushlight._engine.dispatch.dispatcher").lookup("torch", name)
    if found is None:
        found = import_module("rushlight._engine.names.alternatives").attribute("rushlight", name)
    if name == "__all__":  # torch.functional, which is this module too, has another one
        return found
    found = import_module("rushlight._engine.core.tracebacks").own(found)
    found = import_module("rushlight._engine.names.built_in").as_published(name, found)
    globals()[name] = found
    return found


def _public_name(name: str) -> Any:
    home = _HOMES.get(name)
    if home is not None:
        found = import_module(f"rushlight.{name if home == '.' else home}")
        return found if home == "." else getattr(found, _RENAMED.get(name, name))
    if name.endswith(("Tensor", "Storage")):
        home = "storages.typed" if name.endswith("Storage") else "construction.legacy"
        legacy = import_module(f"rushlight._engine.tensors.{home}")
        if hasattr(legacy, name):
            return getattr(legacy, name)
    return import_module("rushlight._engine.core.dtype").NAMED.get(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module("rushlight._engine.names.completion").names("torch"), *_HOMES})


sys.modules[__name__].__class__ = _LazyPackage
# Of our own stub; at run time a star import takes PyTorch's names (names/star_names.py).
_all = [
    "Size",
    "Tensor",
    "device",
    "dtype",
    "enable_grad",
    "get_default_dtype",
    "inference_mode",
    "no_grad",
    "promote_types",
    "set_default_dtype",
    "set_grad_enabled",
]
