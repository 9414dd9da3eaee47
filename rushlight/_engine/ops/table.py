"""THE TABLE: one Row per op, and the decorators that make them, one per kind.

A row's body is its meaning; what is derived from it is in derive/ (facets on expressions and
arrays) and dispatch/ (the generated callables). A Row is itself callable, so that bodies of
composite rows and declared gradients are written with rows; the first call binds the callable.

Kinds and what their bodies are:
  pointwise  Expr operands and attributes -> an Expr (or a tuple of them)
  reduce     Expr input and attributes -> a Reduction
  view       Layout and attributes -> a Layout
  index      an array's shape, index arrays and attributes -> coordinate arrays (the read map)
  contract   attributes and shapes -> a label spec, "ij,jk->ik"
  composite  tensors -> tensors, by other rows
  opaque     NumPy arrays -> NumPy arrays, by hand

Why one row per op: docs/decisions/01-one-row-per-op.md.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, Protocol, TypeVar, overload

import numpy as np

from rushlight._engine.core.services import service
from rushlight._engine.ops import FAMILIES, signature
from rushlight._engine.ops.autocast import POLICIES

Array = np.ndarray[Any, Any]
KINDS = ("pointwise", "reduce", "view", "index", "contract", "composite", "opaque")

_Key = TypeVar("_Key")
_F = TypeVar("_F", bound=Callable[..., Any])
_Value = TypeVar("_Value")


class Table(dict[_Key, _Value]):
    """A dict that fills itself: asked for an entry, it imports the family that declares it; asked for
    all of them, every family.

    What contents.tsv does not list is not there, so that `hasattr(x, "name")` loads nothing.
    """

    def __init__(self) -> None:
        self.families: dict[_Key, str] = {}

    def __missing__(self, key: _Key) -> _Value:
        family = self.families.get(key)
        if family is not None:
            import_module(f"rushlight._engine.ops.{family}")
            if self.has(key):
                return self[key]
        raise KeyError(key)

    def has(self, key: object) -> bool:
        """Whether the entry has been made."""
        return dict.__contains__(self, key)

    def __len__(self) -> int:
        complete()
        return dict.__len__(self)

    def __iter__(self) -> Iterator[_Key]:
        complete()
        return dict.__iter__(self)

    # As of any mapping, by look-ups: dict's own would see only what has been made.
    get: Any = Mapping.get
    __contains__: Any = Mapping.__contains__
    keys: Any = Mapping.keys
    values: Any = Mapping.values
    items: Any = Mapping.items


def complete() -> None:
    """Import every family, so that the table holds all rows."""
    for family in FAMILIES:
        import_module(f"rushlight._engine.ops.{family}")


# Which family declares which rows and names: written by `python tools/operators.py`, and held to the table by
# a test. A line: family, namespace (none for the rows' own names), names.
CONTENTS = os.path.join(os.path.dirname(__file__), "contents.tsv")
# What PyTorch refuses of a row: {row: {dtype, or category of dtypes: text of the error}}, from refusals.tsv.
# A line of the file has three columns:
#   text     the error's text; one word is a kernel's name and stands for '"NAME" not implemented for DTYPE'.
#            Marks at its end say which calls are taken nevertheless, or when it is checked:
#              ?  taken if there are no elements       *  taken if the operand has no dims
#              !  raised after the dims are checked, as an error of PyTorch's kernel would be
#   dtypes   names of dtypes, or categories: bool int float complex wide (WIDE)
#   rows     names of rows, each perhaps with a suffix:
#              NAME/2      calls of a pointwise row with two operands
#              NAME/dtype  the dtype that a call asks for with dtype=
#              NAME/cuda   on CUDA devices, where `taken` for a text says: not refused there
#              NAME/out    no dtypes, but what its out= may be, where that differs from the row's kind:
#                          "exact" (of the result's dtype; the text is the error's, texts for several results
#                          have | between), "cast" (converted to; with "any" to whatever), "asked" (of the
#                          dtype asked for)
REFUSALS: dict[str, dict[str, str]] = {}
TAKEN = "taken"
WIDE = "uint16 uint32 uint64"


class _WideDtypes(threading.local):
    """Whether ops of this thread take the WIDE dtypes, which most of PyTorch's kernels refuse.

    accepted: set by array_api's functions while they run, since that standard requires these dtypes.
    used: whether a refusal has been ignored since then. Kernels and plans that were made meanwhile are not
    kept, because other calls are to be refused.
    """

    accepted = False
    used = False


WIDE_DTYPES = _WideDtypes()
# (namespace, public name) -> (row, variant); variants: "function", "inplace"
NAMES: Table[tuple[str, str], tuple[Row, str]] = Table()
ROWS: Table[str, Row] = Table()


def _read() -> None:
    with open(CONTENTS, encoding="utf-8") as lines:
        for line in lines:
            family, space, names = line.split("\t")
            if space:
                NAMES.families.update(((space, name), family) for name in names.split())
            else:
                ROWS.families.update((name, family) for name in names.split())
    with open(os.path.join(os.path.dirname(__file__), "refusals.tsv"), encoding="utf-8") as lines:
        for line in lines:
            words, kinds, names = line.split("\t")
            kernel = words.rstrip("?*")
            if " " not in words and words != TAKEN:
                words = f"\"{kernel}\" not implemented for '{{dtype}}'{words[len(kernel) :]}"
            for name in names.split():
                kinds = kinds.replace("wide", WIDE)
                REFUSALS.setdefault(name, {}).update(dict.fromkeys(kinds.split(), words))


_read()


def refused_on_cuda(name: str, refuse: dict[str, str]) -> dict[str, str]:
    """What PyTorch refuses of a row on CUDA devices; refuse: what it refuses on the CPU."""
    there = {of: text.replace("_cpu", "_cuda") for of, text in refuse.items()}
    there.update(REFUSALS.get(f"{name}/cuda", {}))
    return {of: text for of, text in there.items() if text != TAKEN}


class Row:
    """One op.

    name, doc what the body's own name and docstring say, for a body that several rows share
    where     namespaces of the public name: "torch", "Tensor", "nn.functional", "linalg", ...
    inplace   whether `name_` exists (in each namespace of `where`)
    out       whether `out=` is taken
    aliases   other public names; one with a dot is a full path ("special.expit")
    dtypes    pointwise: "same", "float" (ints become the default dtype); see derive/cast.py
    result    dtype of the result: "same", "bool", "real"
    vjp       declared gradient: vjp(s, *grads) -> one gradient per tensor parameter (see note)
    fused     an array-level kernel that computes what a composite body says, in one pass
    meta      opaque rows: the shape and dtype rule, on `Meta` operands
    options   further facts of one kind (see the decorators)

    A declared gradient gets `s`, the saved values: s.NAME is the argument NAME (a tensor is
    checked for later writes), s.result the result, s.shape("NAME") a shape without keeping the
    data, s.needs("NAME") whether that gradient is wanted. Only what its code mentions is kept.
    """

    __slots__ = (
        "name",
        "kind",
        "body",
        "doc",
        "where",
        "inplace",
        "out",
        "aliases",
        "dtypes",
        "result",
        "vjp",
        "fused",
        "meta",
        "refuse",
        "autocast",
        "options",
        "call",
        "_params",
        "__dict__",
    )

    def __init__(self, kind: str, body: Callable[..., Any], **facts: Any) -> None:
        self.kind, self.body = kind, body
        self.name = facts.pop("name", None) or body.__name__.rstrip("_")
        self.doc: str = facts.pop("doc", None) or body.__doc__ or ""
        self.where: tuple[str, ...] = facts.pop("where", ("torch", "Tensor"))
        self.inplace: bool = facts.pop("inplace", False)
        self.out: bool = facts.pop("out", False)
        self.aliases: tuple[str, ...] = facts.pop("aliases", ())
        self.dtypes: str = facts.pop("dtypes", "same")
        self.result: str = facts.pop("result", "same")
        self.vjp: Callable[..., Any] | None = facts.pop("vjp", None)
        self.fused: Callable[..., Any] | None = facts.pop("fused", None)
        self.meta: Callable[..., Any] | None = facts.pop("meta", None)
        self.refuse: dict[str, str] = facts.pop("refuse", {}) | REFUSALS.get(self.name, {})
        self.autocast = POLICIES.get(self.name, "keep")
        self.options: dict[str, Any] = facts
        self.call: Callable[..., Any] = self._bind
        self._params: tuple[signature.Param, ...] | None = None

    @property
    def params(self) -> tuple[signature.Param, ...]:
        """The parameters, parsed at first use."""
        if self._params is None:
            self._params = signature.parse(self.body)
            if self.kind == "reduce":
                self._params += signature.reduce_tail(self.options.get("takes_dtype", True))
            elif self.options.get("factory"):
                self._params += signature.placement_tail(self.body)
            self._params += self.options.get("tail", ())
        return self._params

    @cached_property
    def refuse_on_cuda(self) -> dict[str, str]:
        """What a CUDA device refuses of it."""
        return refused_on_cuda(self.name, self.refuse)

    def refusals(self, kind: Any) -> dict[str, str]:
        """What is refused of it where an operand of a kind lies."""
        return self.refuse if kind.backend is None else self.refuse_on_cuda

    @property
    def display_name(self) -> str:
        """What messages call the op: as its caller does, where the row has a name of its own."""
        names = [(space, leaf) for space, leaf, _ in public(self) if space != "aten"]
        if not names:
            return self.name.lstrip("_")
        known = {spelled for space, leaf in names for spelled in (leaf, f"{space}_{leaf}")}
        return self.name if self.name in known else names[0][1]

    def _bind(self, *args: Any, **kwargs: Any) -> Any:
        self.call = service("callable of a row")(self)
        return self.call(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self.kind} row {signature.text(self.name, self.params, self.out)}>"

    def gradient(self, rule: _F) -> _F:
        """Decorator that declares the row's gradient."""
        self.vjp = rule
        return rule

    def kernel(self, function: _F) -> _F:
        """Decorator that declares a composite row's fused array kernel."""
        self.fused = function
        return function

    def shape_rule(self, rule: _F) -> _F:
        """Decorator that declares an opaque row's shape and dtype rule."""
        self.meta = rule
        return rule


def public(row: Row) -> Iterator[tuple[str, str, str]]:
    """(namespace, public name, variant) of every spelling of the row."""
    for name in (row.name, *row.aliases):
        namespace, dot, leaf = name.rpartition(".")
        for space in (namespace,) if dot else row.where:
            # "Tensor.where" or "nn.functional.softmax" in `where` names the public name in full.
            owner, _, full = space.rpartition(".")
            if owner in ("Tensor", "nn.functional", "linalg", "special", "fft", "torch"):
                yield owner, full, "inplace" if row.inplace and full.endswith("_") else "function"
                continue
            yield space, leaf, "function"
            if row.inplace and space != "special":
                yield space, leaf + "_", "inplace"


def _claim(space: str, leaf: str, row: Row, variant: str) -> None:
    if NAMES.has((space, leaf)):
        raise ValueError(
            f"op table: {space}.{leaf} is declared twice, by the rows "
            f"{NAMES[space, leaf][0].name!r} and {row.name!r}"
        )
    NAMES[space, leaf] = (row, variant)


class Declare(Protocol):
    """What declares rows of one kind: `@pointwise`, or `@pointwise(where=("special",))` with Row's facts."""

    @overload
    def __call__(self, body: Callable[..., Any], **facts: Any) -> Row: ...
    @overload
    def __call__(self, body: None = None, **facts: Any) -> Callable[[Callable[..., Any]], Row]: ...


def _decorator(kind: str, **defaults: Any) -> Declare:
    @overload
    def decorate(body: Callable[..., Any], **facts: Any) -> Row: ...
    @overload
    def decorate(body: None = None, **facts: Any) -> Callable[[Callable[..., Any]], Row]: ...
    def decorate(
        body: Callable[..., Any] | None = None, **facts: Any
    ) -> Row | Callable[[Callable[..., Any]], Row]:
        if body is None:
            return lambda b: decorate(b, **facts)
        row = Row(kind, body, **{**defaults, **facts})
        if ROWS.has(row.name):
            raise ValueError(f"op table: the row {row.name!r} is declared twice")
        ROWS[row.name] = row
        for space, leaf, variant in public(row):
            _claim(space, leaf, row, variant)
        return row

    decorate.__name__ = kind
    decorate.__doc__ = f"Declare a {kind} row; keywords are Row's facts."
    return decorate


# options: gradients (what is not to be derived from the body: a function of grad, result and the body's
# arguments, that gives each operand's gradient by name; of real numbers)
pointwise = _decorator("pointwise", inplace=True, out=True)
# options: takes_dtype (whether `dtype=` exists); the parameters dim, keepdim, dtype are the kind's
reduce = _decorator("reduce", out=True)
view = _decorator("view")
index = _decorator("index")
contract = _decorator("contract")
# options: unread, the numbers of results that the gradient does not look at; in_parts, whether recorders that
# fuse, and other devices, take the rows of the body instead of a kernel; planned_gradient, whether the
# gradient's rule looks at no values, and reads arrays by rows alone (dispatch/runners/rule_plans.py);
# hands_on, (code over the arguments, the name of a row that gives the result of the tensors then)
composite = _decorator("composite")
opaque = _decorator("opaque")
