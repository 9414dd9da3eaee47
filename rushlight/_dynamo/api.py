"""torch.compile and torch.compiler."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from types import CodeType
from typing import Any, TypeVar, overload
from weakref import WeakSet

from rushlight import _logging as _logging
from rushlight._dynamo.eval_frame import OptimizedModule
from rushlight._dynamo.registry import list_backends as list_backends, named, resolve
from rushlight._dynamo.stances import STANCE, USUAL, chosen, is_usual
from rushlight._dynamo.utils import counters, note_graph
from rushlight._engine.core.pytree import tree_map
from rushlight._engine.core.recording import TAPE, TRACERS, escape
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.compiled import Compiled
from rushlight._engine.trace.eager_backends import Eager
from rushlight._functorch import config
from rushlight.nn import Module

MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
_REPLAYED = ("reduce-overhead", "max-autotune")
_Given = TypeVar("_Given", bound=Callable[..., Any])
_all: WeakSet[Any] = WeakSet()


_DEFAULT: list[Any] = ["inductor"]


class _Inside(threading.local):
    """Who runs a compiled function in this thread: programs branch on is_compiling(). False: a disabled one
    runs inside; None: neither.
    """

    compiled: Any = None


_INSIDE = _Inside()


# What comes back is called, and looked into, as what was given.
@overload
def compile(
    model: _Given,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: Any = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    name: str | None = ...,
    disable: bool = ...,
    verify: bool = ...,
    budget_s: float | None = ...,
    background: bool = ...,
) -> _Given: ...
@overload
def compile(
    model: None = None,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: Any = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    name: str | None = ...,
    disable: bool = ...,
    verify: bool = ...,
    budget_s: float | None = ...,
    background: bool = ...,
) -> Callable[[_Given], _Given]: ...
def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    verify: bool = False,
    budget_s: float | None = None,
    background: bool = False,
) -> Any:
    """`model` (a function or a Module) made faster; its meaning stays. A decorator without `model`.

    A call is recorded twice for each kind of arguments (shapes, dtypes, other values), its kernels are fused,
    and once both records agree bit by bit they are replayed without Python, as long as modules, options and
    variables of the function are what they were. Gradients are part of it: of a forward whose backward()
    comes later, and of a whole training step, the best thing to give. What cannot be replayed is matched, if
    that is not slower: Python runs, but what its ops compute is put off until a value is needed, and then
    done as one program. `rushlight.explain` says why.

    mode: "default" replays only what provably did nothing in Python that would be missing: no prints,
    counters, stored attributes, random numbers of other generators, reading of what no guard sees.
    "reduce-overhead" and "max-autotune" trust the function in this: Python's own effects happen only while
    it is recorded. "max-autotune" also tries out how to cut large products, as far as bits stay the same.
    fullgraph: torch._dynamo.exc.Unsupported, naming the line, where it branches on data or prints a tensor.
    dynamic: kernels take sizes at run time; unless False, graphs that a backend gave back serve other sizes.
    backend: "inductor" (the default, Rushlight's own), "eager" or "aot_eager" (nothing is changed), or a
    function that is given each segment's ops, (an fx.GraphModule, its inputs), and returns what runs them.
    verify: every new program is compared with an eager call, bit by bit, before it is replayed; with verify
    a kernel that differs is also written down as a script that shows it, and the report names its file.
    budget_s: seconds that compiling may take for one kind of arguments; then it runs kernel by kernel.
    background: no call waits for the compiler: they run eagerly meanwhile, but for two that are recorded.
    options: {"memory_budget": torch._functorch.config.activation_memory_budget's}; PyTorch's compiler's
    ("guard_filter_fn", torch._inductor.config's) are accepted and change nothing.
    Errors: RuntimeError for an unknown mode or option, or mode with options; InvalidBackend.
    """
    how = {key: value for key, value in locals().items() if key != "model"}
    _check(mode, backend or _DEFAULT[0], options)
    if model is None:
        return functools.partial(compile, **how)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if disable or os.environ.get("TORCHDYNAMO_DISABLE") == "1":
        return model
    made = functools.partial(
        _made,
        fullgraph=fullgraph,
        dynamic=dynamic,
        backend=backend,
        careful=mode not in _REPLAYED,
        verify=verify,
        budget=budget_s,
        background=background,
        search=mode == "max-autotune",
        share=functools.partial(_share, options),
    )
    return _made_of(model, made)


def _made_of(model: Any, made: Callable[..., Any]) -> Any:
    """What is made of a function, a Module or a class."""
    if isinstance(model, type):
        return _methods_made(model, made, "__call__")
    return OptimizedModule(model, made) if isinstance(model, Module) else made(model)


def _share(options: dict[str, Any] | None) -> Any:
    """The part of the memory that a step may take."""
    return (options or {}).get("memory_budget", config.activation_memory_budget)


def _methods_made(cls: type, made: Callable[..., Any], *names: str) -> type:
    """A class, of which these methods are put in place of its own: instances and subclasses have them."""
    for name in names:
        setattr(cls, name, made(getattr(cls, name)))
    return cls


def _made(
    function: Any, fullgraph: bool, dynamic: bool | None, backend: Any, **how: Any
) -> Callable[..., Any]:
    @functools.cache
    def of_backend(backend: Any) -> Any:
        resolved = resolve(backend)
        if callable(resolved):
            backends = import_module("rushlight._dynamo.backends")
            made: Any = backends.CompiledByBackend(function, resolved, fullgraph, dynamic)
        else:
            own = resolved == "inductor"
            made = Compiled(function, fullgraph, **how) if own else Eager(function, fullgraph, _count)
        _all.add(made)
        return made

    runner = of_backend(named(backend) or _DEFAULT[0])

    @functools.wraps(function)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        for _ in runner.rests:  # as long as nothing is gained
            if STANCE.now is USUAL and not TRACERS:
                return function(*args, **kwargs)
            break
        run = runner if is_usual() else chosen(function, runner, of_backend, args, kwargs)
        if run is function:
            return function(*args, **kwargs)
        before, _INSIDE.compiled = _INSIDE.compiled, runner
        try:
            return run(*args, **kwargs)
        finally:
            _INSIDE.compiled = before

    setattr(compiled, "_runner", runner)
    setattr(compiled, "_torchdynamo_orig_callable", function)
    return compiled


def _count(graphs: list[list[Any]], breaks: list[str]) -> None:
    """Count the graphs of a call that is run as it is."""
    for ops in graphs:
        note_graph(len(ops))
    counters["graph_break"].update(breaks)


def _check(mode: str | None, backend: Any, options: Any) -> None:
    if mode is not None and options:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if options:
        import_module("rushlight._dynamo.options").check(options)
    resolve(backend)


# --- torch.compiler -------------------------------------------------------------------------------


def reset() -> None:
    """Forget all that was recorded."""
    backends = sys.modules.get("rushlight._dynamo.backends")
    if backends is not None:
        backends.forget()
    for runner in _all:
        runner.reset()


def is_compiling() -> bool:
    """Whether this runs inside a compiled function, at each of its calls, or torch.export records it."""
    runner = _INSIDE.compiled
    if runner:
        runner.asked = True
    return bool(TAPE) if runner is None else bool(runner)


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """Whether torch.export records a call."""
    return _exporting() is not None


def _exporting() -> Any:
    """The tape by which torch.export records a call; None where it records none."""
    return next((tape for tape in TAPE if hasattr(tape, "exports")), None)


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A function that is never recorded: where compiled code calls it, that call runs as Python. Of a Module
    it is a Module whose calls are so; of a class the class, whose instances are made and called so.
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    made = functools.partial(disable, recursive=recursive, reason=reason)
    if isinstance(fn, Module):
        return OptimizedModule(fn, made)
    if isinstance(fn, type):
        return _methods_made(fn, made, "__init__", "__call__")

    @functools.wraps(fn)
    def plain(*args: Any, **kwargs: Any) -> Any:
        noted: Any = nullcontext()
        if is_exporting():  # which records what the function does
            from rushlight.fx import traceback  # few programs need it

            if traceback.has_preserved_node_meta():
                noted = traceback.annotate(
                    {
                        "_torchdynamo_disable": True,
                        "_torchdynamo_disable_recursive": recursive,
                        "_torchdynamo_disable_method": getattr(fn, "__name__", str(fn)),
                    }
                )
        else:
            escape(f"{getattr(fn, '__name__', fn)!r} is disabled" + (f" ({reason})" if reason else ""))
        before, _INSIDE.compiled = _INSIDE.compiled, False
        try:
            with noted:
                return fn(*args, **kwargs)
        finally:
            _INSIDE.compiled = before

    setattr(plain, "_torchdynamo_disable_recursive", recursive)
    return plain


def set_default_backend(backend: Any) -> None:
    """What compile() takes where it is given no `backend`; None: "inductor"."""
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"backend must be a string or callable, got {type(backend)}")
    _DEFAULT[0] = backend or "inductor"


def get_default_backend() -> Any:
    """What compile() takes where it is given no `backend`."""
    return _DEFAULT[0]


def cudagraph_mark_step_begin() -> None:
    """Nothing to do: a replay's results are memory of their own."""


def cudagraph_mark_warmup_incomplete() -> None:
    """Nothing to do: a program is recorded once, without a warm-up that could go on."""


# The code of what allow_in_graph() got.
ALLOWED: set[CodeType] = set()


def allow_in_graph(fn: Any) -> Any:
    """The function itself, or each of a list: every op is seen, whoever calls it. What it says of graphs
    itself, graph_break(), is not heard. AssertionError for what cannot be called.
    """
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(each) for each in fn]
    if not callable(fn):
        raise AssertionError("allow_in_graph expects a callable")
    for each in vars(fn).values() if isinstance(fn, type) else (fn,):
        code = getattr(getattr(each, "__func__", each), "__code__", None)
        if code is not None:
            ALLOWED.add(code)
    return fn


def assume_constant_result(fn: Any) -> Any:
    """A function whose results an exported program keeps, as values that the call gave; compiled functions
    call it each time.
    """

    @functools.wraps(fn)
    def known(*args: Any, **kwargs: Any) -> Any:
        tape = _exporting()
        if tape is None:
            return fn(*args, **kwargs)
        with tape.to.paused():
            return tree_map(_copied, fn(*args, **kwargs))

    return known


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value


def _disable_dynamo(fn: Any = None, recursive: bool = True) -> Any:
    """disable(), by the name that PyTorch's own optimizers, and those of others, use."""
    return disable(fn, recursive)
