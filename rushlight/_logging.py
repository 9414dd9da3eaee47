"""torch._logging: which of compile()'s decisions are printed, by TORCH_LOGS or set_logs()."""

from __future__ import annotations

import logging
import os
from typing import Any, TextIO

__path__: list[str] = []  # modules below it: names/placeholders.tsv

ARTIFACTS = ("graph_breaks", "recompiles")
_ALL = ("dynamo", "all", "inductor", "aot", "dynamic")


def set_logs(**artifacts: Any) -> None:
    """Print what an artifact (graph_breaks, recompiles) logs to standard error, or no longer.

    Other names of PyTorch's are taken and change nothing. set_logs() goes back to what TORCH_LOGS says.
    """
    if not artifacts:
        artifacts = {name: True for name in _asked()} or dict.fromkeys(ARTIFACTS, False)
    for name, on in artifacts.items():
        for own in ARTIFACTS if name in _ALL else (name,) if name in ARTIFACTS else ():
            _switch(logging.getLogger(f"rushlight.trace.{own}"), bool(on))


def _switch(log: logging.Logger, on: bool) -> None:
    log.setLevel(logging.INFO if on else logging.NOTSET)
    for handler in [h for h in log.handlers if isinstance(h, _Handler)]:
        log.removeHandler(handler)
    if on:
        log.addHandler(_Handler())


class _Handler(logging.StreamHandler[TextIO]):
    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("[%(name)s] %(message)s"))


def _asked() -> list[str]:
    """The names in TORCH_LOGS, those behind a minus sign left out."""
    names = [n.strip().lstrip("+") for n in os.environ.get("TORCH_LOGS", "").split(",")]
    return [n for n in names if n and not n.startswith("-")]


set_logs()
