"""torch.export._unlift: programs as modules that hold their state."""

from __future__ import annotations

from typing import Any

from rushlight.export.program import ExportedProgram

__all__ = ["_unlift_exported_program_lifted_states"]


def _unlift_exported_program_lifted_states(ep: ExportedProgram, check_guards: bool = True) -> Any:
    """`ep.module()`."""
    return ep.module(check_guards)
