"""torch.jit.mobile: modules that are saved and loaded for PyTorch's lite interpreter.

Its archives hold the module's code beside bytecode. What is here reads and writes the code; the bytecode,
which PyTorch's own lite interpreter needs, is not written, and is not read.
"""

from __future__ import annotations

import os
from typing import Any

from rushlight.jit.archive import load
from rushlight.jit.handles import ModuleHandle


def _load_for_lite_interpreter(f: Any, map_location: Any = None) -> LiteScriptModule:
    """Read what `_save_for_lite_interpreter` wrote to `f`, a path or a file."""
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
    return LiteScriptModule(load(f, map_location)._c)


class LiteScriptModule:
    """A loaded module: its methods can be called, and that is all."""

    def __init__(self, cpp_module: ModuleHandle) -> None:
        self._c = cpp_module

    def __call__(self, *input: Any) -> Any:
        """Call forward."""
        return self.run_method("forward", *input)

    def find_method(self, method_name: str) -> bool:
        """Whether there is a method of this name."""
        return self._c._has_method(method_name)

    def forward(self, *input: Any) -> Any:
        """Call forward."""
        return self.run_method("forward", *input)

    def run_method(self, method_name: str, *input: Any) -> Any:
        """Call a method."""
        if not self.find_method(method_name):
            raise RuntimeError(f"Method '{method_name}' is not defined.")
        return self._c._get_method(method_name)(*input)
