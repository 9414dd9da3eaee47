"""torch.distributed.autograd, as where PyTorch was built without rpc: only to ask whether it is there."""

from __future__ import annotations

from typing import Any

__path__: list[str] = []  # modules below it: names/placeholders.tsv


def is_available() -> bool:
    """False: gradients through remote calls are not implemented."""
    return False


def __getattr__(name: str) -> Any:
    # for the error alone
    from rushlight._engine.names.alternatives import attribute

    return attribute("rushlight.distributed.autograd", name)
