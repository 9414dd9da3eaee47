"""torch.export._patches: contexts in which recurrent layers can be exported for sequences of any length."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["register_gru_while_loop_decomposition", "register_lstm_while_loop_decomposition"]


@contextmanager
def register_lstm_while_loop_decomposition() -> Iterator[None]:
    """Nothing to do: an LSTM is one op of the program, of sequences of any length; PyTorch's has a loop."""
    yield


@contextmanager
def register_gru_while_loop_decomposition() -> Iterator[None]:
    """Nothing to do: nor is a GRU taken apart."""
    yield
