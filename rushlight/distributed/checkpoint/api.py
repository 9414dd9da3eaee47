"""What went wrong, on which ranks."""

from __future__ import annotations

__all__ = ["CheckpointException"]


class CheckpointException(Exception):
    """What went wrong on which rank: `failures`, {rank: message}."""

    def __init__(self, message: str, failures: dict[int, str]) -> None:
        super().__init__(message + "".join(f"\n  rank {rank}: {text}" for rank, text in failures.items()))
        self.failures = failures
