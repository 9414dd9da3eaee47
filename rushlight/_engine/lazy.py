"""Packages whose names are found at first mention: importing the package stays cheap.

homes.tsv says where: package, module within it (or of the engine or _dynamo), names; "." stands before names
that are modules themselves.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib import _ModuleLockManager  # type: ignore[attr-defined]
from _frozen_importlib_external import PathFinder, SourceFileLoader
from importlib import import_module

from rushlight._engine import load_listeners

TYPE_CHECKING = False
if TYPE_CHECKING:  # not loaded by `import rushlight`
    from collections.abc import Callable, Mapping
    from typing import Any

with open(os.path.join(os.path.dirname(__file__), "homes.tsv"), encoding="utf-8") as _file:
    _LINES = [line.split() for line in _file]


def homes(package: str) -> dict[str, str]:
    """The module within `package` that each of its names comes from, or "."."""
    return {name: home for where, home, *names in _LINES if where == package for name in names}


def module_of(package: str, home: str) -> str:
    """The full name of a module that homes.tsv names: one within `package`, or one of these three."""
    elsewhere = home.startswith(("_engine.", "_dynamo.", "export."))
    return f"rushlight.{home}" if elsewhere else f"{package}.{home}"


def package() -> str:
    """What programs know us by, as their prints of types show: "torch" where that name is ours."""
    return "torch" if sys.modules.get("torch") is sys.modules["rushlight"] else "rushlight"


def _module(found: Any) -> str:
    """Its module's name; "" where it has none that can be read (of compiled classes, objects may have it)."""
    module = getattr(found, "__module__", None)
    return module if isinstance(module, str) else ""


def is_ours(found: Any) -> bool:
    """Whether a class or function is the framework's own, which may call itself torch's (see `package`)."""
    return _module(found).partition(".")[0] in ("rushlight", "torch")


def our_module(found: Any) -> str:
    """The module of a class or function; where that calls itself torch's, ours at the same path."""
    module = _module(found)
    return f"rushlight{module[5:]}" if module.partition(".")[0] == "torch" else module


def all_subclasses(package: str) -> Any:
    """The method `__subclasses__` of a base class of ours, for who looks for all classes of a kind.

    Of our own classes, it first loads all of `package`; a base that only we have (`_only_here`) is left out
    for what is made of it.
    """

    def __subclasses__(cls: type[Any]) -> list[type[Any]]:
        """The classes made of this one."""
        if not is_ours(cls):
            return type.__subclasses__(cls)
        vars(import_module(package))
        return [each for made in type.__subclasses__(cls) for each in _as_torch_has_them(made)]

    return classmethod(__subclasses__)


def _as_torch_has_them(made: type[Any]) -> list[type[Any]]:
    return made.__subclasses__() if "_only_here" in vars(made) else [made]


def public(homes: Mapping[str, str]) -> list[str]:
    """The names that are no modules, in order."""
    return sorted(name for name, home in homes.items() if home != ".")


if TYPE_CHECKING:  # the same class, without a module more to load
    from types import ModuleType as _Module
else:
    _Module = type(sys)
# What a module has by now: vars() of a package of ours first finds all names that it may have.
names_of: Callable[[Any], dict[str, Any]] = vars(_Module)["__dict__"].__get__


def _own_name(module: Any) -> str:
    """A module's name within this package, whatever programs know it by."""
    found: str = module.__spec__.name
    return found


class _Completable(type):
    """Tells the interpreter's completer, who asks a package's class for a name, that there is a property: it
    then completes the name without a look behind it, which would load all that a prefix fits.
    """

    def __getattr__(cls, name: str) -> property:
        if name.startswith("_") or not import_module("rushlight._engine.names.completion").is_completing():
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")
        return property()


class LazyPackage(_Module, metaclass=_Completable):
    """The class of modules whose names are found at first mention. All of them are there for who looks into
    its `__dict__`, as `vars(torch.optim)` does.
    """

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        names = names_of(self)
        if "_asked" not in names and "__dir__" in names:
            names["_asked"] = True
            inside = homes(_own_name(self))
            for name in names["__dir__"]():
                # All of torch's packages together would be a second and more.
                if name not in names and not (inside.get(name) == "." and _own_name(self) == "rushlight"):
                    getattr(self, name, None)
        return names

    def __dir__(self) -> list[str]:
        return _shown(self, names_of(self)["__dir__"]())

    def __setattr__(self, name: str, value: Any) -> None:
        # A module that is imported becomes its package's attribute: not where what it holds goes by its name.
        if isinstance(value, _Module) and homes(_own_name(self)).get(name, ".") != ".":
            value = getattr(value, name)
        super().__setattr__(name, value)


LazyPackage.__name__ = "module"  # what Python calls a module in its errors: "'module' object is not callable"


def lazy_names(
    names: dict[str, Any], homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions __getattr__ and __dir__ of a package, whose globals() are `names`.

    AttributeError, as PyTorch words it, for names that `homes` does not know.
    """
    package: str = names["__spec__"].name
    sys.modules[package].__class__ = LazyPackage

    def __getattr__(name: str) -> Any:
        if name not in homes:
            return import_module("rushlight._engine.names.alternatives").attribute(package, name)
        if homes[name] == ".":
            found = import_module(f"{package}.{name}")
        else:
            found = getattr(import_module(module_of(package, homes[name])), name)
        names[name] = import_module("rushlight._engine.core.tracebacks").own(found)
        return found

    def __dir__() -> list[str]:
        return sorted({*names, *homes})

    __getattr__.__module__ = names["__name__"]
    return __getattr__, __dir__


# --- names that modules do not have themselves ----------------------------------------------------

# Where names that a module has not are not looked for: the engine (but for what stands for modules of
# torch.autograd), and what is no module of PyTorch's.
_CLOSED = ("_engine", "_torch_dispatch", "as_torch", "launcher", "__main__", "ops")
_OPEN = "_engine.autograd."


def _torch_names(module: str) -> list[str]:
    found: list[str] = import_module("rushlight._engine.names.alternatives").torch_names(module)
    return found


def _answers(name: str, module: str) -> bool:
    """Whether PyTorch's name is this module's, and not that of another one which has its classes."""
    home = import_module("rushlight._engine.names.alternatives").home(name.removeprefix("torch."))
    return home in (None, module)


class _Loader(SourceFileLoader):
    """Loads a module of the public storey; names that it has not are looked for in names/alternatives.py.

    Where programs know us as torch, it runs under its torch name, and lies in sys.modules under both: so all
    classes and functions that it defines say what PyTorch's say, to `repr`, `inspect` and `pickle`.
    """

    def exec_module(self, module: Any) -> None:
        ours: str = module.__name__
        names = _torch_names(ours) if package() == "torch" else ()
        if names:
            self._run_as(names[0], module, _answers(names[0], ours))
        else:
            super().exec_module(module)
        for name in names[1:]:
            sys.modules.setdefault(name, module)
        # Not vars(): a package's own dictionary is asked, before its lazy names are in it.
        inside = names_of(module)
        # A star import asks names/star_names.py, which knows what PyTorch's module gives; not torchvision's.
        listed = ours.partition(".")[0] == "rushlight" and "__all__" in inside
        if listed and ("__getattr__" not in inside or isinstance(module, LazyPackage)):
            inside["_all"] = inside.pop("__all__")
        inside.setdefault("__getattr__", _asking(ours))
        inside.setdefault("__dir__", _listing(ours))
        load_listeners.tell(module)

    def _run_as(self, name: str, module: Any, own: bool) -> None:
        module.__name__ = name
        # Another thread that imports it by this name waits until it is whole.
        with _ModuleLockManager(name):
            is_new = sys.modules.setdefault(name, module) is module
            try:
                super().exec_module(module)
            except BaseException:
                if is_new:
                    sys.modules.pop(name, None)
                raise
            if is_new and not own:  # who imports that name gets the other one
                sys.modules.pop(name, None)

    def get_code(self, fullname: str) -> Any:
        """The code of the module, by whichever of its names it is asked for."""
        return super().get_code(self.name)


def _asking(module: str) -> Callable[[str], Any]:
    def __getattr__(name: str) -> Any:
        if name == "__path__":  # which Python asks for at each `from module import name`
            raise AttributeError(name)
        return import_module("rushlight._engine.names.alternatives").attribute(module, name)

    __getattr__.__module__ = module
    return __getattr__


def _shown(module: Any, names: Any) -> list[str]:
    found: list[str] = import_module("rushlight._engine.names.star_names").shown(module, [*names])
    return found


def _listing(module: str) -> Callable[[], list[str]]:
    def __dir__() -> list[str]:
        found = sys.modules[module]
        return _shown(found, names_of(found))

    return __dir__


def _alias(name: str, path: Any, target: Any) -> Any:
    """The spec of torch.x where a program put us into sys.modules as torch; None where it did not.

    Without it Python would look into our folder, and load the module once more under the other name.
    """
    ours = sys.modules.get("rushlight")
    if ours is None or sys.modules.get("torch") is not ours:
        return None
    return import_module("rushlight.launcher").find_torch(distributions=False).find_spec(name, path, target)


class _PublicFinder:
    """Gives modules of the public storey that loader."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        """What Python's own finder says."""
        root, _, rest = name.partition(".")
        if root != "rushlight" and root != "rushlight_vision":
            return _alias(name, path, target) if root == "torch" and rest else None
        if rest.partition(".")[0] in _CLOSED and not rest.startswith(_OPEN):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader.__class__ = _Loader
        return spec


class _PlaceholderFinder:
    """Hands modules that nobody found to names/placeholders.py: some are there by name only."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        """The spec of such a module, or None."""
        if name.partition(".")[0] in ("rushlight", "rushlight_vision"):
            return import_module("rushlight._engine.names.placeholders").Finder.find_spec(name)
        return None


sys.meta_path.insert(0, _PublicFinder)
sys.meta_path.append(_PlaceholderFinder)
