"""PyTorch's names that mean nothing here, or nothing yet: they exist, so that a program that imports one
runs as far as it does not need it.

placeholders.tsv says which: a module and below it its names, one a line, with marks that
tools/absent_names.py
explains; one with `>` is another name of what is there. Any other name is a class:
it can be imported, named in annotations, asked for by isinstance() and subclassed; who calls it is told what
is missing and what to use instead (alternatives.tsv). A module that has only such names is made from its
line.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import FrameType, FunctionType, ModuleType
from typing import Any

from rushlight._engine.core.services import service
from rushlight._engine.names import absent_devices
from rushlight._engine.names.alternatives import advice, attribute, home, torch_name

with open(os.path.join(os.path.dirname(__file__), "placeholders.tsv"), encoding="utf-8") as _file:
    # A module (torch's without "torch.") and its names, which are told apart when one is asked for.
    _LINES = {
        module.removeprefix("torch.") if module != "torch" else "": words
        for module, _, words in (
            block.partition("\n") for block in re.split(r"\n(?!\t)", _file.read().rstrip())
        )
    }


def prefixes(name: str) -> list[str]:
    """A dotted name and all packages that it lies in: "a", "a.b", "a.b.c"."""
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts) + 1)]


_PACKAGES = {prefix for name in _LINES for prefix in prefixes(name)}
_MARKED = re.compile(r"(\w+)(.*)")
_NAMES: dict[str, dict[str, str]] = {}
MISSING = object()


def names(module: str) -> dict[str, str]:
    """A module's absent names and their marks."""
    known = _NAMES.get(module)
    if known is None:
        marked = [_MARKED.fullmatch(word) for word in _LINES.get(module, "").split()]
        known = _NAMES[module] = {match[1]: match[2] for match in marked if match}
    return known


def modules(package: str) -> list[str]:
    """The modules of a package that have absent names."""
    return [name.removeprefix(f"{package}.") for name in _LINES if name.startswith(f"{package}.")]


def shown(full: str) -> str:
    """A name as PyTorch has it, by its name in the table."""
    return full if full.startswith("torchvision") else f"torch.{full}".rstrip(".")


def _advice(full: str) -> str:
    return f"{shown(full)}, which is not there{advice(full) or ' in Rushlight'}."


def our_name(full: str) -> str:
    """The module of ours that a module of the table is."""
    if full == "torchvision" or full.startswith("torchvision."):
        return full.replace("torchvision", "rushlight_vision", 1)
    return f"rushlight.{full.removeprefix('torch.') if full != 'torch' else ''}".rstrip(".")


def refusal(full: str) -> NotImplementedError:
    """What is raised when torch.`full` is called."""
    return NotImplementedError(
        f"{shown(full)} can be imported but is not there{advice(full) or ' in Rushlight'}"
    )


class Absent(type):
    """The type of the names that are not there; a use that is not a class's says so, too."""

    _full: str

    def __getattr__(cls, name: str) -> Any:
        # What belongs to a missing class is missing, too. Python and its tools ask for names with an
        # underscore, but not for constants' (_DEFAULT_ALG_ID).
        if name.startswith("_") and not name.isupper():
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        found = _class(f"{cls._full}.{name}", name, "")
        setattr(cls, name, found)
        return found

    def __iter__(cls) -> Iterator[Any]:
        raise refusal(cls._full)

    def __contains__(cls, item: Any) -> bool:
        raise refusal(cls._full)

    def __len__(cls) -> int:
        raise refusal(cls._full)


def is_absent(found: Any) -> bool:
    """Whether something only stands for what is not there."""
    return isinstance(found, (Absent, _AbsentModule)) or (
        isinstance(found, type) and vars(found).get("_absent") is True
    )


def _importing() -> bool:
    """Whether a module that is being imported asks: a decorator at its top must not be what stops it."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame is not None and getattr(frame.f_globals.get("__spec__"), "_initializing", False)


def _is_class(full: str) -> bool:
    """Whether it seems to be a class, or a method of one, which makes objects."""
    return any(part.lstrip("_")[:1].isupper() for part in full.split(".")[-2:])


def _class(full: str, name: str, mark: str) -> Any:
    def refuse(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], (FunctionType, type)) and _importing():
            return deferred(cls, *args)
        if _is_class(full) and _importing():  # an object at a module's top; whoever uses it is told
            return _class(full, name, "")
        if not args and not kwargs:
            raise refusal(full)
        return service("call of what is not there")(full, cls, missing, args, kwargs)

    def missing(*args: Any, **kwargs: Any) -> Any:
        raise refusal(full)

    def subscript(cls: Any, item: Any) -> Any:
        if mark == "?":
            raise refusal(full)
        return cls

    def deferred(cls: Any, *args: Any, **kwargs: Any) -> Any:
        """A decorator, or what makes one: what it decorates is there, and refuses when it is called."""
        function = args[0] if len(args) == 1 and callable(args[0]) and not kwargs else None
        return _class(full, getattr(function, "__name__", name), "") if function else decorate

    def decorate(function: Any) -> Any:
        return _class(full, getattr(function, "__name__", name), "")

    return Absent(
        name,
        (),
        {
            "__new__": deferred if mark == "@" else refuse,
            "__class_getitem__": classmethod(subscript),
            "__init_subclass__": classmethod(lambda cls, **kwargs: None),
            "_full": full,
            "__module__": shown(full.rpartition(".")[0]),
            "__doc__": _advice(full),
        },
    )


def _made(full: str, name: str, mark: str) -> Any:
    if mark.startswith("="):
        return ast.literal_eval(mark[1:])
    if mark.startswith(">"):
        return _elsewhere(mark[1:])
    fields = {"__module__": shown(full.rpartition(".")[0]), "_absent": True}
    if mark == "!":
        return type(name, (RuntimeError,), fields)
    if mark.startswith(":"):
        members = {member: member.lower() for member in mark[1:].split(",")}
        return Enum(name, members, module=fields["__module__"])
    return _class(full, name, mark)


def _elsewhere(full: str) -> Any:
    """What torch.x or torchvision.x is here."""
    ours = our_name(full)
    parts = ours.split(".")
    found = import_module(parts[0])
    for i, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = import_module(".".join(parts[:i]))
    return found


@cache
def find(full: str) -> Any:
    """What torch.`full` is where it exists only by name: a class, a constant, a module; or MISSING."""
    if full in _PACKAGES:
        return import_module(our_name(full))
    module, _, name = full.rpartition(".")
    if name == "patch" and "install_config_module" in names(module):  # a module of settings
        return _elsewhere("torch.utils._config_module.patcher")(our_name(module))
    mark = names(module).get(name)
    if mark == "":  # a question whose answer is known: is it there?
        answer = absent_devices.functions(module).get(name)
        if answer is not None:
            return answer
    return MISSING if mark is None else _made(full, name, mark)


class _AbsentModule(ModuleType):
    """A module whose names are all absent, and made when first asked for."""

    def __init__(self, full: str) -> None:
        super().__init__(our_name(full), _advice(full))
        self.__path__: list[str] = []
        self.__all__ = [name for name in names(full) if not name.startswith("_")]

    def __getattr__(self, name: str) -> Any:
        return attribute(self.__dict__["__name__"], name)

    def __repr__(self) -> str:
        full = torch_name(self.__name__)
        return f"<module {full!r} from 'torch.ops'>" if full.startswith("torch.ops.") else super().__repr__()

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *names(torch_name(self.__name__).removeprefix("torch."))})


class Finder:
    """Makes modules of the table that no file stands for; those that have another name are what that
    names.
    """

    @staticmethod
    def find_spec(name: str) -> ModuleSpec | None:
        """The spec of such a module, by our name for it."""
        full = torch_name(name).removeprefix("torch.")
        if full not in _PACKAGES and home(full) is None:
            return None
        return ModuleSpec(name, Finder, origin="placeholders.tsv", is_package=True)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        """The module of that name."""
        full = torch_name(spec.name).removeprefix("torch.")
        other = home(full)
        if other is None:
            return _AbsentModule(full)
        found = import_module(other)
        spec.loader_state = found.__spec__
        return found

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Nothing is left to run; a module that was there before keeps its own spec."""
        spec = module.__spec__
        if spec is not None and spec.loader_state is not None:
            module.__spec__ = spec.loader_state
