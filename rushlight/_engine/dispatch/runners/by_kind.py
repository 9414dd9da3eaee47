"""One runner per kind of row: takes checked arguments in the order of the row's parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.in_place import SplitView, View, ViewStep
from rushlight._engine.core.recording import TAPE
from rushlight._engine.dispatch import node_names
from rushlight._engine.dispatch.interpreters import MODES, STACK
from rushlight._engine.dispatch.nodes import transposed
from rushlight._engine.dispatch.nodes.declared import Rules
from rushlight._engine.dispatch.runners.array_bodies import array_runner, by_keyword, refusal, tracked
from rushlight._engine.dispatch.runners.plans import planner
from rushlight._engine.dispatch.runners.reductions import reduce_runner
from rushlight._engine.dispatch.runners.views import view_runner
from rushlight._engine.ops.table import Row
from rushlight._engine.tensors.tensor import Tensor

Run = Callable[..., Any]


def runner(row: Row) -> Run:
    """The function that runs a row on checked arguments."""
    run = _RUNNERS[row.kind](row)
    run = _refusing(row, run) if row.refuse and not getattr(run, "checks", False) else run
    planned = row.kind in ("view", "reduce") or (
        row.kind == "composite" and (row.options.get("planned") or row.name.startswith("conv"))
    )
    return planner(row, run) if planned else run


def _refusing(row: Row, run: Run) -> Run:
    """The runner behind a check of the first operand's dtype."""
    taken, check = refusal(row)

    def checked(*values: Any) -> Any:
        if values[0]._kind not in taken:
            check(*values)
        return run(*values)

    return checked


def _composite(row: Row, rules: Rules | None) -> Run:
    """The composite body, run as one op with the row's own gradient; its `record` leaves the node of a
    planned call behind.
    """

    def run(*values: Any) -> Any:
        return _composite_with_rule(row, rules, values)

    if rules is not None and not row.options.get("views"):
        run.__dict__["record"] = rules.record
    return run


def opaque_runner(row: Row) -> Run:
    """A hand-written kernel on arrays."""
    rules = Rules(row, row.vjp) if row.vjp is not None else None
    return array_runner(row, row.body, rules, _composite(row, rules), by_name=True)


def composite_runner(row: Row) -> Run:
    """Other rows; fused into one kernel and one node where the row declares them."""
    if row.vjp is None:
        body = node_names.labelled(row, by_keyword(row, row.body))
        return body if row.fused is None else _fused_or_body(row, row.fused, body)
    rules = Rules(row, row.vjp)
    if row.fused is not None:
        return array_runner(row, row.fused, rules, _composite(row, rules))
    return _composite(row, rules)


def _fused_or_body(row: Row, kernel: Callable[..., Any], body: Callable[..., Any]) -> Run:
    """The fused kernel where nothing is recorded; else the body, whose rows bring gradients."""
    fused = array_runner(row, kernel, None, _composite(row, None))
    return lambda *values: body(*values) if tracked(values) else fused(*values)


def _composite_with_rule(row: Row, rules: Rules | None, values: Sequence[Any]) -> Any:
    body = by_keyword(row, row.body)
    if rules is None or not tracked(values):
        out = body(*values)
        if row.options.get("views") and values[0].__class__ is Tensor:
            _mark_several(out)
        else:
            _make_whole(values, out)
        return out
    before, LOCAL.enabled = LOCAL.enabled, False
    try:
        # Where nothing is recorded the row has plans.
        if (MODES and STACK.modes) or not row.options.get("planned"):
            out = body(*values)
        elif row.options.get("views") and values[0].__class__ is Tensor:
            out = row.call(values[0].detach(), *values[1:])  # views that have no node yet
        else:
            out = row.call(*values)
    finally:
        LOCAL.enabled = before
    rules.record(values, out)
    if not row.options.get("views"):
        _make_whole(values, out)
    else:
        # Parts of a view that has several cannot be written to: their one node knows only all of them.
        called = (
            out[0]._grad_node.name().removesuffix("Backward0")
            if out and out[0]._grad_node is not None
            else row.name
        )
        for part in out:
            part._view_of = View(values[0], None, called, None)
    return out


def _make_whole(values: Sequence[Any], out: Any) -> None:
    """A view of a tensor that the body has made is none to whoever called, as nobody else has that tensor."""
    for t in out if isinstance(out, (tuple, list)) else (out,):
        view = getattr(t, "_view_of", None)
        if view is None:
            continue
        known = [(v, getattr(v, "_view_of", None)) for v in values if isinstance(v, Tensor)]
        if not any([view[0] is v or (of is not None and view[0] is of[0]) for v, of in known]):
            note = getattr(TAPE[-1], "made_whole", None) if TAPE else None
            if note is not None:
                note(t)
            t._view_of = None


def _mark_several(parts: Any) -> None:
    """Note that views come from one call, in the step that plans take again."""
    for part in parts:
        view = View(*part._view_of)
        again = SplitView(view.again)
        step = None if view.step is None else ViewStep(*view.step)._replace(again=again)
        part._view_of = view._replace(again=again, step=step)


def mapped_runner(row: Row) -> Run:
    """A read at coordinates or a contraction by labels: a kernel, and the gradient that the map gives."""
    derived = transposed.index_rule if row.kind == "index" else transposed.contract_rule
    rules = Rules(row, row.vjp or derived(row))
    return array_runner(row, row.fused, rules, _composite(row, rules))  # type: ignore[arg-type]


_RUNNERS: dict[str, Callable[[Row], Run]] = {
    "opaque": opaque_runner,
    "composite": composite_runner,
    "view": view_runner,
    "index": mapped_runner,
    "contract": mapped_runner,
    "reduce": reduce_runner,
}
