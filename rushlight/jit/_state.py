"""Whether TorchScript compiles: PYTORCH_JIT=0 and disable() leave functions and modules as they are."""

from __future__ import annotations

import os

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
