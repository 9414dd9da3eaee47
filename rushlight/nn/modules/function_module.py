"""Modules that are some options and one call of torch.nn.functional: declared, not written out.

    class ELU(FunctionModule, function="elu", alpha=1.0, inplace=False):

is short for a Module with

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None: ...
    def forward(self, input: Any) -> Any:
        return F.elu(input, self.alpha, self.inplace)

and with the `extra_repr` and `__constants__` that go with them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.dispatch.generated_code import compile_function
from rushlight.nn import functional as F
from rushlight.nn.modules.module import Module

# Options that are one number, or one for each dim.
_SIZES = frozenset(("stride", "padding", "dilation"))
# Arguments of losses that their __init__ turns into `reduction`.
_FOLDED = frozenset(("size_average", "reduce"))


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

    _function: str | None = None
    _dims: int
    _inputs = "input"
    # The names of the options; of those that the function gets.
    _options: tuple[str, ...] = ()
    _passed: tuple[str, ...] | None = None
    # What extra_repr shows instead of all options: "size, eps=" is the value of size, and eps=VALUE.
    _shown: str | None = None
    _by_name = False
    _handed: tuple[str, ...] = ()
    _keyword_only: tuple[str, ...] = ()
    # Whether each member of a family has an __init__, which errors name, or the family has one.
    _members_init = False
    _init: Callable[[], str]

    def __init_subclass__(cls, **said: Any) -> None:
        if not said.keys() & {"function", "dims"}:
            super().__init_subclass__(**said)
            return
        super().__init_subclass__()
        for name in ("function", "dims", "inputs"):
            if name in said:
                setattr(cls, f"_{name}", said.pop(name))
        if "__init__" in vars(cls) or said:
            cls._options = tuple(name for name in said or _arguments(cls) if name not in cls._handed)
            if said and "__constants__" not in vars(cls):
                cls.__constants__ = [name for name in cls._options if name not in _FOLDED]
        if said:
            cls._init = staticmethod(lambda: _init_text(cls, said))
        if said or (cls._members_init and "__init__" not in vars(cls)):
            _Written(cls, "__init__", cls._init)
        if cls._function and (hasattr(cls, "_dims") or "{}" not in cls._function):
            cls._function = cls._function.format(getattr(cls, "_dims", None))
            if cls.forward is Module.forward:
                _Written(cls, "forward", lambda: _forward_text(cls))

    def extra_repr(self) -> str:
        """The options with their names: `inplace` only where it is set, of `bias` whether there is one."""
        parts = [f"{name}=" for name in self._options] if self._shown is None else self._shown.split(", ")
        return ", ".join(_text(self, part) for part in parts if part and (part != "inplace=" or self.inplace))


# How docstrings of families speak of 1, 2 and 3 dims: what stands for {space} and {last}.
_SPACE = {1: "L", 2: "H, W", 3: "D, H, W"}
_LAST = {1: "the last dim", 2: "the last two dims", 3: "the last three dims"}


def members(base: Any, *dims: int) -> list[Any]:
    """MaxPool1d, ... of `_MaxPoolNd`: one for each number of dims, with the base's docstring filled in."""
    name = base.__name__.strip("_").removesuffix("Nd")

    def member(n: int) -> Any:
        images = f"(N, C, {_SPACE[n]}) or (C, {_SPACE[n]})"
        doc = base.__doc__.format(n=n, images=images, space=_SPACE[n], last=_LAST[n])
        return type(base)(f"{name}{n}d", (base,), {"__module__": base.__module__, "__doc__": doc}, dims=n)

    return [*map(member, dims)]


def declared(file: str, *bases: type[FunctionModule]) -> dict[str, Any]:
    """The modules of a file (its __name__) that are rows of nn/declared.tsv: classes by name.

    A row has the last part of the file's name, the class's name (of a family: its base's, and the numbers of
    dims), which of `bases` it has (empty: FunctionModule), what stands in the brackets after it, the
    attributes, the docstring.
    """
    made = {}
    for home, names, base, said, attributes, doc in _rows():
        if file.endswith(f".{home}"):
            name, *dims = names.split()
            of = next((b for b in bases if b.__name__ == base), FunctionModule)
            body = {"__module__": file, "__doc__": doc.replace("\\n", "\n"), **_named(attributes)}
            made[name] = type(of)(name, (of,), body, **_named(said))
            made.update((member.__name__, member) for member in members(made[name], *map(int, dims)))
    return made


@functools.cache
def _rows() -> list[list[str]]:
    with open(os.path.join(os.path.dirname(__file__), os.pardir, "declared.tsv"), encoding="utf-8") as table:
        return [line.rstrip("\n").split("\t") for line in table]


def _named(text: str) -> dict[str, Any]:
    """Names and values, written as Python's keyword arguments are."""
    return eval(f"dict({text})", {"Any": Any}) if text else {}


class _Written:
    """A method that is written when it is first looked up: most classes are never used."""

    def __init__(self, home: type, name: str, text: Callable[[], str]) -> None:
        self.home, self.name, self.text = home, name, text
        setattr(home, name, self)

    def __get__(self, instance: Any, owner: Any) -> Any:
        home = self.home
        scope = {
            "F": F,
            "torch": torch,
            "Any": Any,
            "__name__": home.__module__,
            **{base.__name__: base for base in home.__mro__},
        }
        method = compile_function(self.text(), self.name, scope, f"{home.__name__}.{self.name}")
        method.__qualname__ = f"{home.__qualname__}.{self.name}"
        setattr(home, self.name, method)
        return method.__get__(instance, owner)


def _text(module: Any, part: str) -> str:
    value = getattr(module, part.rstrip("="))
    value = value is not None if part == "bias=" else value
    return (part if "=" in part else "") + (repr(value) if isinstance(value, str) else str(value))


def _arguments(cls: type) -> tuple[str, ...]:
    """The names of the arguments of a class's __init__."""
    code = cls.__init__.__code__  # type: ignore[misc]
    return code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]


def _init_text(cls: type[FunctionModule], options: dict[str, Any]) -> str:
    """An __init__ that stores the options; those of the base class's __init__ go there."""
    base: Any = cls.__mro__[1]
    inherited = [name for name in _arguments(base) if name in options]
    types = {**base.__init__.__annotations__, **vars(cls).get("__annotations__", {})}
    written = [_argument(name, default, types.get(name)) for name, default in options.items()]
    keywords = [name for name in options if name in cls._keyword_only]
    if keywords:
        written.insert(len(options) - len(keywords), "*")
    kept = [name for name in options if name not in inherited]
    handed = [name for name in kept if name in cls._handed]
    passed = ", ".join(f"{name}={name}" for name in inherited)
    lines = [
        f"def __init__(self, {', '.join(written)}) -> None:",
        f"    super({cls.__name__}, self).__init__({passed})",
        *(f"    self.{name} = {name}" for name in kept if name not in handed),
    ]
    if hasattr(cls, "_post_init") and (handed or not cls._handed):
        lines.append(f"    {cls.__name__}._post_init({', '.join(['self', *handed])})")
    return "\n".join(lines) + "\n"


def _argument(name: str, default: Any, annotation: str | None) -> str:
    if default is Any or isinstance(default, type):
        return f"{name}: {'Any' if default is Any else default.__name__}"
    annotation = annotation or ("Any" if default is None or name in _SIZES else type(default).__name__)
    return f"{name}: {annotation} = {default!r}"


def _forward_text(cls: type[FunctionModule]) -> str:
    """A forward that calls the function with the inputs and the options."""
    inputs = cls._inputs.split(", ")
    names = [n for n in cls._options if n not in _FOLDED] if cls._passed is None else cls._passed
    passed = [f"{name}=self.{name}" if cls._by_name else f"self.{name}" for name in names]
    function = str(cls._function)
    function = function if "." in function else f"F.{function}"
    return (
        f"def forward(self, {', '.join(f'{name}: Any' for name in inputs)}) -> Any:\n"
        f"    return {function}({', '.join((*inputs, *passed))})\n"
    )
