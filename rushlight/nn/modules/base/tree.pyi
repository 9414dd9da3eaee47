# Written by `python tools/stubs.py`.
"""A module as a tree: walking it, finding members by path, applying functions, printing it."""
from collections.abc import Callable, Iterator
from rushlight import Tensor
from rushlight.nn.modules.base.tables import Tables
from rushlight.nn.modules.module import Module
from rushlight.nn.parameter import Parameter
from typing import Any, Self

class Tree(Tables):
    """The part of Module that deals with its children and all members below."""

    def __repr__(self) -> str: ...
    def apply(self, fn: Callable[[Any], None]) -> Self:
        """Call `fn(module)` on every module below and then on this one; returns this module."""
    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once, in order of registration; without `recurse`, this module's own."""
    def children(self) -> Iterator[Module]:
        """The direct children, each once."""
    def eval(self) -> Self:
        """Set evaluation mode here and below, as train(False) does; returns this module."""
    def extra_repr(self) -> str:
        """What stands between the brackets of this module's line in repr()."""
    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path; AttributeError where there is none."""
    def get_parameter(self, target: str) -> Parameter:
        """The Parameter at a dotted path; AttributeError where there is none."""
    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path; AttributeError where there is none."""
    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below, each once."""
    def named_buffers(self, prefix: str = '', recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """(dotted path, buffer) pairs."""
    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, child) pairs, each child once."""
    def named_modules(self, memo: set[Any] | None = None, prefix: str = '', remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """(dotted path, module) pairs, this module first; `memo` holds those already seen."""
    def named_parameters(self, prefix: str = '', recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """(dotted path, parameter) pairs, `prefix` before the paths; each parameter once unless
        remove_duplicate is False.
        """
    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once, in order of registration; without `recurse`, this module's own."""
    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Let autograd track all parameters, or none; returns this module."""
    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a dotted path; `strict` demands that one is there already."""
    def train(self, mode: bool = True) -> Self:
        """Set training mode here and below: what Dropout, BatchNorm, ... look at; returns this module."""
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters; without `set_to_none`, fill them with zeros."""
def _addindent(text: str, spaces: int) -> str: ...
def _member(module: Any, name: str) -> Any: ...
