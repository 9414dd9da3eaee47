"""Pickles of packages: what they name is named as an importer knows it."""

from __future__ import annotations

import pickle
from types import FunctionType
from typing import Any

from rushlight._engine.serialization.rebuild import torch_form
from rushlight.package.importer import Importer, ObjMismatchError, ObjNotFoundError

_PythonPickler: Any = pickle._Pickler
_SINGLETONS = (type(None), type(NotImplemented), type(...))


class PackagePickler(_PythonPickler):  # type: ignore[misc]
    """Python's pickler, with names from an importer.

    written: module -> names in it that the pickle mentions, in order.
    """

    dispatch = dict(_PythonPickler.dispatch)

    def __init__(self, importer: Importer, file: Any, protocol: int, identify: Any) -> None:
        super().__init__(file, protocol)
        self.importer, self.identify = importer, identify
        self.written: dict[str, list[str]] = {}

    def persistent_id(self, value: Any) -> Any:
        """What is not in the pickle itself."""
        return self.identify(value)

    def reducer_override(self, value: Any) -> Any:
        """Tensors in PyTorch's form."""
        form = torch_form(value)
        return NotImplemented if form is None else form

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
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(f"c{module}\n{name}\n".encode())
        self.memoize(value)

    def save_type(self, value: Any) -> Any:
        """A class; None's and its like have no name."""
        return super().save_type(value) if value in _SINGLETONS else self.save_global(value)

    dispatch[FunctionType] = save_global
    dispatch[type] = save_type


__all__ = ["PackagePickler"]
