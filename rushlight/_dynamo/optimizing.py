"""torch._dynamo.optimize and its relatives: the older spelling of torch.compile."""

from __future__ import annotations

from typing import Any, NoReturn

from rushlight._dynamo.api import compile
from rushlight._dynamo.eval_frame import OptimizedModule
from rushlight._dynamo.registry import Backend
from rushlight._dynamo.stances import set_stance


class OptimizeContext:
    """What optimize() gives: called with a function or a Module it gives the compiled one."""

    def __init__(self, backend: str | Backend, **how: Any) -> None:
        self.backend, self.how = backend, how

    def __call__(self, fn: Any) -> Any:
        """`fn` compiled; what is compiled already is compiled anew from the original."""
        return compile(innermost_fn(fn), backend=self.backend, **self.how)

    def __enter__(self) -> NoReturn:
        raise RuntimeError(
            "torch._dynamo.optimize(...) is used with a context manager. Please decorate the function "
            "or wrap the module: torch.compile(fn)."
        )

    def __exit__(self, *error: object) -> None:
        pass


class _Disabled(OptimizeContext):
    """optimize(disable=True): functions stay as they are."""

    def __call__(self, fn: Any) -> Any:
        """`fn` itself."""
        return fn


def optimize(
    backend: str | Backend = "inductor",
    *,
    nopython: bool = False,
    disable: bool = False,
    dynamic: bool | None = None,
    **innards: Any,
) -> OptimizeContext:
    """torch.compile as a decorator: optimize("inductor")(fn); nopython is compile's fullgraph.

    innards: PyTorch's other keywords (hooks of its guards, `rebuild_ctx`, `package`); they change nothing.
    """
    if disable:
        return _Disabled(backend)
    return OptimizeContext(backend, fullgraph=nopython, dynamic=dynamic)


def optimize_assert(
    backend: str | Backend, *, dynamic: bool | None = None, **innards: Any
) -> OptimizeContext:
    """optimize() of a function that must be one graph: Unsupported, naming the line, where it is not."""
    return optimize(backend, nopython=True, dynamic=dynamic, **innards)


def run(fn: Any = None) -> Any:
    """`fn`, which goes on with the programs that it has: arguments of another kind run eagerly. A decorator
    without fn.
    """
    if fn is None:
        return run
    if isinstance(fn, OptimizedModule):
        return OptimizedModule(fn._orig_mod, lambda call: _run(fn.__call__, fn._runner))
    return _run(fn, fn._runner) if hasattr(fn, "_runner") else fn


def _run(fn: Any, runner: Any) -> Any:
    made = set_stance("eager_on_recompile")(fn)
    setattr(made, "_runner", runner)
    return made


def innermost_fn(fn: Any) -> Any:
    """The function or Module that was compiled; another one as it is."""
    while hasattr(fn, "_torchdynamo_orig_callable"):
        fn = fn._torchdynamo_orig_callable
    return fn
