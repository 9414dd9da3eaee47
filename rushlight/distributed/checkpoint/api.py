"""What went wrong, on which ranks."""

from __future__ import annotations

import pickle
import traceback
from typing import Any

__all__ = ["CheckpointException"]
WRAPPED_EXCEPTION = tuple[BaseException, traceback.StackSummary]


def _wrap_exception(exc: BaseException) -> WRAPPED_EXCEPTION:
    """An exception and where it came from, to be sent to other ranks; in words, where it has no pickle."""
    try:
        pickle.loads(pickle.dumps(exc))
    except Exception:
        exc = RuntimeError(f"{type(exc).__name__}: {exc}").with_traceback(exc.__traceback__)
    summary = traceback.extract_tb(exc.__traceback__)
    for frame in summary:
        if hasattr(frame, "_code"):
            object.__setattr__(frame, "_code", None)  # which has no pickle
    return exc, summary


def _is_wrapped_exception(obj: Any) -> bool:
    return (
        isinstance(obj, tuple)
        and len(obj) == 2
        and isinstance(obj[0], BaseException)
        and isinstance(obj[1], traceback.StackSummary)
    )


class CheckpointException(BaseException):
    """What went wrong on which rank: `failures`, {rank: (exception, where it came from)}."""

    def __init__(self, msg: str, failures: dict[int, WRAPPED_EXCEPTION]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, WRAPPED_EXCEPTION]:
        """By rank."""
        return self._failures

    def __str__(self) -> str:
        found = f"CheckpointException ranks:{self._failures.keys()}\n"
        for rank, (error, where) in self._failures.items():
            found += f"Traceback (most recent call last): (RANK {rank})\n"
            found += "".join(traceback.format_list(where))
            found += "".join(traceback.format_exception_only(type(error), value=error))
        return found
