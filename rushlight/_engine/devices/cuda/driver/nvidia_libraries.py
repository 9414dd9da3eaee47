"""NVIDIA's libraries by ctypes: where they may lie, and their functions with the types of their arguments."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping, Sequence
from glob import glob
from typing import Any


class NotInstalled(RuntimeError):
    """A library of NVIDIA's is not there, or none that the driver takes."""


def _toolkits() -> list[str]:
    """Folders of libraries of installed CUDA toolkits: as CUDA_HOME and CUDA_PATH say, and where they go."""
    roots = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    roots += sorted(glob("/usr/local/cuda*"), reverse=True)
    return [os.path.join(root, folder) for root in roots for folder in ("lib64", "bin")]


def places(stem: str, versions: Sequence[str]) -> list[str]:
    """Where a library may be, such as "cublasLt": in NVIDIA's wheels, where the system says, in toolkits."""
    found = []
    for version in versions:
        name = f"{stem}64_{version}.dll" if sys.platform == "win32" else f"lib{stem}.so.{version}"
        for root in sys.path:
            for folder in ("lib", "bin"):
                found += sorted(glob(os.path.join(root, "nvidia", "*", folder, name)))
        found.append(name)
        found += [p for p in [os.path.join(folder, name) for folder in _toolkits()] if os.path.exists(p)]
    return found


def fitting(versions: Sequence[str], driver: int, first: int = 12000) -> Sequence[str]:
    """Of a library's versions, newest first, those that a driver takes; the last one is for drivers from
    `first` on (1000 times the major number of CUDA), each other one for those of the next major number.
    """
    newer = max(0, (driver - first) // 1000)
    return versions[max(0, len(versions) - 1 - newer) :]


def loaded(where: Sequence[str], functions: Mapping[str, tuple[Any, ...]]) -> tuple[Any, str]:
    """(the first library that loads and has the functions, which give an int; None where none does, why)."""
    reason = ""
    for place in where:
        try:
            library = ctypes.CDLL(place)
            for name, types in functions.items():
                function = getattr(library, name)
                function.argtypes, function.restype = types, ctypes.c_int
        except (OSError, AttributeError) as error:  # it does not load, or is of another version
            reason = reason or str(error)
            continue
        return library, reason
    return None, reason


def preload(needs: Sequence[tuple[str, Sequence[str]]], driver: int) -> None:
    """Load what another library asks the loader for by name: it finds what is loaded, wherever it lies.

    needs: names with their versions, newest first, in the order in which they need each other.
    """
    for stem, versions in needs:
        loaded(places(stem, fitting(versions, driver)), {})
