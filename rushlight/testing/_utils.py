"""What tests of random ops share: they draw, and leave the generators as they found them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import rushlight as torch

T = TypeVar("T")


def wrapper_set_seed(op: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """op(...) with the generators started at 42, which afterwards are as before."""
    with freeze_rng_state():
        torch.manual_seed(42)
        return op(*args, **kwargs)


@contextmanager
def freeze_rng_state() -> Iterator[None]:
    """What is drawn inside is not missing outside: on the CPU, and on the current CUDA device."""
    cpu = torch.get_rng_state()
    cuda = torch.cuda.get_rng_state() if torch.cuda.is_available() else None
    try:
        yield
    finally:
        if cuda is not None:
            torch.cuda.set_rng_state(cuda)
        torch.set_rng_state(cpu)
