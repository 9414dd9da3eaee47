"""PyTorch's modules that have another name here, and what is missing: what to use instead.

alternatives.tsv says both, by PyTorch's name without "torch.": "=" and a module of this package ("==" where
that is the module that PyTorch means: its classes say that name), or words.
"""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from opcode import opmap
from typing import Any

from rushlight._engine.core.callers import asked_by_hasattr
from rushlight._engine.lazy import homes as homes_of, names_of

_IMPORT_FROM = opmap["IMPORT_FROM"]
with open(os.path.join(os.path.dirname(__file__), "alternatives.tsv"), encoding="utf-8") as _file:
    _LINES = dict(line.rstrip("\n").split("\t") for line in _file)
_HOMES = {name: line.lstrip("=").strip() for name, line in _LINES.items() if line.startswith("=")}
# What PyTorch calls a module of ours where more than the first word differs; also the module that has a part.
_CALLED = {
    "rushlight._engine.core.dtype": "torch",
    "rushlight._engine.tensors.geometry": "torch",
    "rushlight._engine.tensors.storages.typed": "torch",
    "rushlight._engine.tensors.storages.untyped": "torch.storage",
    "rushlight._engine.serialization.rebuild": "torch._utils",
    "rushlight.distributions.transforms.base": "torch.distributions.transforms",
    "rushlight.distributions.transforms.elementwise": "torch.distributions.transforms",
    "rushlight.distributions.transforms.joined": "torch.distributions.transforms",
    "rushlight.distributions.transforms.structured": "torch.distributions.transforms",
    "rushlight.optim.lr_scheduler.base": "torch.optim.lr_scheduler",
    "rushlight.optim.lr_scheduler.composed": "torch.optim.lr_scheduler",
    "rushlight.optim.lr_scheduler.cosine": "torch.optim.lr_scheduler",
    "rushlight.optim.lr_scheduler.cyclic": "torch.optim.lr_scheduler",
    "rushlight.optim.lr_scheduler.simple": "torch.optim.lr_scheduler",
    "rushlight.utils.recomputing": "torch.utils.checkpoint",
    "rushlight.utils.reentrant": "torch.utils.checkpoint",
    "rushlight.utils.selective": "torch.utils.checkpoint",
    "rushlight.utils.ambient": "torch.utils.checkpoint",
    "rushlight.distributed.data_parallel": "torch.nn.parallel.distributed",
    "rushlight.export.symbols": "torch.export.dynamic_shapes",
    **{f"rushlight.{_HOMES[name]}": f"torch.{name}" for name, line in _LINES.items() if line[:2] == "=="},
}


def home(module: str) -> str | None:
    """This package's module that answers to torch.`module`, if it has another name."""
    found = _HOMES.get(module)
    return None if found is None else f"rushlight.{found}".rstrip(".")


def place(module: str) -> str | None:
    """The same; or what lies below such a module."""
    found = home(module)
    above, _, last = module.rpartition(".")
    if found is not None or not above:
        return found
    found = place(above)
    return None if found is None else place(f"{found}.{last}".removeprefix("rushlight.")) or f"{found}.{last}"


def homes() -> dict[str, str]:
    """PyTorch's modules that have another name, and that name within this package."""
    return dict(_HOMES)


def advice(name: str) -> str:
    """What to use instead of torch.`name`, or of the missing module that it lies in; "" where nothing is
    known.
    """
    parts = name.split(".")
    found = next(
        (
            _LINES[way]
            for n in range(len(parts), 0, -1)
            if (way := ".".join(parts[:n])) in _LINES and way not in _HOMES
        ),
        "",
    )
    return found and f" in Rushlight. Instead: {found}"


def torch_names(module: str) -> list[str]:
    """All of PyTorch's names for a module of ours, first what its classes say; none for the engine's own."""
    found = torch_name(module)
    others = [f"torch.{other}" for other, ours in _HOMES.items() if f"rushlight.{ours}" == module]
    return [*([] if "._engine." in found else [found]), *others]


def torch_name(module: str) -> str:
    """What PyTorch calls a module of ours."""
    called = _CALLED.get(module)
    if called is not None:
        return called
    root, dot, rest = module.partition(".")
    if root == "rushlight" and rest.partition(".")[0] == "functorch":  # a package beside torch
        return rest
    return {"rushlight": "torch", "rushlight_vision": "torchvision"}.get(root, root) + dot + rest


def present(space: Any, name: str) -> Any:
    """An attribute of a module or class; None where there is none, or one only there to be imported."""
    found = getattr(space, name, None)
    nowhere = sys.modules.get("rushlight._engine.names.placeholders")
    return None if nowhere is not None and nowhere.is_absent(found) else found


# Python's own modules, which PyTorch's files import and programs reach through them: `torch.os.path`.
_PYTHONS = {
    "torch": "builtins ctypes functools glob importlib inspect math os platform textwrap threading warnings",
    "torch.nn.functional": "dataclasses importlib math warnings",
    "torch.nn.init": "math warnings",
    "torch.cuda": "importlib os platform threading traceback warnings",
    "torch.optim.lr_scheduler": "math types warnings",
    "torch.hub": "contextlib errno hashlib json os re shutil sys tempfile uuid warnings zipfile",
    "torch.serialization": "copyreg difflib functools io os pickle re shutil struct sys tarfile tempfile "
    "threading warnings",
}


def _starred(module: str, name: str) -> Any:
    """`__all__`: PyTorch's names, or where PyTorch has no such module those that the file says. No other name
    with such underscores is there.
    """
    taken = None
    if name == "__all__":
        found = sys.modules[module]
        taken = import_module("rushlight._engine.names.star_names").star(found)
        taken = names_of(found).get("_all") if taken is None else taken
    if taken is None:
        raise AttributeError(f"module {torch_name(module)!r} has no attribute {name!r}")
    return taken


def attribute(module: str, name: str) -> Any:
    """What __getattr__ of rushlight.x answers to a name that is no other's: a module of another name, a
    name that is there to be imported (placeholders.py), or AttributeError with what to use instead.
    """
    if name.startswith("__"):
        return _starred(module, name)
    if name in _PYTHONS.get(torch_name(module), "").split():
        return import_module(name)
    if homes_of(module).get(name) == ".":  # of a package whose other names are its own
        return import_module(f"{module}.{name}")
    others = [other for other, ours in _HOMES.items() if f"rushlight.{ours}".rstrip(".") == module]
    ways = [f"{other}.{name}" for other in others]
    package = sys.modules.get(module)
    inside = module.startswith("rushlight._engine.") and others
    module = f"torch.{others[0]}" if inside else torch_name(module)
    full = f"{module}.{name}".removeprefix("torch.")
    for way in (full, *ways):
        if (other := home(way)) is not None:
            return import_module(other)
    # A module of ours that is not loaded yet: `from package import module` asks here first.
    if PathFinder.find_spec(name, getattr(package, "__path__", ())) is None:
        nowhere = import_module("rushlight._engine.names.placeholders")
        for way in (full, *ways):
            found = nowhere.find(way)
            if found is nowhere.MISSING:
                continue
            if isinstance(found, nowhere.Absent):
                # A program that asks before it uses a name is told that it is not there.
                if asked_by_hasattr():
                    break
            elif package is not None:
                setattr(package, name, found)
            return found
    raise _imported(module, name) or AttributeError(
        f"module {module!r} has no attribute {name!r}{advice(full)}"
    )


def _imported(module: str, name: str) -> ImportError | None:
    """What `from torch.x import name` raises, if that is what asks: the interpreter would make the same error
    of an AttributeError, without our note.
    """
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_name in ("__getattr__", "find"):
        frame = frame.f_back
    if frame.f_code.co_code[frame.f_lasti] != _IMPORT_FROM:
        return None
    real = re.sub("^torch", "rushlight", module)
    if f"{real}.{name}" in sys.modules:
        return None  # a module that is still being loaded: the interpreter finds it there
    path = getattr(sys.modules.get(real), "__file__", None)
    error = ImportError(f"cannot import name {name!r} from {module!r} ({path})", name=module, path=path)
    note = explain(error)
    if note is not None:
        error.add_note(note)
    return error


def not_found(name: str) -> ModuleNotFoundError:
    """What `import torch.x` raises where there is no such module: Python's words, and ours as a note."""
    error = ModuleNotFoundError(f"No module named {name!r}", name=name)
    note = explain(error)
    if note is not None:
        error.add_note(note)
    return error


def explain(error: ImportError) -> str | None:
    """What to use instead of what a program could not import, or None for modules that are not torch's."""
    found = re.match(r"cannot import name '(\w+)' from '(torch[\w.]*|rushlight[\w.]*)'", str(error))
    name = f"{found[2]}.{found[1]}" if found else error.name or ""
    root, _, rest = name.partition(".")
    if root not in ("torch", "rushlight", "torchvision"):
        return None
    what = torch_name(name) if found else f"module {name}"
    text = advice(rest).removeprefix(" in Rushlight.")
    return f"This program runs on Rushlight, which has no {what} (yet).{text}"
