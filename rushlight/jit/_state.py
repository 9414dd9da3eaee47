"""Whether TorchScript compiles: PYTORCH_JIT=0 and disable() leave functions and modules as they are."""

from __future__ import annotations

import os
from collections.abc import Iterator, MutableMapping
from typing import Any

_OFF = ("0", "false", "no", "0v")


class EnabledProxy:
    """A switch that is true where torch.jit compiles and records."""

    def __init__(self) -> None:
        self.enabled = os.environ.get("PYTORCH_JIT", "1").lower() not in _OFF

    def __bool__(self) -> bool:
        return self.enabled


_enabled = EnabledProxy()


def disable() -> None:
    """Let torch.jit.script, script_method, trace and trace_module return what they are given."""
    _enabled.enabled = False


def enable() -> None:
    """Let them compile and record."""
    _enabled.enabled = True


class _Compiled(MutableMapping[Any, Any]):
    """Which functions have been compiled: who deletes one has it compiled anew."""

    @property
    def _known(self) -> dict[Any, Any]:
        # What it needs, jit, imports this file.
        from rushlight.jit.compiler.names import _compiled

        return _compiled

    def __getitem__(self, function: Any) -> Any:
        return self._known[function].qualname

    def __setitem__(self, function: Any, value: Any) -> None:
        raise TypeError("torch.jit.script alone adds functions")

    def __delitem__(self, function: Any) -> None:
        del self._known[function]

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._known))

    def __len__(self) -> int:
        return len(self._known)


_jit_caching_layer = _Compiled()


class _PythonUnit:
    """All functions that Python programs have compiled."""

    def get_functions(self) -> list[Any]:
        """These, in the order in which they were compiled."""
        from rushlight.jit.modules import ScriptFunction  # what it needs, jit, imports this file

        known = _jit_caching_layer._known.items()
        return [ScriptFunction(found, original) for original, found in known if found is not None]

    def find_function(self, name: str) -> Any:
        """A function by its qualified name; None where there is none."""
        return next((f for f in self.get_functions() if f.qualified_name == name), None)


_python_cu = _PythonUnit()
