"""What makes compile() record a call again: the key of its arguments, and the guards of all else.

`key_of` tells arguments apart (dtype, device, shape, strides, requires_grad, which of them are one tensor or
share memory, the values of numbers): each key has a program of its own. `Guards` are the facts that a
recorded call took for granted: modules (their mode, options, parameters), the function's variables, the modes
of autograd. `Guards.failure` compares them before every replay and says which one no longer holds;
compiled.py then records anew.

A call that is matched, not replayed (matching.py), has no guards: its Python runs every time. There the key
of each op (`Region._describe`) decides, and an op with another key is a branch of the trace that is recorded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from operator import attrgetter, is_
from types import FunctionType, MethodType, ModuleType
from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.core.switches import switches
from rushlight._engine.dispatch.interpreters import MODES
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.effects.contents import SIMPLE, Contents, alike, is_module
from rushlight._engine.trace.recorder import root


def key_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Tensor], Any]:
    """(the tensors among the arguments, a key of all else that a program depends on); None as the key
    where an argument cannot be compared.
    """
    tensors: list[Tensor] = []
    parts: list[Any] = [LOCAL.enabled]
    for value in args:
        _describe(value, tensors, parts)
    for name, value in kwargs.items():
        parts.append(name)
        _describe(value, tensors, parts)
    if len(tensors) > 1:
        together = meetings(tensors)
        if together:
            parts.append(together)
    key = tuple(parts)
    try:
        hash(key)
    except TypeError:
        return tensors, None
    return tensors, key


def meetings(tensors: list[Tensor]) -> tuple[tuple[int, int], ...]:
    """(place of the first that lies in the same memory, place of the first that is the same tensor) for each
    tensor; empty where all lie in memory of their own.
    """
    owners = []
    for t in tensors:
        a: Any = t._memory
        owners.append(id(a if a.base is None else root(a)))
    if len(set(owners)) == len(owners):
        return ()
    same = [id(t) for t in tensors]
    return tuple([(owners.index(o), same.index(s)) for o, s in zip(owners, same, strict=True)])


def overlapping(tensors: list[Tensor]) -> bool:
    """Whether two different tensors share memory."""
    return any(owner != same for owner, same in meetings(tensors))


def _describe(value: Any, tensors: list[Tensor], parts: list[Any]) -> None:
    if isinstance(value, Tensor):
        memory, requires_grad = value._memory, value._grad_node is not None
        dtype_and_device = value._kind
        parts.append((dtype_and_device, memory.shape, memory.strides, requires_grad))
        tensors.append(value)
    elif isinstance(value, (list, tuple)):
        parts.append((type(value), len(value)))
        for item in value:
            _describe(item, tensors, parts)
    elif isinstance(value, dict):
        parts.append((dict, tuple(value)))
        for item in value.values():
            _describe(item, tensors, parts)
    else:
        parts.append((type(value), value))


def _count(container: Any) -> int:
    """How many entries a list, tuple or dict has, whatever its class says of its length."""
    plain: Any = next((c for c in (list, tuple, dict) if isinstance(container, c)), type(container))
    return int(plain.__len__(container))


class Guards:
    """The facts about one function's surroundings, read when they are made."""

    def __init__(self, function: Callable[..., Any] | None) -> None:
        self.tensors: list[tuple[Tensor, Any, bool]] = []  # a tensor, its memory, its requires_grad
        self.seen: list[tuple[str, Any]] = []  # every variable that the function may read
        self.facts: list[tuple[dict[str, Any], str, Any]] = []  # owner[name] is or equals value
        self.cells: list[tuple[Any, Any]] = []
        self.counts: list[tuple[Any, int]] = []
        self.modes = _modes()
        self._seen: set[int] = set()
        self.functions: set[FunctionType] = set()
        self.contents = Contents(self._look)
        self._columns: _Columns | None = None
        self._used: set[tuple[int, str, tuple[str, ...]]] = set()
        for value in self._variables(function):
            self._look(value)

    def failure(self) -> str:
        """Which fact no longer holds; empty if all do."""
        if _modes() != self.modes:
            pairs = zip(_MODE_CHANGES, self.modes, _modes(), strict=True)
            return next(text for text, before, now in pairs if before != now)
        columns = self._columns
        if columns is None or columns.made_of != (len(self.tensors), len(self.facts), len(self.counts)):
            columns = self._columns = _Columns(self)
        if not columns.tensors():
            return self._tensor()
        for get, names, values in columns.facts:
            if not all(map(is_, map(get, names, _MISSING), values)):
                for name, held, value in zip(names, map(get, names, _MISSING), values, strict=True):
                    if not alike(held, value):
                        return f"{name!r} is no longer {value!r:.60}"
        for cell, value in self.cells:
            held = cell.cell_contents
            if not alike(held, value):
                return "a variable of an enclosing function has changed"
        if [*map(len, columns.plain)] != columns.counts or any(_count(c) != n for c, n in columns.others):
            return "a module, a list of hooks or a container has got other entries"
        return self.contents.failure()

    def _tensor(self) -> str:
        """Which tensor is no longer as it was; empty if all are."""
        for t, memory, requires_grad in self.tensors:
            if t._memory is not memory:
                return f"a tensor of shape {tuple(t._memory.shape)} has got other memory"
            if (t._grad_node is not None) is not requires_grad:
                return f"requires_grad of a tensor of shape {tuple(t._memory.shape)} has changed"
        return ""

    def unguarded(self, args: Any) -> str:
        """What the call may read that cannot be guarded; empty if there is nothing."""
        # What is looked into may bring more.
        given = [("an argument", value) for value in args]
        for name, value in chain(iter(self.seen), given):
            if not self.contents.hold(value):
                kind = type(value).__name__
                return f"{name!r} is a {kind}, which may change unseen: pass what is needed of it"
        return ""

    def use(self, variables: dict[str, Any], name: str, attributes: tuple[str, ...]) -> None:
        """Guard a global that is read, and what is read of it if it is a module."""
        key = id(variables), name, attributes
        if name not in variables or key in self._used:
            return
        value = variables[name]
        self._used.add(key)
        self.facts.append((variables, name, value))
        if isinstance(value, ModuleType) and attributes and attributes[0] in vars(value):
            self.use(vars(value), attributes[0], attributes[1:])
            return
        self.seen.append((name, value))
        if is_module(value):
            self._look(value)

    def enclosed(self, name: str, cell: Any) -> None:
        """Guard a variable of an enclosing function."""
        if all(cell is not known for known, _ in self.cells):
            self.cells.append((cell, cell.cell_contents))
            self.seen.append((name, cell.cell_contents))

    def known(self) -> list[Tensor]:
        """The tensors whose memory the program may use."""
        return [t for t, _, _ in self.tensors]

    def globals_of(self, code: Any, variables: dict[str, Any]) -> list[Any]:
        """Guard the globals that a function's code names; their values."""
        names = _names(code) & variables.keys()
        self.facts += [(variables, name, variables[name]) for name in names]
        self.seen += [(name, variables[name]) for name in names]
        return [variables[name] for name in names]

    def _look(self, value: Any) -> None:
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        if isinstance(value, Tensor):
            self.tensors.append((value, value._memory, value._grad_node is not None))
        elif isinstance(value, (list, tuple)):
            # A program's class may have its own meaning of len().
            plain: Any = list if isinstance(value, list) else tuple
            self.counts.append((value, plain.__len__(value)))
            for item in plain.__iter__(value):
                if isinstance(item, (Tensor, list, tuple, dict)) or is_module(item):
                    self._look(item)
        elif isinstance(value, dict):
            self._dict(value)
        elif is_module(value):
            for module in value.modules():
                self._module(module)
        elif hasattr(type(value), "__guarded_tensors__"):  # a GradScaler, say
            self._look(value.__guarded_tensors__())

    def _dict(self, value: dict[Any, Any]) -> None:
        self.counts.append((value, dict.__len__(value)))
        for name, item in value.items():
            if isinstance(item, (*SIMPLE, Tensor)) or is_module(item):
                self.facts.append((value, name, item))
                self._look(item)

    def _module(self, module: Any) -> None:
        own = module.__dict__
        self.seen += self.contents.of_class(type(module))
        for name, value in own.items():
            if (isinstance(value, SIMPLE) and name != "_version") or name[0] != "_":
                self.facts.append((own, name, value))
                self.seen.append((name, value))
            if isinstance(value, Tensor) or (isinstance(value, (list, tuple)) and name[0] != "_"):
                self._look(value)
        for name, value in own.items():
            if (
                isinstance(value, dict)
                and name.startswith("_")
                and (name.endswith("_hooks") or name in ("_parameters", "_buffers", "_modules"))
            ):
                self.counts.append((value, len(value)))
                if not name.endswith("_hooks"):
                    self.facts += [(value, k, item) for k, item in value.items()]
                for item in value.values():
                    if isinstance(item, Tensor):
                        self._look(item)

    def _variables(self, function: Any) -> Iterator[Any]:
        """What a function can see: its object, its closure, the globals that its code names."""
        if isinstance(function, MethodType):
            yield function.__self__
            function = function.__func__
        if not isinstance(function, FunctionType):
            yield function
            return
        if function in self.functions or (function.__module__ or "").partition(".")[0] == "rushlight":
            return
        self.functions.add(function)
        found = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        self.seen += [("a default argument", value) for value in found]
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self.cells.append((cell, value))
            self.seen.append((name, value))
            found.append(value)
        for value in found + self.globals_of(function.__code__, function.__globals__):
            yield from self._variables(value) if isinstance(value, FunctionType) else (value,)


class _Columns:
    """The facts as columns, so that one `map` compares all of a kind, without a loop in Python.

    facts: for each owner (a dict) the function that looks up its names, these names, and their values.
    plain, counts: containers whose len() is their own, and the lengths that they had. others: the rest.
    made_of: how many tensors, facts and counts there were; with more, the columns are made anew.
    """

    def __init__(self, guards: Guards) -> None:
        self.made_of = len(guards.tensors), len(guards.facts), len(guards.counts)
        self._tensors = [t for t, _, _ in guards.tensors]
        self._memories = [memory for _, memory, _ in guards.tensors]
        self._tracked = [tracked for _, _, tracked in guards.tensors]
        owners: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        for owner, name, value in guards.facts:
            owners.setdefault(id(owner), (owner, {}))[1][name] = value
        self.facts = [(owner.get, (*of,), (*of.values(),)) for owner, of in owners.values()]
        # What has no meaning of its own of len().
        plain = {id(c): (c, n) for c, n in guards.counts if type(c) in (list, tuple, dict, OrderedDict)}
        self.plain, self.counts = [c for c, _ in plain.values()], [n for _, n in plain.values()]
        self.others = [(c, n) for c, n in guards.counts if id(c) not in plain]

    def tensors(self) -> bool:
        """Whether they have the memory that they had, and require a gradient as they did."""
        return (
            all(map(is_, map(_MEMORY, self._tensors), self._memories))
            and [g is not None for g in map(_NODE, self._tensors)] == self._tracked
        )


_MEMORY, _NODE = attrgetter("_memory"), attrgetter("_grad_node")
# What the look-up of a name that is gone answers: an object that is no fact's value. As an endless iterator,
# it is `map`'s second argument of dict.get.
_MISSING = repeat(object())


class VisibleTensors(Guards):
    """Only the tensors that a function can see."""

    def _module(self, module: Any) -> None:
        for t in (*module._parameters.values(), *module._buffers.values()):
            self._look(t)


# What has changed, for each of `_modes()`.
_MODE_CHANGES = (
    "the mode of autograd (no_grad, enable_grad) has changed",
    "inference_mode has been entered or left",
    "autocast, or another interpreter of ops, has been entered or left, or has another dtype",
    "a default (dtype, device) or the switch of deterministic algorithms has changed",
)


def _modes() -> tuple[Any, ...]:
    """What a recorded call depends on beside its arguments and variables: whether autograd records, inference
    mode, the dtypes that interpreters cast to, and the process's switches.
    """
    # An interpreter that only watches (a profiler) changes nothing; autocast's has a dtype.
    interpreters = [getattr(mode, "dtype", None) for mode in MODES if not getattr(mode, "watches", False)]
    return LOCAL.enabled, LOCAL.inference, interpreters, switches()


def _names(code: Any) -> set[str]:
    """What a function's code names, and that of functions in it."""
    return {*code.co_names}.union(*[_names(inner) for inner in code.co_consts if hasattr(inner, "co_names")])
