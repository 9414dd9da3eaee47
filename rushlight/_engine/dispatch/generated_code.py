"""Generated Python: functions written as text, which tracebacks and debuggers show like any other, and the
tables of plans that hold them. Why fast paths are text: docs/decisions/08-generated-fast-paths.md.
"""

from __future__ import annotations

import atexit
import linecache
import marshal
from hashlib import sha256
from importlib.util import MAGIC_NUMBER
from types import CodeType, FunctionType
from typing import Any

from rushlight._engine.core import dtype as dt, settings
from rushlight._engine.kernels.runtime import cache
from rushlight._engine.ops.table import WIDE_DTYPES
from rushlight._engine.tensors.storages.storage import INFERRING, fresh
from rushlight._engine.tensors.tensor import Tensor

_MADE = """{t} = new(Tensor)
{t}._array = {a}
{t}._kind = {k}
{t}._grad_node = None
{t}._storage = fresh() if INFERRING else None
{t}._output_nr = 0
"""
MAKING: dict[str, Any] = {"new": object.__new__, "Tensor": Tensor, "INFERRING": INFERRING, "fresh": fresh}


def made(t: str, array: str, of: str, indent: int) -> str:
    """Lines of `t = wrap(array, of)`, written out, over the names of MAKING."""
    return "".join([" " * indent + line for line in _MADE.format(t=t, a=array, k=of).splitlines(True)])


def compile_function(text: str, name: str, scope: dict[str, Any], title: str | None = None) -> FunctionType:
    """The function `name` that `text` defines over the names of `scope`; `title` of its file."""
    file = f"<rushlight {title or name}>"
    scope.setdefault("__name__", "rushlight")
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(_compiled(text, file), scope)
    made = scope[name]
    if not isinstance(made, FunctionType):
        raise TypeError(f"compile_function(): {name!r} is a {type(made).__name__}, not a function")
    return made


# What this process compiled, to be kept for the next ones when it ends.
_fresh: dict[str, CodeType] = {}


def _compiled(text: str, file: str) -> CodeType:
    """The text's code: from the disk, in a seventh of the time, if a process of this Python compiled it."""
    name = sha256(b"\0".join([MAGIC_NUMBER, file.encode(), text.encode()])).hexdigest()[:40]
    found = cache.find(name)
    if found is not None:
        result: CodeType = marshal.loads(found)
        return result
    if not _fresh:
        atexit.register(_keep_fresh)
    _fresh[name] = code = compile(text, file, "exec")
    return code


def _keep_fresh() -> None:
    for name, code in _fresh.items():
        cache.keep(name, marshal.dumps(code))
    _fresh.clear()


def key(p: Any, n: str) -> str:
    """Code for what tells arguments called `n` of a parameter apart, but for numbers in tensors."""
    of = "{0}._kind, {0}._geometry.shape, {0}._geometry.strides"
    if p.is_list:  # mostly of two
        two = f"{of.format(f'{n}[0]')}, {of.format(f'{n}[1]')}"
        return f"({two}) if len({n}) == 2 else tuple([({of.format('t')}) for t in {n}])"
    if p.is_tensor and not p.takes_number:
        return of.format(n) if p.type == "Tensor" else f"{n} if {n} is None else ({of.format(n)})"
    if p.is_tensor:
        return f"({of.format(n)}) if {n}.__class__ in PLAIN else ({n}.__class__, {n} or repr({n}))"
    if p.plain_type in _EXACT:
        return n
    value = f"(*{n}, *map(type, {n})) if {n}.__class__ is list else " * (p.plain_type == "Any")
    return f"{n} is _default_{p.name} or ({value}{n} or repr({n}), {n}.__class__)"


# Attributes that are equal only if they are the same (0.0 and -0.0 are not).
_EXACT = frozenset(("int", "bool", "str", "int | Tensor", "Ints", "*Ints", "dtype"))


def forget(*plans: dict[Any, Any]) -> None:
    """Plans that hold for the default dtype and the settings."""
    for on_change in (dt.on_default_change, settings.on_change):
        on_change.extend([p.clear for p in plans])


def keep(plans: dict[Any, Any], key: Any, plan: Any) -> Any:
    """Note how a call is done; all is forgotten when there is very much. The plan."""
    if len(plans) > 1 << 13:
        plans.clear()
    if not WIDE_DTYPES.used:
        plans[key] = plan
    return plan
