"""Modules of the user rooms are told as they are loaded, so that their functions may become users' own
(frames.py).

A path hook answers for the package's folders alone; other imports never meet it.
"""
from __future__ import annotations

import os
import sys
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:  # not loaded by `import rushlight`
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_VISION = f"{_ROOT}_vision"
# The engine's rooms: what they publish is handed out by names (lazy.py, the door).
_ENGINE = tuple(f"rushlight.{room}." for room in (
    "base", "ops", "derive", "compiler", "tensor", "dispatch", "transforms", "capture"))
_waiting: list[ModuleType] = []
_tell: Callable[[ModuleType], Any] = _waiting.append


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if not module.__name__.startswith(_ENGINE):
            _tell(module)


def rest(tell: Callable[[ModuleType], Any]) -> list[ModuleType]:
    """What was loaded before; from now on `tell` hears of each module."""
    global _tell
    _tell = tell
    return _waiting


def _hook(path: str) -> FileFinder:
    if path != _ROOT and not path.startswith((_ROOT + os.sep, _VISION)):
        raise ImportError(path)
    return FileFinder(path, (_Loader, SOURCE_SUFFIXES))


sys.path_hooks.insert(0, _hook)
for _path in [path for path in sys.path_importer_cache if path.startswith(_ROOT)]:
    del sys.path_importer_cache[_path]
