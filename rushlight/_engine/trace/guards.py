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

import itertools
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from enum import Enum
from functools import cache, partial
from itertools import chain, compress, repeat
from operator import attrgetter, is_
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.core.switches import switches
from rushlight._engine.dispatch.interpreters import MODES, PLAIN
from rushlight._engine.lazy import LazyPackage, is_ours, names_of
from rushlight._engine.tensors import slots
from rushlight._engine.tensors.kind import Kind
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.tensors.watches import Watch
from rushlight._engine.trace.effects.contents import SIMPLE, Contents, alike, built_on, is_module, shown
from rushlight._engine.trace.recorder import root

# Marks the part of a key that says which object it was.
_SAME = "is"


def key_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Tensor], Any]:
    """(the tensors among the arguments, a key of all else that a program depends on); None as the key
    where an argument cannot be compared, or is a container that holds itself. A program's own class may
    raise anything where it is asked for its hash or its attributes.
    """
    tensors: list[Tensor] = []
    parts: list[Any] = [LOCAL.enabled]
    plain = not kwargs  # whether all are tensors, of which there is a key
    try:
        for value in args:
            kind: Any = type(value)
            if kind in PLAIN and not value.__dict__:
                parts.append(_facts(value))
                tensors.append(value)
            else:
                plain = False
                _describe(value, tensors, parts)
        for name, value in kwargs.items():
            parts.append(name)
            _describe(value, tensors, parts)
        if len(tensors) > 1:
            together = meetings(tensors)
            if together:
                parts.append(together)
        key = tuple(parts)
        if not plain:
            hash(key)
    except Exception:
        return tensors, None
    return tensors, key


def meetings(tensors: list[Tensor]) -> tuple[tuple[int, int], ...]:
    """(place of the first that lies in the same memory, place of the first that is the same tensor) for each
    tensor; empty where all lie in memory of their own.
    """
    owners = []
    for t in tensors:
        a: Any = t._memory
        base = a.base
        if base is None:
            owners.append(id(a))
        else:  # the bytes that a storage has, as is usual
            plain = base.__class__ is np.ndarray and base.base is None
            owners.append(id(base if plain else root(a)))
    if len(set(owners)) == len(owners):
        return ()
    same = [id(t) for t in tensors]
    return tuple([(owners.index(o), same.index(s)) for o, s in zip(owners, same, strict=True)])


def overlapping(tensors: list[Tensor]) -> bool:
    """Whether two different tensors share memory."""
    return any(owner != same for owner, same in meetings(tensors))


def _facts(t: Tensor) -> tuple[Any, ...]:
    """What a program depends on in a tensor: its class, dtype, device, layout, and whether it is tracked."""
    memory, s = t._memory, t._storage
    inference = s is not None and s.inference
    return t.__class__, t._kind, memory.shape, memory.strides, t._grad_node is not None, inference


def _describe(value: Any, tensors: list[Tensor], parts: list[Any]) -> None:
    # What it is, whatever it says of itself: a proxy has another object's `__class__`.
    cls: Any = type(value)
    if issubclass(cls, Tensor):
        parts.append(_facts(value))
        tensors.append(value)
        _describe_own(value, parts)
    elif issubclass(cls, (list, tuple)):
        parts.append((cls, _count(value)))
        for item in _each(value, cls):
            _describe(item, tensors, parts)
        _describe_own(value, parts)
    elif issubclass(cls, dict):
        names = tuple(_each(value, cls))
        parts.append((cls, names, tuple(map(type, names))))
        for name in names:
            _describe(dict.__getitem__(value, name), tensors, parts)
        _describe_own(value, parts)
    elif cls is float:
        parts.append((cls, value if value else str(value)))
    elif cls in SIMPLE or issubclass(cls, Enum) or is_ours(cls):
        parts.append((cls, value if cls is not complex else repr(value)))
    elif issubclass(cls, np.generic):
        parts.append((cls, value.tobytes(), value.dtype))  # a date's has a unit
    elif cls is frozenset and all([type(item) in SIMPLE for item in value]):
        parts.append((cls, frozenset([(type(item), item) for item in value])))
    elif _is_frozen(cls):
        parts.append((cls, len(vars(value))))
        _describe(vars(value), tensors, parts)
    else:
        hash(value)
        # What its class takes for equal may differ in what a program reads of it.
        parts.append((cls, id(value), _SAME))


def _describe_own(value: Any, parts: list[Any]) -> None:
    """What a program has set on a tensor or a container; something without a hash where that is no plain
    value.
    """
    for name, item in getattr(value, "__dict__", _NONE).items():
        cls = item.__class__
        parts.append((name, cls, str(item) if cls in (float, complex) else item) if cls in SIMPLE else [])


def _is_frozen(cls: type) -> bool:
    """Whether all that its objects hold is in fields that nobody assigns to."""
    params = getattr(cls, "__dataclass_params__", None)
    return params is not None and params.frozen and not hasattr(cls, "__slots__")


def difference(known: tuple[Any, ...], key: tuple[Any, ...]) -> str:
    """In which argument two keys (`key_of`) differ first, in PyTorch's words."""
    if known[0] != key[0]:
        return f"grad mode mismatch. expected {known[0]}, actual {key[0]}"
    numbers = itertools.count()
    for old, new in zip(known[1:], key[1:], strict=False):
        both = is_tensor(old) + is_tensor(new)
        number = next(numbers) if both else None
        if old == new:
            continue
        if both == 2:
            return f"tensor {number} {_tensors_differ(old, new)}"
        if type(old) is type(new) is tuple and len(old) == len(new) == 2:
            return f"an argument was {shown(old[1])} and is {shown(new[1])}"
        break
    return "other arguments than before, or another order of them"


def outline(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """What is left of a key without sizes: shapes, strides, and integers, of which sizes are made."""
    return tuple(
        [
            (part[0], part[1], len(part[2]), *part[4:])
            if is_tensor(part)
            else part[:1]
            if type(part) is tuple and len(part) == 2 and part[0] is int
            else part
            for part in key
        ]
    )


def likeness(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """What is left of a key without the identities of objects."""
    return tuple([part[:1] if type(part) is tuple and part[-1:] == (_SAME,) else part for part in key])


def is_tensor(part: Any) -> bool:
    """Whether a part of a key tells of a tensor."""
    return type(part) is tuple and len(part) == 6 and isinstance(part[1], Kind)


def _tensors_differ(old: tuple[Any, ...], new: tuple[Any, ...]) -> str:
    cls, kind, shape, strides, grad, inference = old
    cls_now, kind_now, shape_now, strides_now, grad_now, _ = new
    if cls is not cls_now:
        return f"type mismatch. expected {cls.__name__}, actual {cls_now.__name__}"
    if kind.dtype is not kind_now.dtype:
        return f"dtype mismatch. expected {kind.dtype.legacy}, actual {kind_now.dtype.legacy}"
    if kind is not kind_now:
        return f"device mismatch. expected {kind.device}, actual {kind_now.device}"
    if len(shape) != len(shape_now):
        return f"rank mismatch. expected {len(shape)}, actual {len(shape_now)}"
    itemsize = kind.dtype.itemsize
    for word, unit, were, are in (("size", 1, shape, shape_now), ("stride", itemsize, strides, strides_now)):
        for dim, (was, now) in enumerate(zip(were, are, strict=True)):
            if was != now:
                return f"{word} mismatch at index {dim}. expected {was // unit}, actual {now // unit}"
    if grad != grad_now:
        return f"requires_grad mismatch. expected requires_grad={int(grad)}"
    return f"inference mismatch. expected inference={int(inference)}"


def _count(container: Any) -> int:
    """How many entries a list, tuple or dict has, whatever its class says of its length."""
    return int(built_on(type(container)).__len__(container))


def _each(container: Any, cls: type) -> Iterator[Any]:
    """The items of a list or tuple, or the keys of a dict, whatever its class says of them."""
    return iter(built_on(cls).__iter__(container))


class _Gone:
    """Stands (the class itself) for the value of a name that is not there; no program has it as a value."""


class Guards:
    """The facts about one function's surroundings, read when they are made."""

    def __init__(self, function: Callable[..., Any] | None) -> None:
        self.tensors: list[tuple[Tensor, Any, bool]] = []  # a tensor, its memory, its requires_grad
        self.seen: list[tuple[str, Any]] = []  # every variable that the function may read
        # Python's modules among them: what is read of these `use` is told, where instructions are followed.
        self.modules: list[tuple[str, Any]] = []
        self.facts: list[tuple[Any, str, Any]] = []  # owner[name] is or equals value
        self.cells: list[tuple[Any, Any]] = []
        self.counts: list[tuple[Any, int]] = []
        self.layers: list[dict[str, Any]] = []  # what layers have
        # Functions that ran, as they were.
        self.ran: list[tuple[FunctionType, tuple[Any, ...]]] = []
        self.modes = _modes()
        self._seen: set[int] = set()
        self.functions: set[FunctionType] = set()
        # What the code that ran mentions: attributes, globals, strings.
        self.mentioned: set[str] = set()
        self.contents = Contents(self._look, self.facts)
        self._columns: _Columns | None = None
        self._attributed: set[Tensor] = set()
        self._used: set[tuple[int, str, tuple[str, ...]]] = set()
        for value in self._variables(function):
            self._look(value)
            self.contents.hold(value)  # with the tensors in it

    def failure(self) -> str:
        """Which fact no longer holds; empty if all do."""
        if _modes() != self.modes:
            pairs = zip(_MODE_CHANGES, self.modes, _modes(), strict=True)
            return next(text for text, before, now in pairs if before != now)
        columns = self._columns
        if columns is None or columns.made_of != _Columns.size(self):
            columns = self._columns = _Columns(self)
        watched = columns.watch.same()
        words = None if watched else columns.watch.look()
        if not watched and not columns.tensors():
            return self._tensor()
        why = columns.changed()
        if why:
            return why
        if self.cells and not all([alike(_content(cell), value) for cell, value in self.cells]):
            return "a variable of an enclosing function has changed"
        if [*map(len, columns.plain)] != columns.counts or any(_count(c) != n for c, n in columns.others):
            return "a module, a list of hooks or a container has got other entries"
        if not columns.functions():
            return "a function has got other code or defaults"
        if not watched:
            why = self.contents.failure()
            if why:
                return why
            columns.watch.keep(words)
        return self.contents.unwatched()

    def _tensor(self) -> str:
        """Which tensor is no longer as it was; empty if all are."""
        for t, memory, requires_grad in self.tensors:
            if t._memory is not memory:
                return f"a tensor of shape {tuple(t._memory.shape)} has got other memory"
            if (t._grad_node is not None) is not requires_grad:
                return f"requires_grad of a tensor of shape {tuple(t._memory.shape)} has changed"
        return "an attribute of a tensor has changed"

    def unguarded(self, args: Any) -> str:
        """What the call may read that cannot be guarded; empty if there is nothing."""
        # What is looked into may bring more.
        # Tensors among the arguments are others at each call; the key says what is asked of them.
        given = [("an argument", value) for value in args if type(value) not in PLAIN]
        for name, value in chain(iter(self.seen), given):
            if not self.contents.hold(value):
                return _may_change(name, type(value).__name__)
        for own in self.layers:
            for name, value in own.items():
                if not _is_table(name):
                    self.contents.attribute(name, value)
        for t, _, _ in self.tensors:
            if t.__dict__ and t not in self._attributed:
                self._attributed.add(t)
                self.contents.dicts.add(t.__dict__)
            for name, value in t.__dict__.items():
                self.contents.attribute(name, value)
        for name, kind in self.contents.opaque.items():
            if name in self.mentioned or "__dict__" in self.mentioned:
                return _may_change(name, kind)
        return ""

    def use(self, variables: dict[str, Any], name: str, attributes: tuple[str, ...]) -> None:
        """Guard a global that is read, and what is read of it if it is a module."""
        key = id(variables), name, attributes
        if key in self._used:
            return
        self._used.add(key)
        if name not in variables:  # one of Python's own; a global of the name would hide it
            self.facts.append((variables, name, _Gone))
            return
        value = variables[name]
        self.facts.append((variables, name, value))
        if issubclass(type(value), ModuleType) and attributes:
            if value.__class__ is LazyPackage:  # the next step, at which the name is found
                getattr(value, attributes[0], None)
            names = names_of(value)
            if attributes[0] in names:
                self.use(names, attributes[0], attributes[1:])
                return
        self.seen.append((name, value))
        if is_module(value):
            self._look(value)

    def run(self, functions: Iterable[FunctionType], mentioned: set[str]) -> None:
        """Guard functions that ran, and note what their code mentions."""
        self.mentioned |= mentioned
        for f in functions:
            self.ran.append((f, _OF_FUNCTIONS(f)))
            self.seen.append((f.__name__, f))
            found = [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
            self.seen += [("a default argument", value) for value in found]
            if f.__kwdefaults__:
                self._dict(f.__kwdefaults__)
        methods = vars(Tensor)
        self.facts += [(methods, name, methods[name]) for name in mentioned & methods.keys()]

    def context(self, variable: ContextVar[Any]) -> None:
        """Guard the value of a context variable."""
        owner = _Context(variable)
        value = owner.get(variable.name, _Gone)
        self.facts.append((owner, variable.name, value))
        if value is not _Gone:
            self.seen.append((variable.name, value))

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
        for name in names:
            found = self.modules if issubclass(type(variables[name]), ModuleType) else self.seen
            found.append((name, variables[name]))
        return [variables[name] for name in names]

    def _look(self, value: Any) -> None:
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        # A program's class may have its own meaning of len() and of all else.
        cls: Any = type(value)
        if issubclass(cls, Tensor):
            self.tensors.append((value, value._memory, value._grad_node is not None))
        elif issubclass(cls, (list, tuple)):
            self.counts.append((value, _count(value)))
            for item in _each(value, cls):
                if issubclass(type(item), (Tensor, list, tuple, dict)) or is_module(item):
                    self._look(item)
        elif issubclass(cls, dict):
            self._dict(value)
        elif is_module(value):
            self._layers(value)
        elif is_ours(cls) and hasattr(cls, "__guarded_tensors__"):  # a GradScaler, say
            self._look(value.__guarded_tensors__())

    def _layers(self, module: Any) -> None:
        """A layer, and those in it: not `modules()`, which a program's own may be something else."""
        left = [module]
        while left:
            layer = left.pop()
            self._module(layer)
            for inner in reversed([m for m in layer._modules.values() if is_module(m)]):
                if id(inner) not in self._seen:
                    self._seen.add(id(inner))
                    left.append(inner)

    def _dict(self, value: dict[Any, Any]) -> None:
        self.counts.append((value, dict.__len__(value)))
        for name, item in dict.items(value):
            if issubclass(type(item), (*SIMPLE, Tensor)) or is_module(item):
                self.facts.append((value, name, item))
                self._look(item)

    def _module(self, module: Any) -> None:
        own = module.__dict__
        if not self.layers:  # hooks of all layers
            known = vars(sys.modules["rushlight.nn.modules.module"])
            hooks = [(name, value) for name, value in known.items() if name.startswith("_global_")]
            self.facts += [(known, name, value) for name, value in hooks]
            self._tables([value for _, value in hooks if isinstance(value, dict)])
        self.layers.append(own)
        self.contents.own(module, own)
        for value in own.values():
            if issubclass(type(value), (Tensor, list, tuple)):
                self._look(value)
        tables = [v for name, v in own.items() if issubclass(type(v), dict) and _is_table(name)]
        self._tables(tables)
        for value in chain.from_iterable([table.values() for table in tables]):
            if issubclass(type(value), Tensor):
                self._look(value)

    def _tables(self, tables: list[dict[Any, Any]]) -> None:
        """Guard what is registered with a layer, or with all: parameters, hooks."""
        for table in tables:
            self.contents.dicts.add(table)
            self.seen += [("a hook", item) for item in table.values() if callable(item)]

    def _variables(self, function: Any) -> Iterator[Any]:
        """What a function can see: its object, its closure, the globals that its code names."""
        if type(function) is MethodType:
            yield function.__self__
            function = function.__func__
        if type(function) is not FunctionType:
            yield function
            return
        if function in self.functions or is_ours(function):
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
            yield from self._variables(value) if type(value) is FunctionType else (value,)


class _Context:
    """A context variable as a mapping that has one value."""

    def __init__(self, variable: ContextVar[Any]) -> None:
        self._variable = variable

    def get(self, name: str, default: Any) -> Any:
        """The value, whatever the name."""
        return self._variable.get(default)


class _Columns:
    """The facts as columns, so that one `map` compares all of a kind, without a loop in Python.

    made_of: how many facts of each sort there were; with more, the columns are made anew.
    """

    def __init__(self, guards: Guards) -> None:
        self.made_of = self.size(guards)
        self._tensors = [t for t, _, _ in guards.tensors]
        self._memories = [memory for _, memory, _ in guards.tensors]
        self._tracked = [tracked for _, _, tracked in guards.tensors]
        self._types = [*map(type, self._tensors)]
        self._bare = [t for t in self._tensors if not t.__dict__]
        self._attributed = [t.__dict__ for t in self._tensors if t.__dict__]
        self._attributes = [*chain.from_iterable(self._attributed)]
        owners: dict[int, tuple[Any, dict[str, Any]]] = {}
        for owner, name, value in guards.facts:
            owners.setdefault(id(owner), (owner, {}))[1][name] = value
        rows = [(owner, name, value) for owner, of in owners.values() for name, value in of.items()]
        # The same of dicts, for machine code, which asks whether all are the same objects still.
        plain_rows = [row for row in rows if type(row[0]) is dict and type(row[1]) is str]
        self._dicts, self._keys, self._values = ([row[k] for row in plain_rows] for k in range(3))
        self.facts = [(_getter(owner), (*of,), (*of.values(),)) for owner, of in owners.values()]
        others = [type(owner) is not dict for owner, _ in owners.values()]
        self._others = [*compress(self.facts, others)]
        if any(type(name) is not str for _, names, _ in self.facts for name in names):
            self._others = self.facts
        # What has no meaning of its own of len().
        plain = {id(c): (c, n) for c, n in guards.counts if type(c) in (list, tuple, dict, OrderedDict)}
        self.plain, self.counts = [c for c, _ in plain.values()], [n for _, n in plain.values()]
        self.others = [(c, n) for c, n in guards.counts if id(c) not in plain]
        self._ran = [f for f, _ in guards.ran]
        self._parts = [parts for _, parts in guards.ran]
        # What says that neither tensors nor contents have changed since both were looked at.
        self.watch = Watch()
        for t, memory, _ in guards.tensors:
            self.watch.of_class(t)
            self.watch.slot(t, Tensor, "_array", memory)
            self.watch.filled(t, Tensor, "_grad_node")
            self.watch.own(t)
        guards.contents.watched(self.watch)

    @staticmethod
    def size(guards: Guards) -> tuple[int, ...]:
        """How many facts there are."""
        return (
            len(guards.tensors),
            len(guards.facts),
            len(guards.counts),
            len(guards.ran),
            len(guards.layers),
            guards.contents.count(),
        )

    def tensors(self) -> bool:
        """Whether they have the memory that they had, and require a gradient as they did."""
        return (
            all(map(is_, map(_MEMORY, self._tensors), self._memories))
            and [g is not None for g in map(_NODE, self._tensors)] == self._tracked
            and [*map(type, self._tensors)] == self._types
            and not any(map(_OWN, self._bare))
            and [*chain.from_iterable(self._attributed)] == self._attributes
        )

    def changed(self) -> str:
        """Which variable or attribute is no longer what it was; empty if all are."""
        holding = _holding()
        same = holding is not None and holding(self._dicts, self._keys, self._values)
        for get, names, values in self._others if same else self.facts:
            if not all(map(is_, map(get, names, _MISSING), values)):
                for name, held, value in zip(names, map(get, names, _MISSING), values, strict=True):
                    if not alike(held, value):
                        return f"{shown(name)} is no longer {shown(value)}"
        return ""

    def functions(self) -> bool:
        """Whether they have the code and the defaults that they had."""
        return [*map(_OF_FUNCTIONS, self._ran)] == self._parts


@cache
def _holding() -> Callable[..., bool] | None:
    """holding(dicts, keys, values): whether each dict has the very value at its key; _Gone: none."""
    return slots.made("holding", (_Gone,)) if slots.usable([]) else None


_MEMORY, _NODE, _OWN = attrgetter("_memory"), attrgetter("_grad_node"), attrgetter("__dict__")
_OF_FUNCTIONS = attrgetter("__code__", "__defaults__", "__kwdefaults__")
# For `map(dict.get, names, ...)`: what a look-up answers if the name is not there.
_MISSING = repeat(_Gone)
_NONE: dict[str, Any] = {}


def _getter(owner: Any) -> Callable[..., Any]:
    """The method `get` of what facts are about; of a program's own kind of dict, Python's."""
    cls = type(owner)
    own = issubclass(cls, dict) and cls.get is not dict.get
    return partial(dict.get, owner) if own else owner.get


def _content(cell: Any) -> Any:
    """What a variable of an enclosing function holds; _Gone where it has no value any more."""
    try:
        return cell.cell_contents
    except ValueError:
        return _Gone


def _is_table(name: Any) -> bool:
    """Whether an attribute of a layer is what is registered with it."""
    return name in ("_parameters", "_buffers", "_modules") or (
        type(name) is str
        and name.startswith("_")
        and name.endswith(("_hooks", "_hooks_with_kwargs", "_hooks_always_called"))
    )


def _may_change(name: str, kind: str) -> str:
    return f"{name!r} is a {kind}, which may change unseen: pass what is needed of it"


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
