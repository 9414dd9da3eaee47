"""The agent of this process."""

from __future__ import annotations

from typing import Any

_agent: list[Any] = []


def is_set() -> bool:
    """Whether there is one."""
    return bool(_agent)


def agent() -> Any:
    """It. RuntimeError where there is none."""
    if not _agent:
        raise RuntimeError(
            "Current RPC agent is not set! Did you initialize the RPC framework (e.g. by calling "
            "`rpc.init_rpc`)?"
        )
    return _agent[0]


def put(made: Any) -> None:
    """Make it that one."""
    _agent[:] = [made]


def reset() -> None:
    """There is none any more."""
    _agent.clear()
