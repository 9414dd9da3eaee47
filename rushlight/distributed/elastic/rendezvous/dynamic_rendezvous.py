"""What agents of a program's own that come and go meet at: the backend that keeps their state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["RendezvousBackend", "Token"]
Token = Any  # of a state: who gives the newest one may replace the state


class RendezvousBackend(ABC):
    """Where the state of a rendezvous lies, which one node replaces at a time."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name."""

    @abstractmethod
    def get_state(self) -> tuple[bytes, Token] | None:
        """The state and its token; None where there is none."""

    @abstractmethod
    def set_state(self, state: bytes, token: Token | None = None) -> tuple[bytes, Token, bool] | None:
        """Replace the state that has this token, or none; the state then, its token, whether it is ours."""
