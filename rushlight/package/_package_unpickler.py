"""Reading pickles of packages: names are looked up by an importer."""

from __future__ import annotations

import pickle
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from typing import Any

from rushlight.package.importer import Importer

_PythonUnpickler: Any = pickle._Unpickler


class PackageUnpickler(_PythonUnpickler):  # type: ignore[misc]
    """Python's unpickler, with names from an importer."""

    def __init__(self, importer: Importer, file: Any, identified: Any) -> None:
        super().__init__(file)
        self._importer, self._identified = importer, identified

    def persistent_load(self, pid: Any) -> Any:
        """What is not in the pickle itself."""
        return self._identified(pid)

    def find_class(self, module: str, name: str) -> Any:
        """What a name stands for."""
        if self.proto < 3:  # such pickles may spell the standard library as Python 2 did
            module, name = NAME_MAPPING.get((module, name), (module, name))
            module = IMPORT_MAPPING.get(module, module)
        return self._importer._get(module, name)


__all__ = ["PackageUnpickler"]
