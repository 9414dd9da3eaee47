"""torch.ops: ops by the namespaces that they are registered in.

`python -m rushlight.ops gelu` prints an op's card.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType

NAMESPACES: dict[str, object] = {}  # torch.ops.NAME of the ops that programs add: rushlight.library
loaded_libraries: set[str] = set()


# Libraries of packages, by their files' names up to the first dot, and what defines the same operators.
_LIBRARIES = {"_torchaudio": "rushlight_audio.extension", "libtorchaudio": "rushlight_audio.extension"}


def load_library(path: str | os.PathLike[str]) -> None:
    """Have the operators of a shared library, which is compiled for PyTorch, in torch.ops.

    torchaudio's are there, from rushlight_audio; its file is not read.
    Errors: OSError for other libraries.
    """
    name = os.path.basename(path).partition(".")[0]
    if name in _LIBRARIES:
        import_module(_LIBRARIES[name])
        loaded_libraries.add(os.fspath(path))
        return
    raise OSError(
        f"Could not load this library: {path}. Libraries of operators are compiled for PyTorch; define the "
        "operators in Python instead, with torch.library.custom_op"
    )


# Namespaces of packages, with the module that defines their ops when they are asked for: once the package is
# imported, as the ops of a compiled extension are there from then on.
_WHEN_ASKED = {
    "torchvision": ("rushlight_vision", "rushlight_vision.extension"),
    "prims": ("rushlight", "rushlight._prims"),
    "prim": ("rushlight", "rushlight.ops.prim"),
    "_test": ("rushlight", "rushlight.ops.examples"),
    "_c10d_functional": ("rushlight", "rushlight.distributed.communication.exported"),
}


def __getattr__(name: str) -> object:
    if name in _WHEN_ASKED and name not in NAMESPACES:
        package, module = _WHEN_ASKED[name]
        if package in sys.modules:
            import_module(module)
    if name in NAMESPACES:
        return NAMESPACES[name]
    if name == "rushlight":
        return import_module("rushlight.export.overloads").OWN
    if name in ("aten", "profiler", "higher_order"):
        return import_module(f"rushlight.ops.{name}")
    if name.startswith("__") or PathFinder.find_spec(name, __path__) is not None:
        # A family of ours that is not loaded yet, or Python's own question.
        raise AttributeError(f"module 'torch.ops' has no attribute {name!r}")
    try:
        return import_module("rushlight._engine.names.alternatives").attribute("rushlight.ops", name)
    except AttributeError:
        return _Empty(name)


class _Empty:
    """torch.ops.NAME where nobody has defined an op of that name yet: PyTorch answers to any name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self._name}' from 'torch.ops'>"

    def __getattr__(self, name: str) -> object:
        if name in ("__origin__", "__self__"):  # PyTorch's words for what its own tools ask for
            raise AttributeError(f"Invalid attribute '{name}' for '_OpNamespace' '{self.__dict__['_name']}'")
        raise AttributeError(f"'_OpNamespace' '{self.__dict__['_name']}' object has no attribute '{name}'")


class _Ops(ModuleType):
    """This module: `del torch.ops.NAME` forgets what is remembered of a namespace, not its ops."""

    def __setattr__(self, name: str, value: object) -> None:
        if (
            name not in NAMESPACES
        ):  # an import of the stand-in of a namespace that has ops by now says nothing
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name in vars(self):
            super().__delattr__(name)


sys.modules[__name__].__class__ = _Ops
