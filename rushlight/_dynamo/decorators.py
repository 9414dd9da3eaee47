"""torch._dynamo.decorators: what programs say about functions to a compiler that reads their code.

Rushlight's sees every op, whoever calls it, and lets Python run: most of these have nothing to change.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, TypeVar, overload

import numpy as np

from rushlight import as_tensor
from rushlight._dynamo import config
from rushlight._dynamo.api import (
    ALLOWED,
    allow_in_graph as allow_in_graph,
    assume_constant_result as assume_constant_result,
    disable as disable,
    is_compiling as is_compiling,
)
from rushlight._dynamo.marks import (
    mark_dynamic as mark_dynamic,
    mark_static as mark_static,
    mark_static_address as mark_static_address,
    mark_unbacked as mark_unbacked,
    maybe_mark_dynamic as maybe_mark_dynamic,
)
from rushlight._dynamo.optimizing import innermost_fn as innermost_fn, run as run
from rushlight._dynamo.stances import set_stance as set_stance
from rushlight._engine.core.errors import Unsupported
from rushlight._engine.core.recording import TAPE, escape, region
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.recorder import Recorder, recording
from rushlight.utils._pytree import tree_map_only

_Given = TypeVar("_Given", bound=Callable[..., Any])


def graph_break(msg: str = "") -> None:
    """A graph ends here: with fullgraph=True Unsupported, else what was put off is computed now."""
    frame = sys._getframe(1)
    while ALLOWED and frame is not None:
        if frame.f_code in ALLOWED:
            return
        frame = frame.f_back  # type: ignore[assignment]
    escape("graph_break() was called" + (f": {msg}" if msg else ""))


def skip_frame(msg: str = "") -> None:
    """As graph_break(): Python runs in any case."""
    escape("skip_frame() was called" + (f": {msg}" if msg else ""))


def step_unsupported(msg: str = "") -> None:
    """As graph_break()."""
    escape("step_unsupported() was called" + (f": {msg}" if msg else ""))


def _callable(fn: _Given, what: str) -> _Given:
    if not callable(fn):
        raise AssertionError(f"{what}, but got {type(fn)}")
    return fn


def nonstrict_trace(traceable_fn: _Given) -> _Given:
    """The function itself: every op is seen, whoever calls it. AssertionError for what cannot be called."""
    return _callable(traceable_fn, "nonstrict_trace expects a callable")


def disallow_in_graph(fn: _Given) -> _Given:
    """The function itself: its ops are computed with what is around them, which changes no result.
    AssertionError for what cannot be called.
    """
    return _callable(fn, "disallow_in_graph expects a callable")


def forbid_in_graph(fn: _Given) -> _Given:
    """Mark a function that no compiled function is to call. AssertionError for what cannot be called."""
    _callable(fn, "forbid_in_graph applies only to callables")
    setattr(fn, "_dynamo_forbidden", True)
    return fn


def substitute_in_graph(
    original_fn: Callable[..., Any],
    *,
    can_constant_fold_through: bool = False,
    skip_signature_check: bool = False,
    is_embedded_type: bool = False,
) -> Callable[[_Given], _Given]:
    """A decorator for Python code that computes what `original_fn`, of compiled code, does.

    The original stays what is called: nothing has to be read in it. The decorated function is as in eager
    mode the original.
    Errors: TypeError if one of the two cannot be called, or their signatures differ.
    """
    if not callable(original_fn):
        raise TypeError(f"substitute_in_graph expects a function but got {type(original_fn)!r}")

    def wrapper(traceable_fn: Any) -> Any:
        if not callable(traceable_fn):
            raise TypeError(f"@substitute_in_graph(...) expects a function but got {type(traceable_fn)!r}")
        if not skip_signature_check:
            _check_signatures(original_fn, traceable_fn)

        @functools.wraps(traceable_fn)
        def dispatch(*args: Any, **kwargs: Any) -> Any:
            return original_fn(*args, **kwargs)

        setattr(dispatch, "__torch_dynamo_original__", original_fn)
        setattr(dispatch, "__torch_dynamo_polyfill__", traceable_fn)
        return dispatch

    return wrapper


def _check_signatures(original: Any, traceable: Any) -> None:
    try:
        wanted, given = inspect.signature(original), inspect.signature(traceable)
    except ValueError:  # compiled code that does not tell
        return

    def shape(signature: inspect.Signature) -> list[Any]:
        return [(p.name, p.kind, p.default is p.empty) for p in signature.parameters.values()]

    if shape(wanted) != shape(given):
        raise TypeError(
            f"Signature mismatch between {original!r} and {traceable!r}: {wanted} != {given}: give the "
            "second the first's parameters, or pass skip_signature_check=True"
        )


class error_on_graph_break(ContextDecorator):
    """Inside of a compiled function: whether Unsupported is raised where a graph ends before its time.

    fullgraph=True says so for the whole function, and goes before this. Outside it changes nothing.
    """

    def __init__(self, error_on_graph_break: bool) -> None:
        self.error_on_graph_break = error_on_graph_break
        self._blocks: list[Callable[..., str]] = []

    def _recreate_cm(self) -> error_on_graph_break:
        return type(self)(self.error_on_graph_break)

    def __enter__(self) -> None:
        if self.error_on_graph_break and is_compiling() and (not TAPE or region() is not None):
            self._blocks.append(_listening())

    def __exit__(self, *error: Any) -> None:
        broken = self._blocks.pop()(*error) if self._blocks else ""
        if broken and error[0] is None:
            raise Unsupported(f"error_on_graph_break(True), but the graph ends early: {broken}")


def _listening() -> Callable[..., str]:
    """Listen from here on; what ends that is given a block's error, and says why a graph ended, if so."""
    recorder = region()
    if recorder is not None:  # which hears it
        trace = recorder.region.trace
        ends = trace.ends = [] if trace.ends is None else trace.ends
        count = len(ends)
        return lambda *error: next((f"{why}, at {at}" for why, at, breaks in ends[count:] if breaks), "")
    listener = Recorder((), ())
    block = recording(listener)
    block.__enter__()

    def end(*error: Any) -> str:
        block.__exit__(*error)
        return listener.broken

    return end


class _Nothing(ContextDecorator):
    """A context, or a decorator, that changes nothing."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


@overload
def dont_skip_tracing(fn: None = None) -> _Nothing: ...
@overload
def dont_skip_tracing(fn: _Given) -> _Given: ...
def dont_skip_tracing(fn: Any = None) -> Any:
    """A context, or a decorator, that changes nothing: no function is skipped."""
    return _Nothing() if fn is None else fn


@overload
def disable_nested_graph_breaks(fn: None = None) -> _Nothing: ...
@overload
def disable_nested_graph_breaks(fn: _Given) -> _Given: ...
def disable_nested_graph_breaks(fn: Any = None) -> Any:
    """A context, or a decorator, that changes nothing: Python's frames are no borders of graphs."""
    return _Nothing() if fn is None else fn


def override_cudagraphs(fwd: bool | None = None, bwd: bool | None = None) -> _Nothing:
    """A context, or a decorator, that changes nothing: whether a program is one graph, its device decides."""
    return _Nothing()


def override_optimization_hint(x: object, val: int) -> None:
    """Nothing to do: sizes are numbers, which need no hint."""


def patch_dynamo_config(arg1: Any = None, arg2: Any = None, **kwargs: Any) -> Any:
    """torch._dynamo.config.patch: a context, or a decorator, in which settings have other values."""
    return config.patch(arg1, arg2, **kwargs)


def is_dynamo_disable_recursive(method: Callable[..., Any]) -> bool | None:
    """What disable() was given as `recursive`; None for a function that was not disabled."""
    return getattr(method, "_torchdynamo_disable_recursive", None)


def nested_compile_region(
    fn: Any = None, *, options: Any = None, max_reuse_entries: int = 8, reuse_hash_fn: Any = None
) -> Any:
    """The function itself, or a decorator that gives it back: equal kernels are compiled once in any case."""
    return nested_compile_region if fn is None else fn


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy arrays as one of tensors, which its results are, too.

    It is computed by NumPy, between the graphs around it, and has no gradient: RuntimeError for a tensor that
    requires one (detach() it, or use torch's functions, which have NumPy's names).
    """

    @functools.wraps(fn)
    def wrap(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map_only(Tensor, Tensor.numpy, (args, kwargs))
        return tree_map_only((np.ndarray, np.generic), as_tensor, fn(*args, **kwargs))

    return wrap
