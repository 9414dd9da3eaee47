"""A worker of the launcher: `python -m rushlight` that ends with the agent that started it."""

import ctypes
import os
import signal
import sys
from importlib import import_module

from rushlight.launcher import main

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Let the system kill this process when its parent ends; no effect where the system cannot."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):
        return
    if os.getppid() == 1 and not import_module("rushlight._engine.core.settings").settings.agent:
        sys.exit("the launcher has ended")


if __name__ == "__main__":
    die_with_parent()
    main()
