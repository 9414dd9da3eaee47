"""One runner per kind of row: takes checked arguments in the order of the row's parameters."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rushlight.autograd.inplace import track_view
from rushlight.autograd.mode import LOCAL
from rushlight.base.dtype import from_numpy_dtype
from rushlight.base.layout import Layout
from rushlight.dispatch import names, transposed
from rushlight.dispatch.formula import CATEGORY, refuse
from rushlight.dispatch.arrayrun import array_runner, tracked
from rushlight.dispatch.reducing import reduce_runner
from rushlight.dispatch.rules import Rules
from rushlight.ops.table import Row
from rushlight.tensor.kind import kind
from rushlight.tensor.storage import strided
from rushlight.tensor.tensor import Tensor, storage, wrap_view

Run = Callable[..., Any]


def runner(row: Row) -> Run:
    """The function that runs a row on checked arguments."""
    run = _RUNNERS[row.kind](row)
    return _refusing(row, run) if row.refuse else run


def _refusing(row: Row, run: Run) -> Run:
    """The runner behind a check of the first operand's dtype."""
    def checked(*values: Any) -> Any:
        of = values[0]._k.dtype
        text = row.refuse.get(CATEGORY[of.category])
        if text is not None:
            refuse(text, of)
        return run(*values)
    return checked


def _composite(row: Row, rules: Rules | None) -> Run:
    """The composite body, run as one op with the row's own gradient."""
    return lambda *values: _composite_with_rule(row, rules, values)


def by_keyword(row: Row, body: Callable[..., Any]) -> Callable[..., Any]:
    """`body` called with the row's arguments in order, keyword-only ones by name."""
    count = sum(not p.keyword_only for p in row.params)
    names = [p.name for p in row.params][count:]
    if not names:
        return body
    return lambda *values: body(*values[:count], **dict(zip(names, values[count:], strict=True)))


def opaque_runner(row: Row) -> Run:
    """A hand-written kernel on arrays."""
    rules = Rules(row, row.vjp) if row.vjp is not None else None
    return array_runner(row, row.body, rules, _composite(row, rules), by_name=True)


def composite_runner(row: Row) -> Run:
    """Other rows; fused into one kernel and one node where the row declares them."""
    if row.vjp is None:
        body = names.labelled(row, by_keyword(row, row.body))
        return body if row.fused is None else _fused_or_body(row, body)
    rules = Rules(row, row.vjp)
    if row.fused is not None:
        return array_runner(row, row.fused, rules, _composite(row, rules))
    return _composite(row, rules)


def _fused_or_body(row: Row, body: Callable[..., Any]) -> Run:
    """The fused kernel where nothing is recorded; else the body, whose rows bring gradients."""
    fused = array_runner(row, row.fused, None, _composite(row, None))  # type: ignore[arg-type]
    return lambda *values: body(*values) if tracked(values) else fused(*values)


def _composite_with_rule(row: Row, rules: Rules | None, values: Sequence[Any]) -> Any:
    body = by_keyword(row, row.body)
    if rules is None or not tracked(values):
        return body(*values)
    before, LOCAL.enabled = LOCAL.enabled, False
    try:
        out = body(*values)
    finally:
        LOCAL.enabled = before
    rules.record(values, out)
    if row.options.get("views"):
        # Parts of a view that has several cannot be written to: their one node knows only all of them.
        called = out[0]._g.name().removesuffix("Backward0") if out and out[0]._g is not None else row.name
        for part in out:
            part._b = (values[0], None, called)
    return out


def view_runner(row: Row) -> Run:
    """A view: NumPy's own where the row names one, else the layout map on the storage.

    The body gets the operand's Layout with offset 0 and answers with offset relative to it.
    """
    rules = Rules(row, row.vjp or transposed.view_rule(row))
    native = row.options.get("numpy")
    body = by_keyword(row, row.body)

    def array_view(t: Tensor, rest: Sequence[Any]) -> Any:
        a = t._a
        if native is not None:
            found = native(a, *rest)
            if found is not NotImplemented:
                return found
        step = a.itemsize
        layout = body(Layout(a.shape, tuple([s // step for s in a.strides])), *rest)
        flat = storage(t).bytes(a)
        if t._k.on_meta:
            from rushlight.tensor.meta import meta_array

            return meta_array(layout.sizes, a.dtype, layout.strides)
        return strided(flat, a.dtype, layout.sizes, layout.strides, t.storage_offset() + layout.offset)

    def again(t: Any, *rest: Any) -> Any:
        return run(t, *rest)

    def run(t: Tensor, *rest: Any) -> Any:
        array = array_view(t, rest)
        # The parts of complex numbers are views of another dtype.
        of = None if array.dtype == t._a.dtype else kind(from_numpy_dtype(array.dtype), t._k.device)
        out = wrap_view(array, t, of)
        track_view(out, t, again, rest)
        if t._g is not None and LOCAL.enabled:
            rules.record((t, *rest), out)
        return out
    return run


def index_runner(row: Row) -> Run:
    """A read at coordinates; its gradient adds at the same coordinates."""
    rules = Rules(row, row.vjp or transposed.index_rule(row))
    body = row.fused or transposed.index_read(row)
    return array_runner(row, body, rules, _composite(row, rules))


def contract_runner(row: Row) -> Run:
    """A contraction by labels; its gradients are contractions with permuted labels."""
    rules = Rules(row, row.vjp or transposed.contract_rule(row))
    body = row.fused or transposed.contract_run(row)
    return array_runner(row, body, rules, _composite(row, rules))


_RUNNERS: dict[str, Callable[[Row], Run]] = {
    "opaque": opaque_runner, "composite": composite_runner, "view": view_runner,
    "index": index_runner, "contract": contract_runner, "reduce": reduce_runner,
}
