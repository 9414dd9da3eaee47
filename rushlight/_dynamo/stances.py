"""torch.compiler.set_stance, and what else a call of a compiled function asks before it runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, get_args

from rushlight._dynamo import callback, config
from rushlight._engine.core.errors import RecompileError
from rushlight._engine.core.recording import TRACERS

StanceStr = Literal[
    "default",
    "eager_then_compile",
    "aot_eager_then_compile",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
]
_STANCES = get_args(StanceStr)
USUAL = ("default", None)


class _Stance:
    """What compiled functions do, in all threads: a name, and the backend that stands for theirs, if any."""

    now: tuple[str, Any] = USUAL


STANCE = _Stance()


def is_usual() -> bool:
    """Whether calls are made as ever: nothing was set, nobody hears of compiling, torch.fx does not trace."""
    return (
        STANCE.now == USUAL
        and not callback.callback_handler.listening
        and not config.error_on_recompile
        and not TRACERS
    )


class set_stance:
    """What all compiled functions do from here on; as a context manager or a decorator, for its length.

    stance: "default"; "force_eager", nothing is compiled, and nothing that was compiled is used;
    "eager_on_recompile", arguments of a new kind run eagerly; "fail_on_recompile", they raise RuntimeError;
    "eager_then_compile" and "aot_eager_then_compile", the first call is eager, as it is by default.
    force_backend: for "default" alone, compile()'s `backend` of every function. skip_guard_eval_unsafe is
    accepted: what is checked before a replay is checked.
    Errors: RuntimeError for an unknown stance, and a backend with another stance than "default";
    AssertionError inside of a compiled function.
    """

    def __init__(
        self,
        stance: StanceStr = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: str | Callable[..., Any] | None = None,
    ) -> None:
        from rushlight._dynamo.api import is_compiling  # it imports this file

        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance {stance!r}: expected one of {list(_STANCES)}")
        if force_backend is not None and stance != "default":
            raise RuntimeError("non-default stance cannot have force_backend set")
        if is_compiling():
            raise AssertionError(
                "set_stance() was called inside of a compiled function: set it around the call"
            )
        self._given = stance, force_backend
        self._before = STANCE.now
        STANCE.now = self._given

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """`fn`, which runs with this stance; what there was before holds until then."""
        STANCE.now = self._before

        @functools.wraps(fn)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            before, STANCE.now = STANCE.now, self._given
            try:
                return fn(*args, **kwargs)
            finally:
                STANCE.now = before

        return wrapper

    def __enter__(self) -> None:
        STANCE.now = self._given

    def __exit__(self, *error: object) -> None:
        STANCE.now = self._before


def chosen(
    function: Callable[..., Any],
    runner: Any,
    of_backend: Callable[[Any], Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Callable[..., Any]:
    """What runs this call of a compiled function: its `runner`, that of another backend, or the function."""
    name, backend = STANCE.now
    if TRACERS and config.error_on_nested_fx_trace:
        raise RuntimeError(
            "Detected that you are using FX to symbolically trace a dynamo-optimized function. This is not "
            "supported at the moment."
        )
    if TRACERS or name == "force_eager":
        return function
    if backend is not None:
        runner = of_backend(backend)
    known = runner.key(args, kwargs) in runner.plans
    if not known and name == "eager_on_recompile":
        return function
    if not known and name == "fail_on_recompile":
        raise RuntimeError(_refusal(function, "stance is 'fail_on_recompile'", bool(runner.plans)))
    if not known and runner.plans and config.error_on_recompile:
        raise RecompileError(_refusal(function, "config is 'error_on_recompile'", True))
    return runner if known else functools.partial(_heard, runner)


def _heard(runner: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with callback.callback_handler.compiling():
        return runner(*args, **kwargs)


def _refusal(function: Any, why_not: str, again: bool) -> str:
    module = getattr(function, "__self__", None)
    code = getattr(getattr(module, "forward", function), "__code__", None)
    where = f" filename: {code.co_filename!r}, function name: {code.co_name!r}," if code else ""
    line = f" line number: {code.co_firstlineno}" if code else f" {function!r}"
    why = "\n    triggered by sizes, dtypes or other arguments that no program is for yet" if again else ""
    return f"Detected recompile when torch.compile {why_not}.{where}{line}{why}"


_collective = [False]


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Whether ranks would agree on compiling before they do; what was set before.

    Nothing waits for it here: compiling makes no collective call, so no rank can wait for another's.
    """
    before, _collective[0] = _collective[0], bool(enabled)
    return before
