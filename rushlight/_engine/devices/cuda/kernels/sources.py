"""What a kernel is made of: how its text is written for a target, and how many arguments it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rushlight._engine.devices.cuda.device import NotServed
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.target import Unsupported


@dataclass(frozen=True)
class Source:
    """write(*arguments, target) gives (LLVM IR of @kernel, its barriers) for "nvptx" or "simulated".

    pointers, numbers: how many parameters of each kind the kernel has, pointers first.
    """

    write: Callable[..., tuple[str, int]]
    arguments: tuple[Any, ...]
    pointers: int
    numbers: int
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.write, self.arguments, self.pointers, self.numbers)))

    def __hash__(self) -> int:
        return self._hash

    def text(self, kind: str) -> tuple[str, int]:
        """(LLVM IR, barriers). NotServed where there is no code for what it computes."""
        if not target.available():
            raise NotServed("kernels need the package llvmlite")
        try:
            return self.write(*self.arguments, kind)
        except Unsupported as error:
            raise NotServed(str(error)) from None
