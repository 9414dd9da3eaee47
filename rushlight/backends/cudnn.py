"""torch.backends.cudnn: there is no cuDNN; its switches are kept."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rushlight.base.absent import functions

__path__: list[str] = []  # modules below it: base/nowhere.tsv

enabled, benchmark, deterministic, allow_tf32 = True, False, False, True
benchmark_limit = 10


globals().update(functions("backends.cudnn"))


@contextmanager
def flags(**values: bool) -> Iterator[None]:
    """Set switches (`enabled`, `benchmark`, `deterministic`, `allow_tf32`) within the block."""
    before = {name: globals()[name] for name in values}
    globals().update(values)
    try:
        yield
    finally:
        globals().update(before)
