"""Loggers by the caller's module (torch.distributed.elastic.utils.logging)."""

from __future__ import annotations

import logging
import os
import sys

from rushlight._engine.core.callers import warn
from rushlight.distributed.elastic.utils.log_level import get_log_level

__all__ = ["get_logger"]


def get_logger(name: str | None = None) -> logging.Logger:
    """A logger of a name, or of the caller's module; its level is LOGLEVEL's."""
    return _setup_logger(name or _derive_module_name(depth=2))


def _setup_logger(name: str | None = None) -> logging.Logger:
    logger = logging.getLogger(name)
    logger.setLevel(os.environ.get("LOGLEVEL", get_log_level()))
    return logger


def _derive_module_name(depth: int = 1) -> str | None:
    """The module of the function that is so many calls above this one; without one its file's name."""
    try:
        frame = sys._getframe(depth)
    except ValueError as error:
        warn(f"Error deriving logger module name, using <None>. Exception: {error}", RuntimeWarning)
        return None
    file = os.path.basename(frame.f_code.co_filename)
    return frame.f_globals.get("__name__") or os.path.splitext(file)[0]
