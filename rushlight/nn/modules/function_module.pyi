# Written by `python tools/stubs.py`.
"""Modules that are some options and one call of torch.nn.functional: declared, not written out.

    class ELU(FunctionModule, function="elu", alpha=1.0, inplace=False):

is short for a Module with

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None: ...
    def forward(self, input: Any) -> Any:
        return F.elu(input, self.alpha, self.inplace)

and with the `extra_repr` and `__constants__` that go with them.
"""
from collections.abc import Callable
from rushlight.nn.modules.module import Module
from typing import Any

class FunctionModule(Module):
    """The base of declared modules; a subclass says, in the brackets after its name:

    function: of torch.nn.functional, or a dotted name; "max_pool{}d" has the number of dims put in.
    dims: how many, for the members of a family. inputs: forward's arguments, "input" by default.
    All others are options: NAME=DEFAULT, or NAME=TYPE for one that must be given. A default's type
    is the option's, unless the class annotates it.

    Methods that are defined in the class are kept; `_post_init` is called at the end of __init__, with the
    options that the class says are `_handed` on to it and not stored.
    Classes that say nothing (users' own) are left alone.
    """

    def extra_repr(self) -> str:
        """The options with their names: `inplace` only where it is set, of `bias` whether there is one."""
class _Written:
    """A method that is written when it is first looked up: most classes are never used."""

    home: type
    name: str
    text: Callable[[], str]
    def __init__(self, home: type, name: str, text: Callable[[], str]) -> None: ...
    def __get__(self, instance: Any, owner: Any) -> Any: ...
def _argument(name: str, default: Any, annotation: str | None) -> str: ...
def _arguments(cls: type) -> tuple[str, ...]:
    """The names of the arguments of a class's __init__."""
def _forward_text(cls: type[FunctionModule]) -> str:
    """A forward that calls the function with the inputs and the options."""
def _init_text(cls: type[FunctionModule], options: dict[str, Any]) -> str:
    """An __init__ that stores the options; those of the base class's __init__ go there."""
def _named(text: str) -> dict[str, Any]:
    """Names and values, written as Python's keyword arguments are."""
def _text(module: Any, part: str) -> str: ...
def declared(file: str, *bases: type[FunctionModule]) -> dict[str, Any]:
    """The modules of a file (its __name__) that are rows of nn/declared.tsv: classes by name.

    A row has the last part of the file's name, the class's name (of a family: its base's, and the numbers of
    dims), which of `bases` it has (empty: FunctionModule), what stands in the brackets after it, the
    attributes, the docstring.
    """
def members(base: Any, *dims: int) -> list[Any]:
    """MaxPool1d, ... of `_MaxPoolNd`: one for each number of dims, with the base's docstring filled in."""
