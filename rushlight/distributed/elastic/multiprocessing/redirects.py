"""stdout and stderr of a process into files, also what C code and child processes write."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

_STREAMS = ("stdout", "stderr")


@contextmanager
def redirect(std: str, to_file: str) -> Iterator[None]:
    """What is written to a stream ("stdout" or "stderr") goes to a new file, for a block."""
    if std not in _STREAMS:
        raise ValueError(f"unknown standard stream <{std}>, must be one of {set(_STREAMS)}")
    libc = ctypes.CDLL(None)
    ours = getattr(sys, std)
    number = ours.fileno()

    def turn(target: int) -> None:
        libc.fflush(None)  # all that C holds back
        ours.flush()
        os.dup2(target, number)

    before = os.dup(number)
    try:
        with open(to_file, "w+b") as stream:
            turn(stream.fileno())
            try:
                yield
            finally:
                turn(before)
    finally:
        os.close(before)


redirect_stdout = partial(redirect, "stdout")
redirect_stderr = partial(redirect, "stderr")
