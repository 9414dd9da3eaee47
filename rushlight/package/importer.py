"""Importers: who finds modules by their names, and names of what modules hold."""

from __future__ import annotations

import importlib
import logging
from abc import ABC, abstractmethod
from contextlib import suppress
from pickle import whichmodule as _whichmodule  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

from rushlight._engine.serialization.names import is_torch, resolve, torch_module
from rushlight._engine.serialization.rebuild import is_reference
from rushlight.package._mangling import demangle, get_mangle_prefix, is_mangled

log = logging.getLogger(__name__)


class ObjNotFoundError(Exception):
    """Raised when an importer does not find an object by its name."""


class ObjMismatchError(Exception):
    """Raised when an importer finds another object of the same name than the one that was asked for."""


class Importer(ABC):
    """An environment to import modules from. Who writes pickles asks it for names of objects.

    Example::

        >>> from rushlight.package import sys_importer
        >>> sys_importer.get_name(len)
        ('builtins', 'len')
    """

    modules: dict[str, ModuleType]

    @abstractmethod
    def import_module(self, module_name: str) -> ModuleType:
        """The module of this name in the environment."""

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        """(module, name) by which this environment gives the object.

        Raises ObjNotFoundError where it has nothing of that name, ObjMismatchError where it has another.
        """
        reduced = obj.__reduce_ex__(3) if name is None and is_reference(obj) else None
        name = name or reduced or getattr(obj, "__qualname__", None) or obj.__name__
        module = demangle(_shown_module(self, obj, name))
        try:
            found = self._get(module, name)
        except (ImportError, KeyError, AttributeError):
            raise ObjNotFoundError(f"{obj} was not found as {module}.{name}") from None
        if found is obj:
            return module, name
        raise ObjMismatchError(self._mismatch(obj, found, module, name))

    def _get(self, module: str, name: str) -> Any:
        """What a module holds under a dotted name."""
        if is_torch(module):
            with suppress(AttributeError):
                return resolve(module, name)
        found: Any = self.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def _mismatch(self, obj: Any, found: Any, module: str, name: str) -> str:
        where, what, importer = _origin(obj, name)
        where_found, what_found, importer_found = _origin(found, name)
        return (
            f"\n\nThe object provided is from '{what}', which is coming from {where}."
            f"\nHowever, when we import '{what_found}', it's coming from {where_found}."
            "\nTo fix this, make sure this 'PackageExporter's importer lists "
            f"{importer} before {importer_found}."
        )

    def whichmodule(self, obj: Any, name: str) -> str:
        """The name of the module in this environment that holds the object; `__main__` if none is known."""
        own = getattr(obj, "__module__", None)
        if own is not None:
            return str(own)
        for module_name, module in self.modules.copy().items():
            if module_name == "__main__" or module_name == "__mp_main__" or module is None:
                continue
            found: Any = module
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is obj:
                return module_name
        return "__main__"


def _origin(obj: Any, name: str) -> tuple[str, str, str]:
    """Where an object comes from, the module that holds it, and the importer of that."""
    module = str(_whichmodule(obj, name))
    if is_mangled(module):
        mark = get_mangle_prefix(module)
        return mark, module, f"the importer for {mark}"
    return "the current Python environment", module, "'sys_importer'"


def _shown_module(importer: Importer, obj: Any, name: str) -> str:
    """The module of an object, by PyTorch's name of it."""
    return "torch" if is_reference(obj) else torch_module(importer.whichmodule(obj, name), name)


class _SysImporter(Importer):
    """Python's own importing."""

    def import_module(self, module_name: str) -> ModuleType:
        """importlib.import_module; PyTorch's names stand for the modules that Rushlight has for them."""
        if is_torch(module_name) and __name__.partition(".")[0] != "torch":
            return importlib.import_module("rushlight" + module_name[len("torch") :])
        return importlib.import_module(module_name)

    def whichmodule(self, obj: Any, name: str) -> str:
        """The module that Python's pickle would name."""
        return str(_whichmodule(obj, name))


sys_importer = _SysImporter()


class OrderedImporter(Importer):
    """Several importers, asked one after the other: `OrderedImporter(package, sys_importer)`."""

    def __init__(self, *args: Importer) -> None:
        self._importers = list(args)

    def _is_torchpackage_dummy(self, module: Any) -> bool:
        """Whether a module is only there because something below it is external to a package."""
        return (
            bool(getattr(module, "__torch_package__", False))
            and hasattr(module, "__path__")
            and getattr(module, "__file__", None) is None
        )

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        """What the first importer that finds the object says."""
        for importer in self._importers:
            try:
                return importer.get_name(obj, name)
            except (ObjNotFoundError, ObjMismatchError) as error:
                log.warning(
                    "Tried to call get_name with obj %s, and name %s on %s and got %s",
                    obj,
                    name,
                    importer,
                    error,
                )
        raise ObjNotFoundError(
            f"Could not find obj {obj} and name {name} in any of the importers {self._importers}"
        )

    def import_module(self, module_name: str) -> ModuleType:
        """The module of the first importer that has it."""
        last: ModuleNotFoundError | None = None
        for importer in self._importers:
            if not isinstance(importer, Importer):
                raise TypeError(
                    f"{importer} is not a Importer. All importers in OrderedImporter must inherit from "
                    "Importer."
                )
            try:
                module = importer.import_module(module_name)
            except ModuleNotFoundError as error:
                last = error
                continue
            if not self._is_torchpackage_dummy(module):
                return module
        raise last or ModuleNotFoundError(module_name)

    def whichmodule(self, obj: Any, name: str) -> str:
        """The name that the first importer knows."""
        found = (importer.whichmodule(obj, name) for importer in self._importers)
        return next((module for module in found if module != "__main__"), "__main__")


__all__ = ["Importer", "ObjMismatchError", "ObjNotFoundError", "OrderedImporter", "sys_importer"]
