"""torch.distributed.rpc, as PyTorch has it where it was built without it: only to ask whether it is there."""

from __future__ import annotations

from typing import Any

__path__: list[str] = []  # modules below it: names/placeholders.tsv


def is_available() -> bool:
    """False: remote calls are not implemented; send, recv and objects of torch.distributed carry messages."""
    return False


def __getattr__(name: str) -> Any:
    # for the error alone
    from rushlight._engine.names.alternatives import attribute

    return attribute("rushlight.distributed.rpc", name)
