"""The callables of pointwise rows: a generated fast path over a general one.

The fast path is for plain tensors of one kind (or a tensor and a Python number) with default attributes: look
up the compiled formula, run its kernel, wrap the result, record a node where needed. Attributes, other
operands and out= go by a plan that was learnt from a call with arguments of the same classes. The rest
(interpreters, subclasses, errors) is `general`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.core.accelerator import asarray
from rushlight._engine.core.recording import constant
from rushlight._engine.derive import vjp
from rushlight._engine.dispatch import arguments, interpreters, node_names, out_arguments, overrides
from rushlight._engine.dispatch.generated_code import MAKING, compile_function, made
from rushlight._engine.dispatch.nodes.written_results import to_be_recorded
from rushlight._engine.dispatch.number_operands import NUMBERS, scalar
from rushlight._engine.dispatch.runners.formulas import Formula
from rushlight._engine.dispatch.runners.laid_out import may_differ
from rushlight._engine.ops import signature
from rushlight._engine.ops.expressions import const, symbol
from rushlight._engine.ops.row_kernels import BIG, BROAD, ROWS_OF_IT
from rushlight._engine.ops.table import REFUSALS, Row
from rushlight._engine.tensors.construction.from_data import infer
from rushlight._engine.tensors.tensor import Tensor, storage, wrap

# A tensor around r.
_MADE = "t", "r if r.__class__ is ndarray else asarray(r)", "compiled.result_kind"
_TEMPLATE = {
    1: """
def {name}({sig}):
    if out is not None or {a}.__class__ not in PLAIN{plain}:
        return general({call})
    compiled = FAST.get({a}._kind)
    if compiled is None:
        return general({call})
    x = {a}._array
    r = compiled.laid(x) if x.size < BIG else compute_large(compiled, x)
{made}    if {a}._grad_node is not None and LOCAL.enabled:
        record(compiled, t, ({a},))
    return t
""",
    2: """
def {name}({sig}):
    if out is not None or {a}.__class__ not in PLAIN{plain}:
        return general({call})
    c = {b}.__class__
    if c in PLAIN:
        compiled = FAST.get({a}._kind) if {b}._kind is {a}._kind else None
        if compiled is None:
            return general({call})
        y = {b}._array
        g = {b}._grad_node
    else:
        compiled = FAST.get(({a}._kind, c)) if c in NUMBERS else None
        if compiled is None:
            return general({call})
        y = scalar({b}, compiled.scalar_np)
        g = None
    x = {a}._array
    try:
        r = compiled.laid(x, y) if x.size < FEW and y.size < FEW or (
            x.size < BIG and y.size < BIG and (x.shape == y.shape or few(x.shape, y.shape))
        ) else compute_large_pair(compiled, x, y)
    except ValueError:
        return general({call})
{made}    if (g is not None or {a}._grad_node is not None) and LOCAL.enabled:
        record_pair(compiled, t, {a}, {b}, g)
    return t
""",
}


_PLANNED = """
def {name}({sig}):
    if extra or out is not None:
{into}        return general({call})
    try:
        plan = PLANS.get(({key},))
    except TypeError:
        return general({call})
    if plan is None:
        return learn(({key},), ({values}), general({call}))
    return plan({values})
"""
# A plan for operands of these classes: x1 is the array of the tensor or number v1.
_PLAN = """
def make(formula, general, check):
    record, compiled_by_kinds = formula.record, formula.compiled_by_kinds
    def plan({given}):
        {check}
        {arrays}
        compiled = compiled_by_kinds.get(({key},))
        if compiled is None or compiled.result_kind.off_cpu:
            return formula({values})
        {scalars}
        try:
            {computed}
        except ValueError:
            return formula({values})
{made}        if ({tracked}) and LOCAL.enabled:
            record(compiled, t, ({values},))
        return t
    return plan
"""
# Before that, for a tensor that takes the result.
_INTO = """        if not extra and out.__class__ in PLAIN:
            try:
                plan = OUTS.get(({key},))
            except TypeError:
                plan = None
            if plan is None:
                return learn_out(({key},), ({values}), general({call}))
            if plan({values} out):
                return out
"""
# Its plan: for one like the results, beside operands of its shape or numbers. False where it is none such.
_PLAN_OUT = """
def make(compiled_by_kinds, check):
    def plan({given}, out):
        {check}
        {arrays}
        r, s, compiled = out._array, out._storage, compiled_by_kinds.get(({key},))
        if compiled is None or compiled.result_kind is not out._kind or compiled.result_kind.off_cpu:
            return False
        if 0 in r.strides or ({unlike}LOCAL.enabled and ({tracked} or LOCAL.transforms)):
            return False
        if s is not None and (s.inference{apart}):
            return False
        {scalars}
        compiled.fn({operands}, out=r) if r.size < BIG else compiled.large({operands}, out=r)
        (storage(out) if s is None else s).version += 1
        return True
    return plan
"""
# The same that writes into the first; whatever may not be written to so simply goes the general way.
_PLAN_IN_PLACE = """
def make(formula, general, check):
    compiled_by_kinds = formula.compiled_by_kinds
    def plan({given}):
        {check}
        {arrays}
        compiled = compiled_by_kinds.get(({key},))
        s = v0._storage
        if compiled is None or compiled.result_kind is not v0._kind or compiled.result_kind.off_cpu:
            return general({given})
        if 0 in x0.strides or (s is not None and (s.inference{apart})):
            return general({given})
        {scalars}
        values = None
        if LOCAL.enabled and ({tracked} or LOCAL.transforms):
            values = to_be_recorded(formula, compiled, ({values},))
            if values is None:
                return general({given})
        try:
            compiled.fn({operands}, out=x0) if x0.size < BIG else compiled.large({operands}, out=x0)
        except ValueError:
            return general({given})
        (storage(v0) if s is None else s).version += 1
        if values is not None:
            formula.record(compiled, v0, values)
            v0._output_nr = 0
        return v0
    return plan
"""


@lru_cache(maxsize=4096)
def _few_together(one: tuple[int, ...], two: tuple[int, ...]) -> bool:
    """Whether two shapes broadcast to fewer elements than are worth a loop over rows of its own."""
    if len(one) < len(two):
        one, two = two, one
    ahead = len(one) - len(two)
    if not two:
        return True
    size = math.prod(one[:ahead]) * math.prod(map(max, one[ahead:], two))
    return size < BROAD or size < ROWS_OF_IT * max(one[-1], two[-1])


# What the generated functions see beside their own row.
SCOPE: dict[str, Any] = {
    **MAKING,
    "PLAIN": interpreters.PLAIN,
    "BIG": BIG,
    "FEW": math.isqrt(BROAD),  # of two operands, whose result is not BROAD however they broadcast
    "few": _few_together,
    "ndarray": np.ndarray,
    "asarray": asarray,
    "LOCAL": LOCAL,
    "NUMBERS": NUMBERS,
    "scalar": scalar,
    "compute_ordered": Formula.compute_ordered,
    "may_differ": may_differ,
    "compute_large": Formula.compute_large,
    "compute_large_pair": Formula.compute_large_pair,
    "storage": storage,
    "to_be_recorded": to_be_recorded,
}


def simple(row: Row) -> tuple[Formula, list[Any], list[Any]] | None:
    """(formula, operands, attributes) of a row with a fast path: its attributes have their defaults."""
    operands = [p for p in row.params if p.is_tensor]
    others = [p for p in row.params if not p.is_tensor]
    if (
        len(operands) not in _TEMPLATE
        or any("None" in p.type for p in operands)
        or row.options.get("check")
        or any(p.default is signature.REQUIRED for p in others)
    ):
        return None
    return variant(row, {p.name: p.default for p in others}), operands, others


def build(row: Row) -> Callable[..., Any]:
    """The functional callable of a pointwise row."""
    params = public_params(row)
    direct, entrance = _general(row)
    general = planned(row, direct, entrance, params)
    chosen = simple(row)
    if chosen is None:
        return general
    formula, operands, others = chosen
    others += [p for p in params if p not in row.params]
    text = _TEMPLATE[len(operands)].format(
        name=row.name,
        sig=signature.source(params, out=True) + ", **extra",
        plain="".join(f" or {p.name} is not _default_{p.name}" for p in others) + " or extra",
        call=", ".join(f"{p.name}={p.name}" for p in params) + ", out=out, **extra",
        a=operands[0].name,
        b=operands[-1].name,
        made=made(*_MADE, 4),
    )
    scope = {
        **SCOPE,
        "general": general,
        "FAST": formula.fast,
        "record": formula.record,
        "record_pair": formula.record_pair,
        **{f"_default_{p.name}": p.default for p in params},
    }
    return overrides.compile_callable(text, row, scope, direct)


class _Learner:
    """The plans of a row's calls, `plans` and those with out=, `outs`, and what makes them of a call."""

    def __init__(self, row: Row, general: Callable[..., Any], order: list[str], in_place: bool) -> None:
        self.row, self.general, self.order, self.in_place = row, general, order, in_place
        self.plans: dict[Any, Any] = {}
        self.outs: dict[Any, Any] = {}
        self.checks = [row.options[name] for name in ("check", "verify") if name in row.options]

    def check(self, *values: Any) -> None:
        """What the row asks of arguments."""
        for look in self.checks:
            look(dict(zip(self.order, values, strict=True)))

    def run_general(self, *values: Any) -> Any:
        """The general way."""
        return self.general(**dict(zip(self.order, values, strict=True)))

    def formula(self, values: tuple[Any, ...]) -> tuple[Formula, tuple[type | None, ...]] | None:
        """The formula of such a call and its operands' classes, None for others; None if it has no plan."""
        given = dict(zip(self.order, values, strict=True))
        if (
            given.pop("inplace", False)
            or not all(_plain(p, given[p.name]) for p in self.row.params)
            or any(check(given) for check in self.checks)
            or not any(isinstance(v, Tensor) for v in given.values())
        ):
            return None
        formula = variant(
            self.row,
            {p.name: given[p.name] for p in self.row.params if not p.is_tensor or given[p.name] is None},
        )
        return formula, tuple([given[n].__class__ if n in formula.operands else None for n in self.order])

    def learn(self, key: Any, values: tuple[Any, ...], found: Any) -> Any:
        """Make the plan of a call that gave `found`."""
        known = self.formula(values)
        if known is None:
            self.write(key, values)
            return found
        if self.in_place and known[1][0] not in interpreters.PLAIN:
            return found
        formula, classes = known
        make = _maker(classes, bool(self.checks), self.in_place)
        self.plans[key] = make(formula, self.run_general, self.check)
        return found

    def write(self, key: Any, values: tuple[Any, ...]) -> None:
        """The plan of a call with inplace=True: the variant that writes into its input."""
        if "inplace" not in self.order:
            return
        at = self.order.index("inplace")
        if values[at] is not True:
            return
        if any(hasattr(c, "__torch_function__") and c not in interpreters.PLAIN for c in map(type, values)):
            return  # a class of its own hears of the function that was called, not of the variant
        from rushlight._engine.dispatch.runners import in_place  # it imports this file

        names, written = [*self.order[:at], *self.order[at + 1 :]], in_place.build(self.row)

        def plan(*values: Any) -> Any:
            return written(**dict(zip(names, values[:at] + values[at + 1 :], strict=True)))

        self.plans[key] = plan

    def learn_out(self, key: Any, values: tuple[Any, ...], found: Any) -> Any:
        """The same with out=."""
        known = self.formula(values)
        if known is not None and known[0].operands:
            make = _out_maker(known[1], bool(self.checks))
            self.outs[key] = make(known[0].compiled_by_kinds, self.check)
        return found


def planned(
    row: Row,
    direct: Callable[..., Any],
    general: Callable[..., Any],
    params: tuple[signature.Param, ...],
    in_place: bool = False,
) -> Callable[..., Any]:
    """`general` behind a table of plans: by the classes of operands and numbers, and other attributes."""
    keys = [
        f"{p.name}.__class__"
        if p.is_tensor
        else f"{p.name} is _default_{p.name} or {p.name}.__class__"
        if p.is_number
        else f"{p.name}, {p.name}.__class__"
        for p in params
    ]
    learner, with_out = _Learner(row, general, [p.name for p in params], in_place), not in_place
    words = {
        "key": ", ".join(keys),
        "values": "".join(f"{p.name}, " for p in params),
        "call": ", ".join([*[f"{p.name}={p.name}" for p in params], *["out=out"] * with_out, "**extra"]),
    }
    text = _PLANNED.format(
        name=f"{row.name}{'_' * in_place}",
        sig=signature.source(params, out=with_out) + ", **extra",
        into=_INTO.format(**words) if with_out else "",
        **words,
    )
    scope = {
        **SCOPE,
        "general": general,
        "PLANS": learner.plans,
        "OUTS": learner.outs,
        "learn": learner.learn,
        "learn_out": learner.learn_out,
        "out": None,
    }
    return overrides.compile_callable(
        text, row, {**scope, **{f"_default_{p.name}": p.default for p in params}}, direct, "_" * in_place
    )


@cache
def _maker(classes: tuple[type | None, ...], checked: bool, in_place: bool = False) -> Callable[..., Any]:
    """What makes plans for arguments of these classes; those of None are no operands."""
    given = [f"v{i}" for i in range(len(classes))]
    values = [v for v, c in zip(given, classes, strict=True) if c]
    numbers = [v for v, c in zip(given, classes, strict=True) if c in NUMBERS]
    tensors = [v for v in values if v not in numbers]
    arrays = {v: v.replace("v", "x") for v in values}
    kinds = [f"({v}._kind, not {arrays[v]}.shape)" if v in tensors else f"{v}.__class__" for v in values]
    apart = "".join([f" or ({v} is not v0 and {v}._storage is s)" for v in tensors[1:]])
    text = (_PLAN_IN_PLACE if in_place else _PLAN).format(
        given=", ".join(given),
        values=", ".join(values),
        check=f"check({', '.join(given)})" * checked,
        arrays="; ".join(f"{arrays[v]} = {v}._array" for v in tensors),
        key=", ".join(kinds),
        apart=apart,
        computed=_computed(list(arrays.values()), [arrays[v] for v in tensors]),
        scalars="; ".join(f"{arrays[v]} = scalar({v}, compiled.scalar_np)" for v in numbers),
        operands=", ".join(arrays.values()),
        tracked=" or ".join(f"{v}._grad_node is not None" for v in tensors),
        made=made(*_MADE, 8),
    )
    return compile_function(text, "make", dict(SCOPE), "plan")


def _computed(arrays: list[str], tensors: list[str]) -> str:
    """The statement of a plan that computes `r` of these arrays, of which some are tensors'."""
    given, small = ", ".join(arrays), " and ".join(f"{x}.size < BIG" for x in tensors)
    fewer = f"compiled.fn({given}) if {small} else compiled.large({given})"
    if tensors == arrays[:1]:
        return f"r = compiled.laid({given}) if {small} else compute_large(compiled, {given})"
    seen = ", ".join(f"({x}.shape, {x}.strides, {x}.itemsize)" for x in arrays)
    *others, last = tensors
    apart = " or ".join([*[f"not {x}.flags.c_contiguous" for x in others], f"may_differ({last})"])
    return f"r = compute_ordered(compiled, ({seen},), ({given},)) if {apart} else {fewer}"


@cache
def _out_maker(classes: tuple[type | None, ...], checked: bool) -> Callable[..., Any]:
    """What makes plans for such arguments and a tensor that takes the result."""
    given = [f"v{i}" for i in range(len(classes))]
    values = [v for v, c in zip(given, classes, strict=True) if c]
    numbers = [v for v, c in zip(given, classes, strict=True) if c in NUMBERS]
    tensors, arrays = [v for v in values if v not in numbers], {v: v.replace("v", "x") for v in values}
    kinds = [f"({v}._kind, not {arrays[v]}.shape)" if v in tensors else f"{v}.__class__" for v in values]
    text = _PLAN_OUT.format(
        given=", ".join(given),
        check=f"check({', '.join(given)})" * checked,
        arrays="; ".join(f"{arrays[v]} = {v}._array" for v in tensors),
        key=", ".join(kinds),
        unlike="".join(f"{arrays[v]}.shape != r.shape or " for v in tensors),
        apart="".join(f" or ({v} is not out and {v}._storage is s)" for v in tensors),
        scalars="; ".join(f"{arrays[v]} = scalar({v}, compiled.scalar_np)" for v in numbers),
        operands=", ".join(arrays.values()),
        tracked=" or ".join(f"{v}._grad_node is not None" for v in [*tensors, "out"]),
    )
    return compile_function(text, "make", dict(SCOPE), "plan with out")


def _plain(p: signature.Param, value: Any) -> bool:
    """Whether all arguments of this one's class (of this value, for an attribute) take the same way."""
    if p.is_tensor:
        plain = value is None or value.__class__ in interpreters.PLAIN
        return plain or (p.takes_number and value.__class__ in NUMBERS)
    if p.is_number:
        return value is p.default or (value.__class__ in NUMBERS and not _same_number(value, p.default))
    return not p.is_list and value.__class__ in (bool, int, float, str, type(None))


_variants: dict[tuple[Any, ...], Formula] = {}


def variant(row: Row, given: dict[str, Any]) -> Formula:
    """The row's Formula for these attributes; `given` maps non-operands (and absent operands)."""
    call: dict[str, Any] = {}
    key: list[Any] = [row.name]
    operands: list[str] = []
    for p in row.params:
        value = given.get(p.name, symbol) if not p.is_static else given[p.name]
        if p.is_static:
            call[p.name] = value
            key.append(value)
        elif value is None:
            call[p.name] = None
            key.append(None)
        elif p.is_number and value is not symbol and _same_number(value, p.default):
            call[p.name] = const(value)
            key.append(0)
        else:
            call[p.name] = symbol(p.name)
            operands.append(p.name)
            key.append(1)
    found = _variants.get(tuple(key))
    if found is None:
        promoting = [
            p.name for p in row.params if p.is_tensor and p.name not in row.options.get("not_promoting", ())
        ]
        wide = row.options.get("wide", ())
        narrow = {p.name for p in row.params if p.takes_number}.intersection(promoting).difference(wide)
        root, gradients = row.body(**call), row.options.get("gradients")
        found = _variants[tuple(key)] = Formula(
            row.options.get("node", row.name),
            root,
            operands,
            row.dtypes,
            row.result,
            row.refuse | REFUSALS.get(f"{row.name}/{len(operands)}", {}),
            promoting,
            node_names.label(row),
            {n: v for n, v in call.items() if n not in operands},
            sorted(narrow.union(row.options.get("narrow", ()))),
            wide,
            None if gradients is None else gradients(vjp.GRAD, vjp.RESULT, **call),
        )
    return found


def _same_number(value: Any, default: Any) -> bool:
    return type(value) is type(default) and value == default and repr(value) == repr(default)


def resolve(row: Row, bound: dict[str, Any]) -> tuple[Formula, list[Any]]:
    """The Formula for bound arguments, and its operands' values in order."""
    check = row.options.get("check")
    if check is not None:
        bound = check(bound) or bound
    # Like check, but of attributes only: their defaults pass, so that the fast path may skip it.
    verify = row.options.get("verify")
    if verify is not None:
        verify(bound)
    given = {p.name: bound[p.name] for p in row.params if not p.is_tensor or bound[p.name] is None}
    formula = variant(row, given)
    values = [bound[name] for name in formula.operands]
    if not any(isinstance(v, Tensor) for v in values):
        if row.options.get("of_numbers") and all(map(arguments.is_number, values)):
            first = arguments.plain_number(values[0])
            return formula, [wrap(constant(infer(first, None))), *values[1:]]
        raise TypeError(
            f"{row.name}(): argument '{row.params[0].name}' (position 1) must be Tensor, "
            f"not {type(values[0]).__name__}"
        )
    return formula, values


def public_params(row: Row) -> tuple[signature.Param, ...]:
    """The parameters as callers see them: nn.functional's functions take `inplace` too."""
    functional = row.inplace and "nn.functional" in row.where
    return signature.with_inplace(row.params) if functional else row.params


def _general(row: Row) -> tuple[Callable[..., Any], Callable[..., Any]]:
    params = public_params(row)

    def direct(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        bound = arguments.bind(row, args, kwargs, params)
        if bound.pop("inplace", False):
            from rushlight._engine.dispatch.runners import in_place  # it imports this file

            return in_place.build(row)(**bound)
        formula, values = resolve(row, bound)
        if out is None:
            return formula(*values)
        return out_arguments.compute_into(
            row.name, out, values, lambda: formula(*values), partial(formula.try_write_result, values)
        )

    return direct, overrides.entrance(row, direct)
