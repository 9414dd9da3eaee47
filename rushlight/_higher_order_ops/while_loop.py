"""torch.while_loop: a function of what is carried, again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten
from rushlight._higher_order_ops.operators import Control, Function, Told, all_tensors, holds

__all__ = ["while_loop", "while_loop_op", "while_loop_stack_output"]


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """carried_inputs = body_fn(*carried_inputs) while cond_fn(*carried_inputs); what is carried last, as a
    tuple. RuntimeError where a body gives another number of values than it took.
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    return while_loop_op(cond_fn, body_fn, tuple(carried_inputs), ())


def _run(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any, additional_inputs: Any = ()
) -> Any:
    first, last = tuple(carried_inputs), None
    for carried in _steps(cond_fn, body_fn, first, additional_inputs):
        last = carried
    if last is not None:
        return last
    return tuple(v.clone() if isinstance(v, torch.Tensor) else v for v in first)  # inputs are not results


def _steps(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried: tuple[Any, ...], additional_inputs: Any
) -> Iterator[tuple[Any, ...]]:
    """What is carried after each time."""
    while _holds(cond_fn(*carried, *additional_inputs)):
        after = body_fn(*carried, *additional_inputs)
        if not isinstance(after, (tuple, list)) or len(after) != len(carried):
            raise RuntimeError("body_fn should return the same number of elements as carried_inputs")
        carried = tuple(after)
        yield carried


def _holds(found: Any) -> bool:
    """A condition, which a graph gives as the only one of its results."""
    return holds(found[0] if isinstance(found, (tuple, list)) else found, "while_loop")


def _stacked(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any, additional_inputs: Any = ()
) -> Any:
    """What is carried after each time, stacked; of a body that never runs, what is carried at first."""
    first = tuple(carried_inputs)
    seen = list(_steps(cond_fn, body_fn, first, additional_inputs)) or [first]
    return tuple(torch.stack(values) for values in zip(*seen, strict=True))


def _recorded(listener: Any, *given: Any, **named: Any) -> Any:
    """The condition and the body as graphs; the results are those of this call's loop."""
    return _looped(listener, while_loop_op, partial(_run, *given, **named), *given, **named)


def _stacked_recorded(listener: Any, *given: Any, **named: Any) -> Any:
    """As _recorded; how often the body runs is a number that hangs on data."""
    run = partial(listener.as_many, partial(_stacked, *given, **named))
    found = _looped(listener, while_loop_stack_output, run, *given, **named)
    listener.many(found)
    return tuple(found)


def _looped(
    listener: Any,
    op: Any,
    run: Callable[[], Any],
    cond_fn: Callable[..., Any],
    body_fn: Callable[..., Any],
    carried_inputs: Any,
    additional_inputs: Any = (),
) -> Any:
    leaves, spec = flatten(list(carried_inputs))
    further = list(additional_inputs)

    def of(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any) -> Any:
            return function(*spec.unflatten(list(given[: len(leaves)])), *given[len(leaves) :])

        return called

    bodies = {"while_loop_cond_graph": of(cond_fn), "while_loop_body_graph": of(body_fn)}
    return listener.loop(op, bodies, [*leaves, *further], run, split=len(leaves))


def _told(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any, additional_inputs: Any = ()
) -> Any:
    leaves, spec = flatten(list(carried_inputs))
    operands, split = [*leaves, *additional_inputs], len(leaves)
    if not all_tensors(operands):
        return NotImplemented

    def of(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any) -> Any:
            return function(*spec.unflatten(list(given[:split])), *given[split:])

        return called

    told = Told(
        while_loop_op,
        [
            Function("cond_fn", "while_loop_cond_graph", of(cond_fn), None),
            Function("body_fn", "while_loop_body_graph", of(body_fn)),
        ],
        operands,
        [False] * len(operands),
        lambda bodies, given, more: (*bodies, tuple(given[:split]), (*given[split:], *more)),
    )
    return told, lambda found, structure: tuple(spec.unflatten(found))


while_loop_op = Control("while_loop", _run, _recorded, _told)
while_loop_stack_output = Control("while_loop_stack_output", _stacked, _stacked_recorded)
