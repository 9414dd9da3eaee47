"""Who writes exceptions down."""

from __future__ import annotations

from rushlight.distributed.elastic.multiprocessing.errors.error_handler import ErrorHandler

__all__ = ["get_error_handler"]


def get_error_handler() -> ErrorHandler:
    """A new handler."""
    return ErrorHandler()
