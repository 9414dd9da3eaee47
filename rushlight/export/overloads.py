"""torch.ops.aten.NAME.OVERLOAD: the table's ops under PyTorch's internal names and signatures.

schemas.tsv holds PyTorch's signatures (tests/goldens/record_aten.py writes it). An overload belongs to the
row of its name; parameters are paired by name, else by place. Rows that PyTorch has no name for are
`torch.ops.rushlight.NAME`.
"""

from __future__ import annotations

import inspect
import operator
import os
import re
import sys
from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from numbers import Number
from typing import Any

import rushlight as torch
from rushlight._engine.dispatch.dispatcher import function, lookup
from rushlight._engine.dispatch.generated_code import keep
from rushlight._engine.dispatch.spellings import space_of
from rushlight._engine.names.alternatives import attribute
from rushlight._engine.names.built_in import plain as plain_function
from rushlight._engine.ops.signature import REQUIRED
from rushlight._engine.ops.table import NAMES, ROWS, Row, public
from rushlight.export import other_forms, spellings
from rushlight.export.errors import misfit
from rushlight.ops._schemas import Param, Schema, parsed, shaped

# Rows and PyTorch's names, where they differ: the first is how programs call it, the second an op's name.
_ATEN = {
    "_to_dtype": "to",
    "_view": "view",
    "cross_entropy": "cross_entropy_loss",
    "logsigmoid": "log_sigmoid",
    "_logsigmoid": "log_sigmoid",
    "_nonzero": "nonzero",
    "unfold_columns": "im2col",
}
_ROWS = {aten: row for row, aten in _ATEN.items()} | {"rsub": "sub", "conv2d": "conv2d"}
# Where PyTorch makes a tensor of a number.
_TAKES_NUMBERS = frozenset("add sub mul div divide multiply subtract true_divide floor_divide".split())
_REDUCTIONS = ("none", "mean", "sum")
# What PyTorch passes beside what its callers do.
_GIVEN = {"cudnn_enabled": False, "cudnn_enable": False}
_SPACES = ("aten", "torch", "Tensor", "nn.functional")


@lru_cache(None)
def _lines() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    with open(os.path.join(os.path.dirname(__file__), "schemas.tsv"), encoding="utf-8") as lines:
        for line in lines:
            found.setdefault(re.split(r"[.(]", line, maxsplit=1)[0], []).append(line.rstrip("\n"))
    return found


@lru_cache(None)
def overloads(name: str) -> dict[str, Overload]:
    """PyTorch's overloads of a name that say what tensors they take."""
    made = [parsed(text) for text in _lines().get(name, ()) if "..." not in text]
    return {schema.overload: Overload("aten", schema) for schema in made}


def all_names() -> list[str]:
    """The names of PyTorch's ops."""
    return list(_lines().keys() | _recorded().keys())


def composites() -> list[str]:
    """The names of which PyTorch makes an overload of other ops."""
    return [name for name in _lines() if any(made for _, made, _ in _recorded().get(name, ()))]


@lru_cache(None)
def _recorded() -> dict[str, list[tuple[str, bool, tuple[str, ...]]]]:
    """(signature, whether PyTorch makes it of other ops, tags) of all of PyTorch's overloads, by name."""
    found: dict[str, list[tuple[str, bool, tuple[str, ...]]]] = {}
    path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "_torch_dispatch", "aten.tsv")
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            text, made, tags = line.rstrip("\n").split("\t")
            facts = (text, made == "c", () if tags == "-" else tuple(tags.split(",")))
            found.setdefault(re.split(r"[.(]", text, maxsplit=1)[0], []).append(facts)
    return found


@lru_cache(None)
def recorded(name: str) -> dict[str, Overload]:
    """All of PyTorch's overloads of a name: those of `overloads` first, as the same objects."""
    found = dict(overloads(name))
    for text, _, _ in _recorded().get(name, ()):
        try:
            schema = parsed(text)
        except ValueError:
            continue
        found.setdefault(schema.overload, Overload("aten", schema))
    return found


@lru_cache(None)
def schemas_in_order(name: str) -> list[Schema]:
    """All signatures of a name: those of TorchScript first, in PyTorch's order, then what has `out=`."""
    from rushlight.jit.program.schema import lines  # what it needs, jit.tracing.tracer, imports this file

    known = {schema.overload: schema for schema in (o._schema for o in recorded(name).values())}
    scripted = [parsed(line) for line in lines(f"aten::{name}") if "..." not in line and "Future" not in line]
    first = [known.pop(schema.overload) for schema in scripted if schema.overload in known]
    seen = {schema.overload for schema in first}
    return [*first, *known.values(), *(s for s in scripted if s.overload not in seen)]


def anyone(name: str) -> Overload:
    """The overload of a dotted name, "_softmax.default"."""
    own, _, overload = name.partition(".")
    return recorded(own)[overload]


def _override(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An argument of a class that is no tensor and takes functions over, as fx's Proxies do; else None.

    Subclasses of Tensor hear of the row's function, like that function's callers.
    """
    for value in (*args, *kwargs.values()) if kwargs else args:
        several = value if isinstance(value, (list, tuple)) else (value,)
        for item in several:
            if not isinstance(item, torch.Tensor) and hasattr(type(item), "__torch_function__"):
                return item
    return None


class Overload:
    """An op under one of PyTorch's signatures; a target of exported graphs' nodes."""

    def __init__(self, namespace: str, schema: Schema, row: Row | None = None) -> None:
        self._schema, self.namespace = schema, namespace
        self.__name__ = f"{schema.op_name}.{schema.overload}"
        self.__qualname__, self.__module__ = self.__name__, f"torch._ops.{namespace}"
        self._row = row
        self._call: Callable[..., Any] | None = None

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        name, overload = self._schema.op_name, self._schema.overload
        return f"<OpOverload(op='{self.namespace}.{name}', overload='{overload}')>"

    @property
    def function(self) -> Callable[..., Any]:
        """What runs."""
        if self._call is None:
            from rushlight._torch_dispatch.translation import RUN  # it imports this file

            self._call = other_forms.special(self._schema) or RUN.get(self._schema.op_name) or self._of_row()
        return self._call

    @property
    def overloadpacket(self) -> Any:
        """The op that it is an overload of."""
        return packet(self._schema.op_name) if self.namespace == "aten" else self

    @property
    def _overloadpacket(self) -> Any:
        return self.overloadpacket

    @property
    def _opname(self) -> str:
        return self._schema.op_name

    @property
    def _overloadname(self) -> str:
        return self._schema.overload

    @property
    def op(self) -> Any:
        """What runs it."""
        return self.__call__

    _op = op

    def name(self) -> str:
        """ "aten::add.Tensor"; without "default"."""
        overload = self._schema.overload
        return f"{self.namespace}::{self._schema.op_name}" + f".{overload}" * (overload != "default")

    @property
    def _facts(self) -> tuple[str, bool, tuple[str, ...]]:
        own = self._schema
        return next((t for t in _recorded().get(own.op_name, ()) if t[0] == own.text), ("", False, ()))

    @property
    def tags(self) -> list[Any]:
        """What PyTorch says of the op: torch.Tag.core, ..."""
        from rushlight.library import Tag  # it imports this file

        return [Tag[n] for n in self._facts[2] or other_forms.own_tags(self) if n in Tag.__members__]

    @property
    def is_view(self) -> bool:
        """Whether the result shares memory with an argument that it does not write to."""
        return bool(re.search(r"\([a-z]\)", self._schema.text)) and not self._schema.writes

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Whether PyTorch has registered something for the key; of composites: that they are composites."""
        composite = str(key).rpartition(".")[2] == "CompositeImplicitAutograd"
        return self._facts[1] == composite if composite else not self._facts[1]

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """The op by those that it is made of; NotImplemented where it is one of its own."""
        return self(*args, **kwargs) if self._facts[1] else NotImplemented

    def row(self) -> tuple[Row, dict[str, str]]:
        """The row, and the signature's parameter for each of its own; NotImplementedError without one."""
        name = self._schema.op_name
        base = name[:-1] if self._schema.writes and name.endswith("_") else name
        prefix, _, rest = base.partition("_")
        spaces = [(space, base) for space in _SPACES] + [(prefix, rest)]
        rows = (
            [self._row]
            if self._row
            else [ROWS.get(_ROWS[base])]
            if base in _ROWS
            else [found[0] for key in spaces if (found := NAMES.get(key)) is not None]
        )
        for row in rows:
            matched = pairs(row, self._schema) if row is not None else None
            if row is not None and matched is not None:
                return row, matched
        raise NotImplementedError(
            f"torch.ops.{self} is known to PyTorch, but nothing in Rushlight computes it"
        )

    def _of_row(self) -> Callable[..., Any]:
        name = self._schema.op_name
        try:
            row, matched = self.row()
        except NotImplementedError:
            other = self._otherwise()
            if other is not None:
                return other
            method = lookup("Tensor", name) if self._schema.writes else None
            if method is None:
                raise
            rest = [p.name for p in self._schema.arguments[1:] if p.name != "generator"]
            return lambda self, **given: method(self, *[given[n] for n in rest])
        call: Any = function(row)
        if self._schema.writes:
            in_place = next((f for space in _SPACES[1:] if (f := lookup(space, name))), None)
            call = in_place or partial(call, inplace=True)
        return _translated(call, {theirs: ours for ours, theirs in matched.items()})

    def _otherwise(self) -> Callable[..., Any] | None:
        """What computes an op that is no row: what it is with `out=`, or a method of tensors."""
        if other_forms.outs(self._schema):
            return other_forms.into(self._schema, recorded(self._schema.op_name))
        if self._schema.writes and lookup("Tensor", self._schema.op_name):
            return None
        return other_forms.method(self._schema)

    @cached_property
    def _places(self) -> tuple[tuple[str, ...], tuple[str, ...], int, frozenset[str]]:
        """The names of all parameters, of those without a default; how many may be given by place; the
        names of those whose defaults are made anew for each call.
        """
        params = self._schema.arguments
        return (
            tuple(p.name for p in params),
            tuple(p.name for p in params if p.default is REQUIRED),
            sum(not p.kwarg_only for p in params),
            frozenset(p.name for p in params if isinstance(p.whole_default, list)),
        )

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        return {p.name: p.whole_default for p in self._schema.arguments}

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Every argument by its name; RuntimeError for what the signature lacks."""
        names, required, most, lists = self._places
        if len(args) <= most:
            found = self._defaults.copy()
            found.update(zip(names, args, strict=False))
            found.update(kwargs)
            if len(found) == len(names) and not any(found[name] is REQUIRED for name in required):
                for name in lists:
                    if found[name] is self._defaults[name]:
                        found[name] = list(found[name])
                return found
        given = dict(zip(names, args, strict=False)) | kwargs
        unknown = sorted(given.keys() - set(names))
        missing = [name for name in required if name not in given]
        name, count = f"{self.namespace}::{self._schema.op_name}", len(args) + len(kwargs)
        raise RuntimeError(misfit(name, self._schema, len(args), count, missing, unknown))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the op with arguments of the schema; RuntimeError for what the schema lacks."""
        other = _override(args, kwargs)
        if other is not None:
            return type(other).__torch_function__(self, (type(other),), args, kwargs)
        listening = sys.modules.get("rushlight._torch_dispatch.methods")
        if listening is None:
            return self.function(**self.bound(args, kwargs))
        call = listening.delivery.running(self, args, kwargs)
        return call.run() if call is not None else listening.called(self, args, kwargs)

    def redispatch(self, keys: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call the op from the highest of a DispatchKeySet's keys on."""
        from rushlight.library.key_sets import redispatch  # of what few programs need

        return redispatch(self, keys, args, kwargs)

    @property
    def _name(self) -> str:
        return self.name()

    @property
    def is_composite(self) -> bool:
        """Whether PyTorch makes it of other ops before listeners below autograd hear of it."""
        return self._facts[1]

    def _public(self) -> Any:
        """What programs call the op by, which equals each of its overloads, as policies of checkpoints
        expect.
        """
        return next((f for space in _SPACES if (f := lookup(space, self._schema.op_name))), self)

    def __hash__(self) -> int:
        found = self._public()
        return hash(str(self)) if found is self else hash(found)

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, Overload) else other is self._public()

    def __reduce__(self) -> Any:
        return named, (f"torch.ops.{self}",)

    def __deepcopy__(self, memo: Any) -> Overload:
        return self


def _translated(call: Callable[..., Any], names: dict[str, str]) -> Callable[..., Any]:
    def run(**given: Any) -> Any:
        if isinstance(given.get("reduction"), int):
            given["reduction"] = _REDUCTIONS[given["reduction"]]
        return call(**{names[k]: v for k, v in given.items() if k in names})

    return run


# Parameters of rows that no signature of PyTorch's ops has under another name.
_OURS = ("inplace", "_stacklevel", "return_indices")


@lru_cache(None)
def pairs(row: Row, schema: Schema) -> dict[str, str] | None:
    """The signature's parameter for each of the row's; None if a required one has none."""
    theirs = {p.name: i for i, p in enumerate(schema.arguments)}
    ours = [p.name for p in row.params]
    matched = {name: name for name in ours if name in theirs}
    if "input" not in matched and "self" in theirs and "input" in ours:
        matched["input"] = "self"
    free = [p.name for p in schema.arguments if p.name not in matched.values()]
    for name, place in zip(ours, schema.arguments, strict=False):
        if name not in matched and name not in _OURS and place.name in free:
            matched[name] = place.name
    needed = {p.name for p in schema.arguments if p.default is REQUIRED and p.name not in _GIVEN}
    return matched if needed <= set(matched.values()) else None


def fits(kind: str, value: Any, numbers: bool) -> bool:
    """Whether a value is of a signature's type; `numbers`: of Tensor, too."""
    if value is None:
        return kind.endswith("?")
    kind = kind.removesuffix("?")
    if kind.startswith("Tensor"):
        if "[" in kind:
            many = isinstance(value, (list, tuple))
            if kind.endswith("][]"):
                return many and all(fits(kind[:-2], v, False) for v in value)
            return many and all(v is None or isinstance(v, torch.Tensor) for v in value)
        return isinstance(value, torch.Tensor) or (numbers and isinstance(value, Number))
    if isinstance(value, torch.Tensor):
        return False
    if kind.endswith("][]"):
        return isinstance(value, (list, tuple)) and all(fits(kind[:-2], v, False) for v in value)
    if "[" in kind:
        items, one = value if isinstance(value, (list, tuple)) else [value], kind.split("[")[0]
        return (isinstance(value, (list, tuple)) or kind[-2].isdigit()) and all(
            fits(one, v, False) for v in items
        )
    plain: Any = {
        "Scalar": Number,
        "int": int,
        "float": (int, float),
        "bool": bool,
        "str": str,
        "ScalarType": torch.dtype,
    }.get(kind)
    either = kind in ("bool", "Scalar") or not isinstance(value, bool)
    return plain is None or (isinstance(value, plain) and either)


@lru_cache(None)
def aten_name(row: Row) -> str:
    """What PyTorch calls a row."""
    known = list(public(row))
    if known and all(variant == "inplace" for _, _, variant in known):
        return known[0][1].removesuffix("_")
    space, name = space_of(function(row))
    above = f"{space}_" if space in ("linalg", "special", "fft") else ""
    return _ATEN.get(row.name) or above + name.removeprefix(above)


Found = tuple[Any, list[Any], dict[str, Any]]
# For a row and the kinds of its arguments: the overload, and the row's parameter for each of its own.
_CHOSEN: dict[tuple[Any, ...], tuple[Overload, dict[str, str]]] = {}
# What decides by its value which overload it is: numbers may be defaults, and are told from booleans.
_DECIDING = (bool, int, float, complex, str, type(None), torch.dtype, torch.device)


def _deciding(value: Any) -> Any:
    """What an overload is chosen by: of tensors that they are some; KeyError for objects of other classes."""
    if isinstance(value, torch.Tensor):
        return torch.Tensor
    cls = value.__class__
    if cls is list or cls is tuple:
        return (cls, *[_deciding(v) for v in value])
    if cls not in _DECIDING:
        raise KeyError(cls)
    return cls, value


def chosen(row: Row, bound: dict[str, Any], writes: bool) -> Found | None:
    """(overload, args, kwargs) that PyTorch would record for a call of a row; None if none fits."""
    if row.name in spellings.SPELLED or row.name in ("arange", "sub"):
        return _chosen(row, bound, writes)
    try:
        key = (row, writes, *[_deciding(v) for v in bound.values()])
    except KeyError:
        return _chosen(row, bound, writes)
    known = _CHOSEN.get(key)
    if known is not None:
        overload, matched = known
        found = _arguments(overload._schema, {theirs: bound[ours] for theirs, ours in matched.items()}, None)
        if found is not None:
            return overload, *found
    searched = _chosen(row, bound, writes)
    if searched is not None:
        pairing = pairs(row, searched[0]._schema) or {}
        keep(_CHOSEN, key, (searched[0], {t: ours for ours, t in pairing.items() if ours in bound}))
    return searched


def _chosen(row: Row, bound: dict[str, Any], writes: bool) -> Found | None:
    spell = spellings.SPELLED.get(row.name)
    instead = None if spell is None else spell(bound)
    if instead is not None:
        name, given = instead
        name, _, kind = name.partition(".")
        spelled = name + "_" * writes
        overload = overloads(spelled).get(kind) or recorded(spelled).get(kind)
        found = None if overload is None else _arguments(overload._schema, given, name)
        if found is not None:
            return overload, *found
    name = aten_name(row)
    if (writes or bound.get("inplace") is True) and not name.endswith("_"):
        name += "_"
    if row.name == "sub" and not isinstance(bound["input"], torch.Tensor):
        name, bound = "rsub", {**bound, "input": bound["other"], "other": bound["input"]}
    if row.name == "arange" and bound["end"] is None:
        bound = {**bound, "start": None, "end": bound["start"]}
    changed = {p.name for p in row.params if not _same(bound[p.name], p.default)}
    fitting = []
    for overload in overloads(name).values():
        matched = pairs(row, overload._schema)
        if (
            row.name in ("std", "var")
            and bound["unbiased"] is None
            and (overload._schema.overload != "correction")
        ):
            continue
        if matched is None or any(k not in matched for k in changed - {"inplace", "_stacklevel"}):
            continue
        given = {theirs: bound[ours] for ours, theirs in matched.items()}
        found = _arguments(overload._schema, given, name.rstrip("_"))
        if found is not None:
            fitting.append((overload, *found))
    return min(fitting, key=lambda f: len(f[1]), default=None)


def _same(value: Any, default: Any) -> bool:
    """Whether an argument is the default; tensors and arrays never are."""
    if value is default:
        return True
    return isinstance(value, (bool, int, float, str, tuple, list, torch.dtype)) and value == default


def _arguments(
    schema: Schema, given: dict[str, Any], name: str | None
) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments of a call; None where one is not of its type. `name`: the op, None where they fit."""
    args, kwargs = [], {}
    for p in schema.arguments:
        value = given.get(p.name, _GIVEN.get(p.name, p.default))
        if p.name == "reduction" and isinstance(value, str):
            value = _REDUCTIONS.index(value)
        if value is None and not p.type.endswith("?"):
            value = p.default
        if name is not None and (
            value is REQUIRED or not fits(p.type, value, name in _TAKES_NUMBERS and p.name == "other")
        ):
            return None
        value = shaped(p.type, value)
        if not p.kwarg_only:
            args.append((value, p.whole_default))
        elif value is not p.default and value != p.default:
            kwargs[p.name] = value
    while args and not isinstance(args[-1][0], torch.Tensor) and args[-1][0] == args[-1][1]:
        args.pop()
    return [value for value, _ in args], kwargs


@lru_cache(None)
def own(row: Row) -> Overload:
    """The op of a row that PyTorch has no name for."""
    params = tuple(
        Param(p.name, "Tensor" if p.is_tensor else "Any", p.default, p.keyword_only) for p in row.params
    )
    return Overload("rushlight", Schema(row.name, "default", params, row.name, "rushlight"), row)


class Packet:
    """An op, as a function and by the names of its overloads; a name that PyTorch lacks is the op itself."""

    def __init__(self, name: str, function: Callable[..., Any] | None) -> None:
        self._name, self._function = name, function

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the op, of the overload that the arguments fit."""
        other = _override(args, kwargs)
        if other is not None:
            return type(other).__torch_function__(self, (type(other),), args, kwargs)
        try:
            return (self._function or self._fitting(args, kwargs) or self._first())(*args, **kwargs)
        except TypeError as error:
            # The public function of that name may have fewer parameters than the op: _softmax has.
            found = self._fitting(args, kwargs) if self._function else None
            if found is None:
                raise self._misfit(args, kwargs, error) from None
            try:
                return found(*args, **kwargs)
            except TypeError:
                raise self._misfit(args, kwargs, error) from None

    def _misfit(self, args: tuple[Any, ...], kwargs: dict[str, Any], error: TypeError) -> Exception:
        """The error for arguments that no overload takes; of a wrong type, what the op itself says."""
        told: list[str] = []
        for found in recorded(self._name).values():
            try:
                found.bound(args, kwargs)
            except RuntimeError as why:
                told.append(str(why))
            else:
                told.append(str(error))
        if not told:
            return error
        head = "Overloaded torch operator invoked from Python failed to match any schema:\n" * (len(told) > 1)
        return RuntimeError(head + "\n\n".join(told))

    def _fitting(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The first overload that takes these arguments, or None."""
        for found in recorded(self._name).values():
            try:
                bound = found.bound(args, kwargs)
            except RuntimeError:
                continue
            if all(fits(p.type, bound[p.name], False) for p in found._schema.arguments):
                return found
        return None

    def _first(self) -> Any:
        return next(iter(recorded(self._name).values()))

    def __getattr__(self, overload: str) -> Any:
        if overload.startswith("__"):  # what Python asks for, also of a packet that is being made
            raise AttributeError(f"'OpOverloadPacket' object has no attribute '{overload}'")
        known: dict[str, Any] = recorded(self._name)
        found = overloads(self._name).get(overload) or known.get(overload, self._function)
        if found is None:
            raise AttributeError(
                f"The underlying op of 'aten.{self._name}' has no overload name '{overload}'"
            )
        return found

    def __deepcopy__(self, memo: Any = None) -> Packet:
        return self  # there is one of each

    def __str__(self) -> str:
        return f"aten.{self._name}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def overloads(self) -> list[str]:
        """Their names."""
        return list(recorded(self._name))

    @property
    def __name__(self) -> str:
        return self._name

    @property
    def _qualified_op_name(self) -> str:
        return f"aten::{self._name}"


@lru_cache(None)
def packet(name: str) -> Packet:
    """torch.ops.aten.NAME; AttributeError for what is no op."""
    found = next((f for space in _SPACES if (f := lookup(space, name))), None)
    if (name.startswith("__") and not recorded(name)) or (found is None and not recorded(name)):
        result: Packet = attribute("rushlight.ops.aten", name)
        return result
    return Packet(name, None if found is not None and _of_other_order(name, found) else found)


def _of_other_order(name: str, function: Callable[..., Any]) -> bool:
    """Whether the op takes arguments of the public function otherwise: reductions as numbers, or something
    else where `inplace` stands, as elu does.
    """
    public = list(inspect.signature(plain_function(function)).parameters)
    if "reduction" in public or "inplace" not in public:
        return "reduction" in public
    place = public.index("inplace")
    orders = [[p.name for p in found._schema.arguments] for found in recorded(name).values()]
    return any(place < len(order) and order[place] != "inplace" for order in orders)


class _Own:
    """torch.ops.rushlight: rows that PyTorch has no name for."""

    def __getattr__(self, name: str) -> Any:
        if name not in ROWS:
            raise AttributeError(f"torch.ops.rushlight has no op {name!r}")
        return type("Packet", (), {"default": own(ROWS[name])})


OWN = _Own()
_OF_SIZES = ("mul", "add", "sub", "floordiv", "getitem")


def plain(target: Any) -> str:
    """What nodes of a target are called."""
    if not isinstance(target, Overload):
        return str(target.__name__)
    return target._schema.op_name + "_default" * target._schema.op_name.startswith("_assert")


def named(target: str) -> Any:
    """The function of a node's target, `torch.ops.aten.add.Tensor` or `_operator.mul`; KeyError for
    others.
    """
    if target.startswith("_operator."):
        return {name: getattr(operator, name) for name in _OF_SIZES}[target.rpartition(".")[2]]
    _, _, space, name, overload = target.split(".")
    if space not in ("aten", "rushlight"):
        found = getattr(getattr(getattr(torch.ops, space), name), overload)
        if not isinstance(found, torch._ops.OpOverload):  # a file may say anything
            raise KeyError(target)
        return found
    if space == "rushlight":
        return own(ROWS[name])
    return overloads(name).get(overload) or anyone(f"{name}.{overload}")
