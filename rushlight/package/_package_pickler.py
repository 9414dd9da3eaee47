"""Pickles of packages: what they name is named as an importer knows it."""

from __future__ import annotations

import pickle
from types import FunctionType
from typing import Any

from rushlight._engine.serialization.pickler import ExactPickler
from rushlight.package.importer import Importer, ObjMismatchError, ObjNotFoundError


class PackagePickler(ExactPickler):
    """Python's pickler, with names from an importer.

    written: module -> names in it that the pickle mentions, in order.
    """

    dispatch = dict(ExactPickler.dispatch)

    def __init__(self, importer: Importer, file: Any, protocol: int, identify: Any) -> None:
        super().__init__(file, protocol)
        self.importer, self.identify = importer, identify
        self.written: dict[str, list[str]] = {}

    def save_global(self, value: Any, name: str | None = None) -> None:
        """A name that the importer gives back."""
        try:
            module, name = self.importer.get_name(value, name)
        except (ObjNotFoundError, ObjMismatchError) as error:
            raise pickle.PicklingError(f"Can't pickle {value}: {error}") from None
        outer, _, last = name.rpartition(".")
        if outer and self.proto < 4:
            parent = self.importer.import_module(module)
            for part in outer.split("."):
                parent = getattr(parent, part)
            self.save_reduce(getattr, (parent, last), obj=value)
            return
        self.written.setdefault(module, []).append(name)
        self.write_global(value, module, name)

    dispatch[FunctionType] = save_global


__all__ = ["PackagePickler"]
