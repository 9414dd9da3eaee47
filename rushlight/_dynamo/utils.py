"""torch._dynamo.utils: what programs and their tests ask by this name."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from rushlight import Tensor, allclose, as_tensor
from rushlight._dynamo import config
from rushlight.nn import ParameterList

# What functions given as `backend` were asked for: "frames" and "stats" count graphs and their calls,
# "graph_break" why graphs end, as a kind of arguments first comes. rushlight.explain tells of all else.
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


DEFAULT_COMPILATION_METRICS_LIMIT = 64


class CompilationMetrics(NamedTuple):
    """What is known of a graph that was made: how many calls it has, how long its backend took; of one that
    a backend failed on, why. There are no lists of guards: ops are compared as they come.
    """

    graph_op_count: int
    backend_compile_time_s: float = 0.0
    fail_reason: str | None = None
    dynamo_time_before_restart_s: float = 0.0
    guard_count: int = 0
    shape_env_guard_count: int = 0


_metrics: list[deque[CompilationMetrics]] = [deque(maxlen=DEFAULT_COMPILATION_METRICS_LIMIT)]


def note_graph(calls: int, seconds: float = 0.0, error: Exception | None = None) -> None:
    """Count a graph of so many calls."""
    counters["frames"].update(("total",) if error is not None else ("total", "ok"))
    counters["stats"].update(unique_graphs=1, calls_captured=calls)
    why = None if error is None else f"{type(error).__name__}: {error}"
    _metrics[0].append(CompilationMetrics(calls, seconds, why, 0.0 if error is None else seconds))


def get_compilation_metrics() -> list[CompilationMetrics]:
    """Those of the last graphs that were made for functions given as `backend`, and for "eager"."""
    return list(_metrics[0])


def clear_compilation_metrics() -> None:
    """Forget them."""
    _metrics[0].clear()


def set_compilation_metrics_limit(new_size: int) -> None:
    """Of how many graphs they are kept."""
    _metrics[0] = deque(_metrics[0], maxlen=new_size)


def same(
    ref: Any, res: Any, fp64_ref: Any = None, *, tol: float = 1e-4, equal_nan: bool = False, **ways: Any
) -> bool:
    """Whether two results agree: nested lists, tuples and dicts, tensors to a relative `tol`, dtypes too.

    fp64_ref and ways (`cos_similarity`, `relax_numpy_equality`, ...) are PyTorch's; they change nothing.
    """
    if isinstance(ref, (list, tuple, deque, ParameterList)):
        return (
            isinstance(res, (list, tuple, deque, ParameterList))
            and len(ref) == len(res)
            and all(same(a, b, tol=tol, equal_nan=equal_nan) for a, b in zip(ref, res, strict=True))
        )
    if isinstance(ref, dict):
        return (
            isinstance(res, dict)
            and ref.keys() == res.keys()
            and all(same(ref[key], res[key], tol=tol, equal_nan=equal_nan) for key in ref)
        )
    if isinstance(ref, Tensor):
        if type(res) in (bool, int, float):
            res = as_tensor(res).expand_as(ref)
        return isinstance(res, Tensor) and _same_tensors(ref, res, tol, equal_nan)
    if isinstance(ref, np.ndarray) or isinstance(res, np.ndarray):
        return same(*map(_tensor_of, (ref, res)), tol=tol, equal_nan=equal_nan)
    if is_dataclass(ref):
        names = [field.name for field in fields(ref)]
        return type(ref) is type(res) and all(
            same(getattr(ref, name), getattr(res, name), tol=tol, equal_nan=equal_nan) for name in names
        )
    if isinstance(ref, (float, np.floating)):
        return ref == res or abs(ref - res) <= tol * max(abs(float(ref)), 1.0) or (ref != ref and res != res)
    if type(ref) is not type(res):
        return False
    plain: Any = object.__eq__
    if type(ref).__eq__ is plain and hasattr(ref, "__dict__"):  # of a program's own class
        return same(vars(ref), vars(res), tol=tol, equal_nan=equal_nan)
    return bool(ref == res)


def _tensor_of(value: Any) -> Any:
    """A NumPy array, or what one is made of, as a tensor; another value as it is."""
    return as_tensor(np.asarray(value)) if isinstance(value, (np.ndarray, np.generic)) else value


def _same_tensors(ref: Tensor, res: Tensor, tol: float, equal_nan: bool) -> bool:
    if (ref.dtype, ref.is_sparse) != (res.dtype, res.is_sparse):
        return False
    if ref.is_sparse:
        ref, res = ref.to_dense(), res.to_dense()
    if any(m != n and 1 not in (m, n) for m, n in zip(ref.shape[::-1], res.shape[::-1], strict=False)):
        return False
    return allclose(ref, res, rtol=tol, atol=tol, equal_nan=equal_nan)


def clone_input(x: Tensor, *, dtype: Any = None) -> Tensor:
    """A copy of a leaf, or of another tensor without its graph, with its strides and requires_grad."""
    made = x.detach().clone() if dtype is None else x.detach().to(dtype, copy=True)
    return made.requires_grad_(x.requires_grad)


def clone_inputs(example_inputs: dict[str, Any] | Iterable[Any]) -> Any:
    """Copies of the tensors among a call's inputs, in a list, or in a dict under their names."""
    if type(example_inputs) is dict:
        return {name: _cloned(value) for name, value in example_inputs.items()}
    return [_cloned(value) for value in example_inputs]


def _cloned(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(clone_inputs(value))
    return clone_input(value) if isinstance(value, Tensor) else value


@contextmanager
def disable_cache_limit() -> Iterator[None]:
    """A context in which torch._dynamo.config.recompile_limit is as large as can be, as PyTorch's says."""
    before, config.recompile_limit = config.recompile_limit, sys.maxsize
    try:
        yield
    finally:
        config.recompile_limit = before


def is_parameter_freezing() -> bool:
    """Whether compile() takes parameters for constants: never."""
    return False


def ifdynstaticdefault(count1: Any, count2: Any) -> Any:
    """count1 where sizes are static by default (torch._dynamo.config), else count2."""
    return count1 if config.assume_static_by_default else count2


def istype(obj: object, allowed_types: Any) -> bool:
    """Whether an object's class is this one, or one of these; a subclass is not."""
    if isinstance(allowed_types, (tuple, list, set)):
        return type(obj) in allowed_types
    return type(obj) is allowed_types


@contextmanager
def maybe_enable_compiled_autograd(
    should_enable: bool, fullgraph: bool = True, dynamic: bool = True
) -> Iterator[None]:
    """A context in which PyTorch compiles whole backward passes. compile() does so in any context, of what it
    matched: results depend on none of the arguments.
    """
    yield
