"""torch.export.unflatten: an exported program as a module with the submodules that it came from."""

from __future__ import annotations

from typing import Any

from rushlight.export.program import ExportedProgram


def unflatten(module: ExportedProgram, flat_args_adapter: Any = None) -> Any:
    """The program as a module whose parameters lie in submodules of their own names. It runs as a whole: a
    submodule holds its state, and has no forward of its own.
    """
    return module.module()
