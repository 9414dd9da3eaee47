"""Names in graphs: unique ones for nodes, and what a function is called in the text of a program."""

from __future__ import annotations

import builtins
import inspect
import keyword
import re
from typing import Any

_REFLECTABLE = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "floordiv": "//",
    "truediv": "/",
    "mod": "%",
    "pow": "**",
    "lshift": "<<",
    "rshift": ">>",
    "and_": "&",
    "or_": "|",
    "xor": "^",
    "matmul": "@",
}
REFLECTABLE = {name: f"{{}} {sign} {{}}" for name, sign in _REFLECTABLE.items()} | {"getitem": "{}[{}]"}
MAGIC = REFLECTABLE | {
    "eq": "{} == {}",
    "ne": "{} != {}",
    "lt": "{} < {}",
    "gt": "{} > {}",
    "le": "{} <= {}",
    "ge": "{} >= {}",
    "pos": "+{}",
    "neg": "-{}",
    "invert": "~{}",
}
INPLACE = {f"i{name.rstrip('_')}": f"{{}} {sign}= {{}}" for name, sign in _REFLECTABLE.items()} | {
    "setitem": "{}[{}] = {}"
}
_WORD = re.compile(r"([a-zA-Z_][0-9a-zA-Z_]*?)(?:_(\d+))?")


def _parts(name: str) -> tuple[str, str | None]:
    """A name without its number, and the number."""
    found = _WORD.fullmatch(name)
    return (found[1], found[2]) if found is not None else (name, None)


class Namespace:
    """Names that have been given out; each object keeps its own."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self._counts: dict[str, int] = {}
        self._of: dict[Any, str] = {}

    def create_name(self, candidate: str, obj: Any = None) -> str:
        """A name like `candidate` that nobody has, or the one that `obj` got before."""
        if obj is not None and obj in self._of:
            return self._of[obj]
        candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        candidate = f"_{candidate}" if candidate[0].isdigit() else candidate
        base, ending = _parts(candidate)
        if ending is None or candidate in self.used:
            number = self._counts.get(base, 0)
            if _taken(candidate, obj):
                number += 1
                candidate = f"{base}_{number}"
        else:
            number = int(ending)
        while candidate in self.used:
            number += 1
            candidate = f"{base}_{number}"
        self.used.add(candidate)
        self._counts[base] = number
        if obj is not None:
            self._of[obj] = candidate
        return candidate


_GLOBALS = ("inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree")


def _taken(name: str, obj: Any) -> bool:
    if keyword.iskeyword(name):
        return True
    known = getattr(builtins, name, Namespace)
    return (name in _GLOBALS and obj is None) or (known is not Namespace and known is not obj)


def name_of(target: Any) -> str:
    """A target's own name; an op's is the one that programs know."""
    if isinstance(target, str):
        return target
    name: str = getattr(target, "__name__", type(target).__name__)
    return name


def suggested(target: Any) -> str:
    """What a node with this target is called, but for a number."""
    name = name_of(target)
    if isinstance(target, str) and re.fullmatch(r"__.+__", name):
        name = name[2:-2]
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


def typename(of: Any) -> str:
    """A type as annotations spell it."""
    if of is None:
        return "None"
    if not isinstance(of, type):
        return str(of).replace("rushlight", "torch")
    module = public(of.__module__)
    return of.__qualname__ if module == "builtins" else f"{module}.{of.__qualname__}"


def public(module: str | None) -> str:
    """The name under which programs know a module."""
    return re.sub(r"^rushlight\b", "torch", module or "")


def qualified(function: Any) -> str:
    """What a function is called in a program's text: `torch.nn.functional.relu`, `operator.add`."""
    name = name_of(function)
    if getattr(builtins, name, None) is function:
        return name
    if hasattr(function, "_schema") or hasattr(function, "_qualified_op_name"):
        return f"torch.ops.{function}"
    if name == "<lambda>":
        try:
            name = inspect.getsource(function).split("=")[0].strip()
        except (OSError, TypeError) as error:
            raise RuntimeError("Unable to represent lambda") from error
    module = public(function.__module__)
    if getattr(function, "__qualname__", "") == f"Tensor.{name}":
        module = "torch.Tensor"
    module = "torch" if module.startswith("torch.toplevel.") else module
    return f"{module}.{name}"
