"""torch._dynamo: what programs ask of PyTorch's capture by this name."""

from __future__ import annotations

from typing import Any

from rushlight._dynamo import config as config, exc as exc, utils as utils
from rushlight._dynamo.api import (
    allow_in_graph as allow_in_graph,
    assume_constant_result as assume_constant_result,
    disable as disable,
    is_compiling as is_compiling,
    list_backends as list_backends,
    reset as reset,
)
from rushlight._dynamo.callback import (
    on_compile_end as on_compile_end,
    on_compile_start as on_compile_start,
)
from rushlight._dynamo.decorators import (
    disable_nested_graph_breaks as disable_nested_graph_breaks,
    disallow_in_graph as disallow_in_graph,
    dont_skip_tracing as dont_skip_tracing,
    error_on_graph_break as error_on_graph_break,
    forbid_in_graph as forbid_in_graph,
    graph_break as graph_break,
    is_dynamo_disable_recursive as is_dynamo_disable_recursive,
    nonstrict_trace as nonstrict_trace,
    override_cudagraphs as override_cudagraphs,
    override_optimization_hint as override_optimization_hint,
    patch_dynamo_config as patch_dynamo_config,
    skip_frame as skip_frame,
    step_unsupported as step_unsupported,
    substitute_in_graph as substitute_in_graph,
)
from rushlight._dynamo.eval_frame import OptimizedModule as OptimizedModule
from rushlight._dynamo.exporting import export as export
from rushlight._dynamo.graphs.report import segments
from rushlight._dynamo.marks import (
    mark_dynamic as mark_dynamic,
    mark_static as mark_static,
    mark_static_address as mark_static_address,
    maybe_mark_dynamic as maybe_mark_dynamic,
)
from rushlight._dynamo.optimizing import optimize as optimize, optimize_assert as optimize_assert, run as run
from rushlight._dynamo.registry import lookup_backend as lookup_backend, register_backend as register_backend
from rushlight._dynamo.stances import set_stance as set_stance


def explain(f: Any, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """explain(f)(*args): into how many graphs a call of f falls, and why (rushlight.explain tells more)."""
    if extra_args or extra_kwargs:
        return segments(f, *extra_args, **extra_kwargs)
    return lambda *args, **kwargs: segments(f, *args, **kwargs)


def is_dynamo_supported() -> bool:
    """Whether compile() works here: always."""
    return True


is_inductor_supported = is_dynamo_supported
_limit = [-1]


def get_recursion_limit() -> int:
    """What set_recursion_limit was given; -1 for nothing."""
    return _limit[0]


def set_recursion_limit(limit: int) -> None:
    """Kept, and otherwise nothing to do: compiling does not go deeper than the program does.

    ValueError below 1, but for -1, which forgets it.
    """
    if limit < 1 and limit != -1:
        raise ValueError("recursion limit must be >= 1, or -1 to reset")
    _limit[0] = limit


def reset_code_caches() -> None:
    """Forget what was compiled, as reset() does."""
    reset()


def _reset_guarded_backend_cache() -> None:
    """The same: no back end keeps anything of its own."""
    reset()


def reset_frame_count() -> None:
    """Nothing to do: frames are not counted."""
