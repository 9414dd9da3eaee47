"""Which arguments and results of calls a program can take and make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.core.pytree import flatten
from rushlight._engine.dispatch.interpreters import PLAIN
from rushlight._engine.lazy import is_ours
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.effects.contents import SIMPLE
from rushlight._engine.trace.effects.lending import Lent
from rushlight._engine.trace.guards import Guards, overlapping
from rushlight._engine.trace.program import Results, holders, is_tracked, replaced, results_of, tracked_of
from rushlight._engine.trace.recorder import Recorder
from rushlight._engine.trace.regions import BATCHES, hooked


def handed_on(output: Any, lent: Lent, known: Sequence[Tensor]) -> Any:
    """The results of a record that is kept, for the caller: an argument's copy is the argument, and what the
    function holds (`known`) is itself.
    """
    back = {id(t): t for t in known} | {id(c): t for c, t in zip(lent.copies, lent.tensors, strict=True)}

    def own(t: Tensor) -> Tensor | None:
        return back.get(id(t), t) if id(t) in back or is_tracked(t) or t._kind.lazy else None

    # A leaf's gradient, say, is memory of the program.
    found = results_of(output)
    kept = [own(t) for t in found]
    made = Results(output).copied(found, kept)
    for t, copy, given in zip(found, made, kept, strict=True):
        if given is None:
            copy._grad_node, copy._output_nr = t._grad_node, t._output_nr
    return replaced(output, made)


def state_of(tensors: Sequence[Tensor]) -> list[tuple[Any, ...]]:
    """What tells whether something has been done to tensors: writes, turns, gradients, hooks."""
    found = []
    for t in tensors:
        a, node, held = t._memory, t._grad_node, getattr(t, "_grad", None)
        hooks = getattr(node, "hooks", None)
        heard = hooks and (hooks.of_tensors(), len(hooks.retained))
        version = 0 if t._storage is None else t._storage.version
        found.append((version, id(a), a.shape, a.strides, id(node), heard, id(held), len(t.__dict__)))
    return found


def unlike(output: Any, given: list[Tensor]) -> str:
    """Which result of a call on a device a replay could not make anew, as it is; empty if it can make all."""
    return opaque(output) or seen_twice(output, given, tracked_of(output))


def without_node(recorder: Recorder, tracked: list[Tensor], batches: bool) -> str:
    """Why results cannot get one node for all that was recorded; empty if they can."""
    if recorder.once or (batches and BATCHES):
        return recorder.once or BATCHES
    return "gradients have hooks, which a record would call" if hooked(tracked) else ""


def seen_twice(output: Any, given: list[Tensor], tracked: list[Tensor]) -> str:
    """Which results would not share memory as they do, were they made by a replay; empty if all would."""
    arguments, known = {id(t) for t in given}, {id(t._storage) for t in given if t._storage is not None}
    if any(id(t._storage) in known and id(t) not in arguments for t in results_of(output)):
        return "a result is a view of an argument: a replay would hold them apart"
    if tracked and max(holders(results_of(output)).values()) > 1:
        return "results share memory, which a backward pass through a replay would not know"
    return ""


def device_of(function: Callable[..., Any], tensors: list[Tensor]) -> Any:
    """The device that a call's tensors lie on, or those that its function uses; None for the CPU."""
    for t in tensors or Guards(function).known():
        if t._kind.backend is not None:
            return t._kind.backend
    return None


def unfit(key: Any, tensors: list[Tensor]) -> str:
    """Why no program can be made for such arguments; empty if one can."""
    if key is None:
        return "an argument can be neither compared nor hashed"
    for t in tensors:
        if t._kind.lazy:
            return "an argument is conjugated or negated when it is read: resolve_conj() it first"
        if type(t) not in PLAIN or t.__dict__:
            return "an argument is of a class of its own, or has attributes that a program set"
        if not LOCAL.inference and t._storage is not None and t._storage.inference:
            return "an argument was made in inference mode"
    return "arguments share memory, which a program would hold apart" if overlapping(tensors) else ""


def opaque(output: Any) -> str:
    """Which result a replay could not make anew; empty if it can make all."""
    for value in flatten(output)[0]:
        if isinstance(value, Tensor) and value._kind.lazy:
            return "a result is conjugated or negated when it is read: return resolve_conj() of it"
        if not isinstance(value, (*SIMPLE, Tensor)) and not is_ours(type(value)):
            return (
                f"a result is a {type(value).__name__}, which a replay cannot make anew: return tensors "
                "in tuples, lists or dicts"
            )
    return ""
