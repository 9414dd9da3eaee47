"""How an op reaches those who listen below autograd, and how its result gets its place in the graph.

A listener is called with PyTorch's op and its arguments, while nothing is recorded. If it runs the very op
that it was told of, with the same arguments, that call records: its result has the node. Where the listener
gives another tensor (of its own class, with other values), that one takes the node over; where it never ran
the op, the row is run once more to have one, for wrapper classes on tensors without memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.in_place import check_writable, rebase, remember, view_chain, view_of
from rushlight._engine.autograd.saved_tensor_hooks import once_complete
from rushlight._engine.autograd.saved_tensors import twin
from rushlight._engine.core.pytree import flatten
from rushlight._engine.dispatch import arguments, interpreters
from rushlight._engine.dispatch.dispatcher import function
from rushlight._engine.dispatch.nodes.formula_nodes import keep_result
from rushlight._engine.dispatch.nodes.saved_arguments import kept
from rushlight._engine.dispatch.runners import pointwise
from rushlight._engine.dispatch.runners.array_bodies import by_keyword, tracked
from rushlight._engine.ops.signature import Param
from rushlight._engine.ops.table import ROWS, Row
from rushlight._engine.tensors.tensor import BELOW, Tensor, storage, wrap
from rushlight._torch_dispatch import decompositions, gradients, translation

Handler = Callable[..., Any]


class Call:
    """An op on its way to a listener; `found`: what it gave when the listener ran it."""

    def __init__(self, handler: Handler, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.handler, self.op, self.args, self.kwargs = handler, op, args, kwargs
        self.enabled, self.ran = LOCAL.enabled, False
        self.found: Any = None

    def is_of(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether somebody runs this very call."""
        return (
            op is self.op
            and len(args) == len(self.args)
            and kwargs.keys() == self.kwargs.keys()
            and all(map(_same, args, self.args))
            and all(_same(v, self.kwargs[k]) for k, v in kwargs.items())
        )

    def again(self, base: Tensor) -> Any:
        """The op of another first argument."""
        return self.op.function(**self.op.bound((base, *self.args[1:]), self.kwargs))

    def run(self) -> Any:
        """Run the op, as it is recorded where autograd is on."""
        before, LOCAL.enabled = LOCAL.enabled, self.enabled
        above, CALLS.handler = CALLS.handler, self.handler
        CALLS.stack.append(None)
        try:
            self.found = self.op.function(**self.op.bound(self.args, self.kwargs))
            self.ran = True
        finally:
            CALLS.stack.pop()
            CALLS.handler = above
            LOCAL.enabled = before
        return self.found


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    return a is b or (not isinstance(a, Tensor) and not isinstance(b, Tensor) and a == b)


class _Calls(threading.local):
    def __init__(self) -> None:
        self.stack: list[Call | None] = []
        self.handler: Handler | None = None  # that was told of the op which runs now


CALLS = _Calls()


def copied(target: Tensor) -> Tensor | None:
    """What a tensor holds before the op that runs now writes to it, heard as a clone; None where the op's
    listener did not run it: what a gradient reads is part of what the listener writes down.
    """
    handler = CALLS.handler
    if handler is None:
        return None
    row = ROWS["clone"]
    clone = translation.aten_call(row, arguments.bind(row, (target,), {}), False)
    before, LOCAL.enabled = LOCAL.enabled, False
    CALLS.stack.append(None)
    try:
        found: Tensor = _further(handler)(clone.op, clone.args, clone.kwargs)
    finally:
        CALLS.stack.pop()
        LOCAL.enabled = before
    found._grad_node, found._output_nr = target._grad_node, target._output_nr
    return found


def hear(
    handler: Handler,
    again: Callable[..., Any],
    row: Any,
    call: Callable[..., Any],
    args: Any,
    kwargs: dict[str, Any],
    wrapped: bool = False,
    named: Callable[[translation.AtenCall, Callable[[], Any]], Any] | None = None,
) -> Any:
    """A row's call, told to `handler`. again(body, *args, **kwargs): run a body whose ops come here again.

    wrapped: what the row consists of is to be heard where gradients are recorded and no rule says them, as
    the operands have no memory, or as the listener has to know all that the gradients are made of; then
    named(call, run) runs it, knowing which op it is.
    """
    facts = _facts(row)
    out = None if facts.out else kwargs.pop("out", None)
    bound = arguments.bind(row, args, kwargs, facts.params)
    inplace = bound["inplace"] if facts.inplace else bound.pop("inplace", False)
    writes = bool(inplace) or bool(getattr(call, "writes", False))
    if out is not None:
        return again(_into, out, function(row), bound)
    other = None if writes else decompositions.instead(row.name)
    if other is not None:
        found = again(other, **bound)
        if found is not NotImplemented:
            return found
    opened = row.kind == "composite" and row.vjp is None and not writes
    if opened and not facts.is_op:
        return again(_opened, row, call, args, kwargs, bound)
    aten = translation.aten_call(row, bound, writes)
    if opened and (aten.op.namespace == "rushlight" or aten.op.is_composite):
        return again(_opened, row, call, args, kwargs, bound)
    if opened and wrapped and tracked(list(bound.values())) and not gradients.has_rule(aten.op):
        run = partial(again, _opened, row, call, args, kwargs, bound)
        return run() if named is None else named(aten, run)
    once = _written(call, bound) if writes else lambda: call(*args, **kwargs)
    found = tell(handler, aten.op, aten.args, aten.kwargs, once, aten.take, _result(row, bound))
    if row.options.get("factory") and bound.get("requires_grad") and isinstance(found, Tensor):
        found.requires_grad_()  # PyTorch's op does not know of it
    return bound[row.params[0].name] if writes else found


class _Facts(NamedTuple):
    """What a row's calls have in common: its parameters as callers see them; whether `out` and `inplace` are
    among its own; whether PyTorch has an op of its name.
    """

    params: tuple[Param, ...]
    out: bool
    inplace: bool
    is_op: bool


@lru_cache(None)
def _facts(row: Row) -> _Facts:
    params = pointwise.public_params(row)
    return _Facts(
        params,
        any(p.name == "out" for p in params),
        any(p.name == "inplace" for p in row.params),
        translation.is_op(row),
    )


def _opened(
    row: Any, call: Callable[..., Any], args: Any, kwargs: dict[str, Any], bound: dict[str, Any]
) -> Any:
    """A composite by its rows, also where a kernel of its own would do it at once."""
    if row.fused is None:
        return call(*args, **kwargs)
    return by_keyword(row, row.body)(*[bound[p.name] for p in row.params])


def _written(call: Callable[..., Any], bound: dict[str, Any]) -> Callable[[], Any]:
    return lambda: call(**bound)


def _result(row: Any, bound: dict[str, Any]) -> Callable[[Tensor], Any]:
    """The row, called with the old values of what it is to write to."""
    named = {name: value for name, value in bound.items() if name != "inplace"}
    return lambda old: function(row)(**{**named, row.params[0].name: old})


def _into(out: Any, op: Callable[..., Any], bound: dict[str, Any]) -> Any:
    found = op(**bound)
    for target, source in zip(
        out if isinstance(out, tuple) else (out,),
        found if isinstance(found, tuple) else (found,),
        strict=True,
    ):
        if getattr(target, "_before_modes", False):  # a functional tensor, whose values are not copied
            target._become(source)
            continue
        if target.shape != source.shape:
            target.resize_(source.shape)
        target.copy_(source)
    return out


def tell(
    handler: Handler,
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    once: Callable[[], Any],
    take: int | None = None,
    written: Callable[[Tensor], Any] | None = None,
) -> Any:
    """The op by the handler; once(): the row itself, for its node, where the listener did not run the op.

    written(old), of an op that writes to its first argument: the result for a tensor with the old values.
    """
    above = getattr(getattr(handler, "__self__", None), "above", None)
    if above is not None:
        found = above(op, args, kwargs)
        if found is not NotImplemented:
            return found if take is None else found[take]
    recorded = tracked([*args, *kwargs.values()])
    if recorded and (gradients.has_rule(op) or (gradients.is_run(op) and _without_memory(args))):
        return _by_rule(handler, op, args, kwargs, take)
    old: Any = None
    if op._schema.writes and written is not None:
        check_writable(args[0], recorded)
        if recorded:
            old = args[0] if args[0]._kind.on_meta else _before(args[0])
            if hasattr(old, "_before_modes"):
                old = old._as_it_is()
    call = Call(handler, op, args, kwargs)
    CALLS.stack.append(call)
    LOCAL.enabled = call.enabled and not recorded
    try:
        found = handler(op, args, kwargs)
    finally:
        LOCAL.enabled = call.enabled
        CALLS.stack.pop()
    if not isinstance(found, Tensor) and found is not None and op._schema.returns:
        _check(op, found)
    result = found if take is None else found[take]
    if old is not None and written is not None and not call.ran:
        with interpreters.unheard():
            _rebased(args[0], old, written)
    if recorded and not op._schema.writes:
        wanted = [t for t in flatten(result)[0] if isinstance(t, Tensor)]
        if any(t._grad_node is None and t._kind.dtype.category >= 2 for t in wanted):
            if call.ran:
                _hand_over(call.found if take is None else call.found[take], result, call)
                return result
            with once_complete():
                with interpreters.unheard():
                    source = once()
                _hand_over(source, result, call)
    return result


def _check(op: Any, found: Any) -> None:
    """RuntimeError where a listener gives what an op of this signature cannot give."""
    told = op._schema.returns
    if len(told) == 1 and told[0].type in ("Tensor", "Tensor?"):
        raise RuntimeError(f"Unable to cast {found} to Tensor")
    if len(told) > 1 and not isinstance(found, (list, tuple)):
        raise RuntimeError(f"Object of type '{type(found).__name__}' is not an instance of 'sequence'")


def _by_rule(
    handler: Handler, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], take: int | None
) -> Any:
    """The op by the handler, which records nothing; the gradient is PyTorch's."""
    call = Call(handler, op, args, kwargs)
    call.enabled = False

    def heard(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        told = op is call.op
        CALLS.stack.append(call if told else None)
        try:
            return (handler if told else _further(handler))(op, args, kwargs)
        finally:
            CALLS.stack.pop()

    found = gradients.whole(heard, op, args, kwargs)
    return found if take is None else found[take]


def _without_memory(args: tuple[Any, ...]) -> bool:
    """Whether a class of its own is among these that has no memory: what a mode runs on plain tensors is
    recorded as it is run.
    """
    found: list[Any] = [t for t in args if t.__class__ in BELOW]
    return any(t._kind.on_meta for t in found)


def _further(handler: Handler) -> Handler:
    """Who is told of an op that comes of a call: a mode hears of all, classes of their own instances."""
    found: Handler = getattr(handler, "further", handler)
    return found


def _before(target: Tensor) -> Tensor:
    """What a plain tensor holds before it is written to, at its place in the graph."""
    old = wrap(target._array.copy(), target._kind)
    old._grad_node, old._output_nr = target._grad_node, target._output_nr
    return old


def _rebased(target: Tensor, old: Tensor, written: Callable[[Tensor], Any]) -> None:
    """`target`, which a listener wrote to, takes its new place in the graph."""
    result = written(old)
    if result._kind.dtype is not target._kind.dtype:
        result = ROWS["_to_dtype"](result, target._kind.dtype, None)
    rebase(target, result)
    if result._grad_node is not None:
        _hold(result._grad_node, result._output_nr, target)


def _hand_over(source: Any, result: Any, call: Call) -> None:
    """The results of a call take the places in the graph that the sources have."""
    sources, results = ([t for t in flatten(v)[0] if isinstance(t, Tensor)] for v in (source, result))
    node = next((s._grad_node for s in sources if s._grad_node is not None), None)
    for number, (s, r) in enumerate(zip(sources, results, strict=False)):
        if r is s or r._grad_node is not None:
            continue
        if s._grad_node is None:
            _keep(node, number, r, s)  # it has no gradient, and may be what those of the others read
            continue
        r._grad_node, r._output_nr = s._grad_node, s._output_nr
        view = view_of(s)
        if view is not None and view_of(r) is None:  # writes to it are to reach what it is a view of
            again = None if view.again is None else call.again
            r._view_of = (view.base, again, view.rest if again is None else (), None)
            remember(r, storage(view_chain(r)[0]))
        _hold(s._grad_node, s._output_nr, r)


def _hold(node: Any, number: int, result: Tensor) -> None:
    """Let a node whose gradient is said in terms of its result read this one."""
    saved: Any = node.saved if hasattr(node, "saved") else None
    if isinstance(saved, tuple) and saved and "result" in saved[0]:
        saved[1][saved[0].index("result")] = (twin(result), keep_result(result)[1])
    else:
        _keep(node, number, result)


def _keep(node: Any, number: int, result: Tensor, source: Tensor | None = None) -> None:
    """The same for a node of several results, if it kept the source (where there is one) at this number."""
    several = getattr(getattr(node, "saved", None), "_results", None)
    if not several or number >= len(several[1]) or several[1][number] is None:
        return
    own: Any = getattr(several[1][number], "tensor", source)
    if source is None or own._array is source._array:
        several[1][number] = kept(twin(result))


def running(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
    """The call that a listener was told of, if it is this one."""
    call = CALLS.stack[-1] if CALLS.stack else None
    return call if call is not None and call.is_of(op, args, kwargs) else None
