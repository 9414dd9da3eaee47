"""In-place variants: the functional row's result written into the first operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache, wraps
from typing import Any

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.in_place import (
    check_writable,
    rebase,
    refuse_inference,
    refuse_overlap,
    refuse_shared,
)
from rushlight._engine.core.dtype import dtype
from rushlight._engine.core.errors import wrong_type
from rushlight._engine.core.layout import broadcast_shapes, check_apart_from_itself
from rushlight._engine.core.numpy_warnings import hush, restore
from rushlight._engine.core.promotion import can_cast
from rushlight._engine.core.recording import TAPE
from rushlight._engine.core.services import service
from rushlight._engine.derive import cast
from rushlight._engine.dispatch import arguments, overrides
from rushlight._engine.dispatch.interpreters import MODES
from rushlight._engine.dispatch.nodes.declared import read_by
from rushlight._engine.dispatch.nodes.written_results import keep_target
from rushlight._engine.dispatch.number_operands import NUMBERS
from rushlight._engine.dispatch.out_arguments import overwrite
from rushlight._engine.dispatch.runners import array_bodies as by_arrays, general as by_prologue, pointwise
from rushlight._engine.dispatch.runners.array_bodies import by_keyword, silent
from rushlight._engine.dispatch.runners.formulas import Formula
from rushlight._engine.dispatch.runners.meta import arrays_of, refuse_devices
from rushlight._engine.dispatch.runners.refused_dtypes import check_dtype
from rushlight._engine.numerics.rng import OF_THREAD, WordTransform, default_engine
from rushlight._engine.ops import signature
from rushlight._engine.ops.table import WIDE_DTYPES, Row
from rushlight._engine.tensors.lazy_views import place
from rushlight._engine.tensors.tensor import LISTENING, WRAPPED, Tensor, alias, storage

# Plain tensors of one kind that are outside the graph; whatever else comes takes the general way.
_FAST = """
def {name}({sig}):
    if {a}.__class__ not in PLAIN{plain}:
        return general({call})
    {operand}
    x, s = {a}._array, {a}._storage
    if compiled is None or compiled.result_kind is not {a}._kind or 0 in x.strides or (
            LOCAL.enabled and ({a}._grad_node is not None{other} or LOCAL.transforms)) or (
            s is not None and s.inference):
        return general({call})
    try:
        if x.size < BIG:
            compiled.fn({arrays}, out=x)
        else:
            compiled.large({arrays}, out=x)
    except ValueError:
        return general({call})
    if s is None:
        s = storage({a})
    s.version += 1
    return {a}
"""
_OPERAND = {
    1: "compiled = FAST.get({a}._kind)",
    2: """c, g = {b}.__class__, None
    if c in PLAIN:
        apart = {b}._storage is None or {b}._storage is not {a}._storage or {b} is {a}
        apart = apart and {b}._geometry.ndim <= {a}._geometry.ndim
        compiled = FAST.get({a}._kind) if apart and {b}._kind is {a}._kind else None
        y, g = {b}._array, {b}._grad_node
    else:
        compiled = FAST.get(({a}._kind, c)) if c in NUMBERS else None
        if compiled is not None:
            y = scalar({b}, compiled.scalar_np)""",
}


@cache
def build(row: Row) -> Callable[..., Any]:
    """The callable behind `name_`."""
    if row.kind == "view" or row.options.get("is_view"):
        return _intercepted(row, _geometric(row))
    if row.options.get("fill"):
        return _filling(silent(row, row.body), row.options["few"], _intercepted(row, _generic(row)))
    if row.kind != "pointwise":
        return _writing(row) if "into" in row.options else _intercepted(row, _generic(row))
    direct = _pointwise(row)
    intercepted = _intercepted(row, direct)
    general = pointwise.planned(row, direct, intercepted, row.params, in_place=True)
    general.__doc__ = intercepted.__doc__
    chosen = pointwise.simple(row)
    if chosen is None:
        return general
    formula, operands, others = chosen
    a, b = operands[0].name, operands[-1].name
    count = len(operands)
    text = _FAST.format(
        name=row.name + "_",
        sig=signature.source(row.params) + ", **extra",
        a=a,
        plain="".join(f" or {p.name} is not _default_{p.name}" for p in others) + " or extra",
        call=", ".join(f"{p.name}={p.name}" for p in row.params) + ", **extra",
        operand=_OPERAND[count].format(a=a, b=b),
        other=" or g is not None" if count == 2 else "",
        arrays="x, y" if count == 2 else "x",
    )
    made = overrides.compile_callable(
        text,
        row,
        {
            **pointwise.SCOPE,
            "general": general,
            "FAST": formula.fast,
            **{f"_default_{p.name}": p.default for p in row.params},
        },
        direct,
        "_",
    )
    made.__doc__ = general.__doc__
    return made


# What rows with the option `into` do where nothing is unusual: as `_generic`, without its questions.
_INTO = """
def {name}_({sig}, **extra):
    if {unlike}:
        return general({call}, **extra)
    _s = {a}._storage
    if not usual({a}, _s, ({others})):
        return general({call}, **extra)
    if {a}._kind not in TAKEN:
        taken({a})
    token = hush()
    try:
        into({arrays})
    finally:
        restore(token)
    if _s is None:
        _s = storage({a})
    _s.version += 1
    return {a}
"""


def _writing(row: Row) -> Callable[..., Tensor]:
    """The callable of a row that writes where its first operand stands."""
    direct = _generic(row)
    general, params = _intercepted(row, direct), row.params
    if any(p.varargs for p in params):
        return general
    known: set[Any] = set()

    def taken(t: Tensor) -> None:
        check_dtype(row.refusals(t._kind), t._kind.dtype, t._array)
        if t._geometry.size and not WIDE_DTYPES.used:
            known.add(t._kind)

    unlike = [f"({c})" if " and " in c else c for p in params for c in by_prologue.unlike(p)]
    text = _INTO.format(
        name=row.name,
        sig=signature.source(params),
        a=params[0].name,
        unlike=" or ".join(["extra", *unlike]),
        call=", ".join(f"{p.name}={p.name}" for p in params),
        others="".join(f"{p.name}, " for p in params[1:] if by_arrays.is_operand(p)),
        arrays=", ".join(map(by_arrays.array_of, params)),
    )
    scope = {
        **pointwise.SCOPE,
        "general": general,
        "usual": _usual,
        "TAKEN": known,
        "taken": taken,
        "hush": hush,
        "restore": restore,
        "into": by_keyword(row, row.options["into"]),
        "Tensor": Tensor,
        "NUMBERS": NUMBERS,
        "LISTS": frozenset({list, tuple}),
        "INT": frozenset({int}),
        "DTYPE": dtype,
        **{f"_default_{p.name}": p.default for p in params},
    }
    made = overrides.compile_callable(text, row, scope, direct, "_")
    made.__doc__ = general.__doc__
    return made


def _usual(target: Tensor, memory: Any, others: Sequence[Any]) -> bool:
    """Whether anybody may write to a plain tensor, outside the graph, what plain operands beside it hold."""
    if (
        target._kind.special
        or TAPE
        or 0 in target._geometry.strides
        or LOCAL.transforms
        or (target._grad_node is not None and LOCAL.enabled)
        or (memory is not None and memory.inference)
    ):
        return False
    for t in others:
        if t.__class__ in (list, tuple):
            if not _usual(target, memory, t):
                return False
        elif isinstance(t, Tensor) and (
            t._kind.special
            or (t._grad_node is not None and LOCAL.enabled)
            or np.may_share_memory(t._array, target._array)
        ):
            return False
    return True


class _Few:
    """How a fill by these numbers makes few of a kind at once, from its second call on."""

    __slots__ = ("of", "numbers", "transform", "asked")

    def __init__(self, kind: Any, *numbers: Any) -> None:
        self.of, self.numbers, self.asked = kind.dtype, numbers, kind.special
        self.transform: WordTransform | None = None

    def filled(self, few: Callable[..., WordTransform | None]) -> None:
        """The first call went well."""
        self.asked, self.transform = True, few(self.of, *self.numbers)


def _filling(body: Callable[..., Any], few: Any, general: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A fill: by plain numbers nothing is asked but whether the memory is free."""
    known: Callable[..., _Few] = lru_cache(maxsize=64, typed=True)(_Few)

    @wraps(general)
    def fill(input: Tensor, *numbers: Any, **named: Any) -> Tensor:
        if (
            MODES
            or TAPE
            or named
            or input.__class__ is not Tensor
            or input._grad_node is not None
            or (numbers and not NUMBERS.issuperset(map(type, numbers)))
        ):
            return general(input, *numbers, **named)
        a, s, drawn, kept = input._array, input._storage, None, known(input._kind, *numbers)
        if kept.transform and a.flags.c_contiguous and (s is None or not s.inference):
            drawn = (OF_THREAD.engine or default_engine()).cut(kept.transform, a.shape)
        elif not free(input):
            return general(input, *numbers, **named)
        a[...] = body(a, *numbers) if drawn is None else drawn
        if not kept.asked and a.size:
            kept.filled(few)
        (storage(input) if s is None else s).version += 1
        return input

    return fill


def _intercepted(row: Row, run: Callable[..., Any]) -> Callable[..., Any]:
    setattr(run, "writes", True)  # for interpreters, which get the functional row
    variant = overrides.entrance(row, run)
    variant.__name__ = variant.__qualname__ = f"{row.name}_"
    variant.__doc__ = f"In-place version of {row.name}."
    return variant


def _pointwise(row: Row) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        bound = arguments.bind(row, args, kwargs)
        target = bound[row.params[0].name]
        if not isinstance(target, Tensor):
            raise wrong_type(f"{row.name}_", "self", "Tensor", target)
        if target._kind.lazy:
            return through(lambda own: run(**{**bound, row.params[0].name: own}), target, *bound.values())
        formula, values = pointwise.resolve(row, bound)
        tracked = LOCAL.enabled and any(isinstance(v, Tensor) and v._grad_node is not None for v in values)
        check_writable(target, tracked)
        result = cast.result_dtype(formula.result, formula.compute_dtype(values, False))
        refuse_overlap(target, values)
        _check_result(row, result, target, values)
        if tracked:
            write(target, formula(*_own_copies(formula, target, values)))
        else:
            formula.write_result(target, values)
            storage(target).version += 1
        return target

    return run


def _check_result(row: Row, result: Any, target: Tensor, values: list[Any]) -> None:
    shape = target._geometry.shape
    for v in values:
        if isinstance(v, Tensor) and v._geometry.shape != shape:
            full = broadcast_shapes(*(u._geometry.shape for u in values if isinstance(u, Tensor)))
            if full != shape:
                raise RuntimeError(
                    f"output with shape {list(shape)} doesn't match the broadcast shape {list(full)}; "
                    f"{row.name}_ cannot change the shape of the tensor it writes to: use {row.name}"
                )
            break
    if row.options.get("inplace_exact") and result is not target._kind.dtype:
        raise RuntimeError(
            f"the base given to {row.name}_ has dtype {target._kind.dtype.legacy} but the "
            f"operation's result requires dtype {result.legacy}"
        )
    if row.result == "real" and target._kind.dtype.is_complex:
        raise RuntimeError(f"In-place {row.name} is not supported for complex tensors.")
    if not can_cast(result, target._kind.dtype):
        raise RuntimeError(
            f"result type {result.legacy} can't be cast to the desired output type "
            f"{target._kind.dtype.legacy}; {row.name}_ writes into a {target._kind.dtype} "
            f"tensor: use {row.name}, or convert the tensor first"
        )


def _own_copies(formula: Formula, target: Tensor, values: list[Any]) -> list[Any]:
    # A gradient that needs the overwritten operand gets a copy of what it held.
    edges = tuple(None if not isinstance(v, Tensor) or v._grad_node is None else v._grad_node for v in values)
    needed = formula.saves(edges, formula.compiled_for(values).complex_)
    if not any(values[formula.operands.index(n)] is target for n in needed if n != "result"):
        return values
    return [_copied(v, True) if v is target else v for v in values]


def _copied(t: Tensor, kept: bool) -> Tensor:
    """What a tensor holds now, at its place in the graph. kept: whether a gradient reads it."""
    if kept and LISTENING in WRAPPED:
        heard: Tensor | None = service("copy heard below autograd")(t)
        if heard is not None:
            return heard
    other: Tensor = object.__new__(Tensor)
    other._array, other._kind, other._grad_node, other._output_nr, other._storage = (
        t._array.copy("K"),
        t._kind.plain,
        t._grad_node,
        t._output_nr,
        None,
    )
    if TAPE:
        TAPE[-1].run(np.copy, (t._array,), other, (t,))
    return other


def _geometric(row: Row) -> Callable[..., Any]:
    """transpose_ and its like: the tensor itself takes the view's sizes, strides and node."""

    def run(*args: Any, **kwargs: Any) -> Any:
        from rushlight._engine.dispatch.dispatcher import function  # it imports this file

        target, rest = _target(row, args, kwargs)
        refuse_inference(target)
        before = target
        if getattr(target, "_view_of", None) is not None and type(target) is Tensor:
            # From now on it is a view of the view that it was.
            before = alias(target, target._grad_node, target._output_nr)
            before._view_of = target._view_of
        seen = function(row)(before, *rest, **kwargs)
        if before is not target:
            target._view_of = seen._view_of
        if target._grad_node is not None and LOCAL.enabled:
            check_writable(target, True)
            target._grad_node, target._output_nr = seen._grad_node, seen._output_nr
        place(target, seen._memory, target._kind)
        return target

    return run


def _generic(row: Row) -> Callable[..., Any]:
    into = by_keyword(row, row.options["into"]) if "into" in row.options else None
    reads = row.vjp is not None and row.params[0].name in read_by(row.vjp)

    def run(*args: Any, **kwargs: Any) -> Any:
        from rushlight._engine.dispatch.dispatcher import function  # it imports this file

        target, rest = _target(row, args, kwargs)
        if not isinstance(target, Tensor):
            raise wrong_type(f"{row.name}_", "self", "Tensor", target)
        if target._kind.lazy:
            return through(lambda own: run(own, *rest, **kwargs), target, *rest, *kwargs.values())
        operands = [v for v in (target, *rest, *kwargs.values()) if isinstance(v, Tensor)]
        tracked, backend, mixed = False, target._kind.backend, False
        for v in operands:
            tracked = tracked or v._grad_node is not None
            mixed = mixed or v._kind.backend is not backend
        tracked = tracked and LOCAL.enabled
        check_writable(target, tracked)
        if mixed:
            refuse_devices(operands, row=row)
        if not tracked and into is not None and not target._kind.off_cpu:
            bound = arguments.bind(row, (target, *rest), kwargs)
            _refuse_sharing(row, target, bound)
            check_dtype(row.refuse, target._kind.dtype, target._array)
            return _written(into, target, bound)
        source = _copied(target, reads) if tracked else target
        result = function(row)(source, *rest, **kwargs)
        if result is target:
            return target
        _refuse_sharing(row, target, arguments.bind(row, (target, *rest), kwargs))
        if result._geometry.shape != target._geometry.shape:
            raise RuntimeError(
                f"output with shape {list(target.shape)} doesn't match the broadcast "
                f"shape {list(result.shape)}"
            )
        if not can_cast(result._kind.dtype, target._kind.dtype):
            raise RuntimeError(
                f"result type {result._kind.dtype.legacy} can't be cast to the desired "
                f"output type {target._kind.dtype.legacy}"
            )
        write(target, result)
        return target

    return run


def _refuse_sharing(row: Row, target: Tensor, bound: dict[str, Any]) -> None:
    """Refuse what PyTorch does of memory that elements or operands share; what fills is a number.

    The row's option `shares` says what it allows or refuses beside the usual: "expanded" memory may be
    written to, "nothing" may lie even in the same place, and "all" asks about no operand.
    """
    shares = row.options.get("shares", ())
    if "expanded" not in shares:
        check_apart_from_itself(target._geometry)
    if "all" not in shares:
        operands = [v for name, v in bound.items() if name not in (row.params[0].name, "value")]
        refuse_shared(target, operands, "nothing" in shares)


def free(t: Any) -> bool:
    """Whether anybody may write to a plain tensor, and nobody need know."""
    return (
        t.__class__ is Tensor
        and t._grad_node is None
        and not t._kind.special
        and not TAPE
        and 0 not in t._geometry.strides
        and (t._storage is None or not t._storage.inference)
        and not LOCAL.transforms
    )


def through(run: Callable[[Tensor], Any], target: Tensor, *operands: Any) -> Tensor:
    """A write into a lazy view: run(a copy of its values), which are written back."""
    tracked = any(isinstance(v, Tensor) and v._grad_node is not None for v in operands)
    check_writable(target, LOCAL.enabled and tracked)
    refuse_overlap(target, ())
    own = _copied(target, False)
    run(own)
    write(target, own)
    return target


def _written(into: Callable[..., Any], target: Tensor, bound: dict[str, Any]) -> Tensor:
    """Rows with the option `into` write where the tensor stands: into(array, other arguments)."""
    first, *values = arrays_of(list(bound.values()))
    for v in values:
        if v.__class__ is np.ndarray and np.may_share_memory(v, first):
            values = [v.copy() if isinstance(v, np.ndarray) else v for v in values]
            break
    values.insert(0, first)
    token = hush()
    try:
        into(*values)
    finally:
        restore(token)
    if TAPE:
        TAPE[-1].write(into, tuple(values), tuple(bound.values()))
    storage(target).version += 1
    return target


def _target(row: Row, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    if args:
        return args[0], args[1:]
    return kwargs.pop(row.params[0].name), ()


def write(target: Tensor, result: Tensor) -> None:
    """`target` takes the values of `result`, and its place in the graph."""
    overwrite(target, result)
    storage(target).version += 1
    if LOCAL.enabled and (result._grad_node is not None or target._grad_node is not None):
        rebase(target, result)
        keep_target(result, target)
