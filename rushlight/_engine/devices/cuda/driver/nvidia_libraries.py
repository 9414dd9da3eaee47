"""NVIDIA's libraries by ctypes: where they may lie, and their functions with the types of their arguments."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping, Sequence
from glob import glob
from typing import Any


def places(stem: str, versions: Sequence[str]) -> list[str]:
    """Where a library may be, such as "cublasLt": in NVIDIA's wheels, then where the system says."""
    found = []
    for version in versions:
        name = f"{stem}64_{version}.dll" if sys.platform == "win32" else f"lib{stem}.so.{version}"
        for root in sys.path:
            for folder in ("lib", "bin"):
                found += sorted(glob(os.path.join(root, "nvidia", "*", folder, name)))
        found.append(name)
    return found


def fitting(versions: Sequence[str], driver: int, first: int = 12000) -> Sequence[str]:
    """Of a library's versions, newest first, those that a driver takes; the last one is for drivers from
    `first` on (1000 times the major number of CUDA), each other one for those of the next major number.
    """
    newer = max(0, (driver - first) // 1000)
    return versions[max(0, len(versions) - 1 - newer) :]


def loaded(where: Sequence[str], functions: Mapping[str, tuple[Any, ...]]) -> tuple[Any, str]:
    """(the first library that loads, its functions giving an int; None where none does, why)."""
    reason = ""
    for place in where:
        try:
            library = ctypes.CDLL(place)
        except OSError as error:
            reason = reason or str(error)
            continue
        for name, types in functions.items():
            function = getattr(library, name)
            function.argtypes, function.restype = types, ctypes.c_int
        return library, reason
    return None, reason
