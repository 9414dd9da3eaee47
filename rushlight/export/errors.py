"""What export raises, under PyTorch's names."""

from __future__ import annotations


class UserError(RuntimeError):
    """The caller's description of the inputs does not fit the program."""


class GuardOnDataDependentSymNode(RuntimeError):
    """The program looks at a tensor's numbers, which an exported program does not know."""
