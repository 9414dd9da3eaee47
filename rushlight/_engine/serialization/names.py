"""Names in pickles: files carry PyTorch's, objects live under Rushlight's.

names/alternatives.py lists the modules that differ; everything else differs by its first word only.
"""

from __future__ import annotations

import importlib
from _compat_pickle import IMPORT_MAPPING as _PYTHON_2_MODULES, NAME_MAPPING as _PYTHON_2_NAMES
from typing import Any

from rushlight._engine.names.alternatives import torch_name

# (Rushlight's module, name) -> PyTorch's module, for what is not in the module that PyTorch has for it.
_EXCEPTIONS = {
    ("rushlight._engine.serialization.rebuild", "_rebuild_from_type_v2"): "torch._tensor",
    ("rushlight._engine.serialization.rebuild", "_get_layout"): "torch.serialization",
    ("rushlight.jit.packaging", "unpackage_script_module"): "torch.jit._script",
    ("rushlight._engine.tensors.storages.typed", "TypedStorage"): "torch.storage",
    (
        "rushlight.nn.modules.loss",
        "LinearCrossEntropyOptions",
    ): "torch.nn.modules.linear_cross_entropy_options",
    ("rushlight.nested.strided_layout", "_rebuild_nested_tensor"): "torch._utils",
    ("rushlight.nested.tensor", "_rebuild_njt"): "torch.nested._internal.nested_tensor",
    ("rushlight.nested.tensor", "NestedTensor"): "torch.nested._internal.nested_tensor",
    ("rushlight.nested.tensor", "_DimRange"): "torch._dynamo.decorators",
    ("rushlight.nn.parameter", "_rebuild_parameter"): "torch._utils",
    ("rushlight.nn.parameter", "_rebuild_parameter_with_state"): "torch._utils",
}
# PyTorch's (module, name) -> Rushlight's module, for the same.
_BACK = {(theirs, name): ours for (ours, name), theirs in _EXCEPTIONS.items()}
_HOMES = {
    "torch._utils": "rushlight._engine.serialization.rebuild",
    "torch._C._nn": "rushlight.nn.functional",
}


def torch_module(module: str, name: str) -> str:
    """The module under which PyTorch knows Rushlight's `module`.`name`; others stay as they are."""
    if module != "rushlight" and not module.startswith("rushlight."):
        return module
    return _EXCEPTIONS.get((module, name)) or torch_name(module)


def place(module: str, name: str) -> tuple[str, str]:
    """The module and name that a global of a pickle means, as PyTorch and Python 3 spell them."""
    # Pickles of protocol 2 and below spell the standard library as Python 2 did.
    module, name = _PYTHON_2_NAMES.get((module, name), (module, name))
    return torch_module(_PYTHON_2_MODULES.get(module, module), name), name


def path(module: str, name: str) -> str:
    """How a global of a pickle is spelled in allow-lists: torch.nn.Linear, builtins.len."""
    return ".".join(place(module, name))


def full_name(module: str, name: str) -> str:
    """How a global of a pickle is spelled in messages: torch.nn.Linear, len."""
    module, name = place(module, name)
    return name if module == "builtins" else f"{module}.{name}"


def resolve(module: str, name: str) -> Any:
    """The object of a torch.* name; AttributeError says what Rushlight does not have."""
    home = _BACK.get((module, name)) or _HOMES.get(module)
    if home is None and name.endswith("Storage"):
        home = f"rushlight._engine.tensors.storages.{'untyped' if name == 'UntypedStorage' else 'typed'}"
    shown, module = full_name(module, name), home or "rushlight" + module[len("torch") :]
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        raise AttributeError(
            f"Can't get attribute {shown}: the file holds an object of this kind, and Rushlight has none; "
            "save tensors and plain containers (for a model, its state_dict()) instead of whole objects"
        ) from None
    return found


def is_torch(module: str) -> bool:
    """Whether a pickled module name is PyTorch's, so that `resolve` answers for it."""
    return module == "torch" or module.startswith("torch.")
