"""The switches of PyTorch's script executor (torch._C._jit_set_profiling_executor, ...), kept and told again.

Which way a script is run is not theirs to choose here: it is text that runs on the ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.jit.compiler.qualnames import forget_names

# (what sets it, what reads it, its value): setters give the value that was.
_SWITCHES = (
    ("_jit_set_profiling_executor", None, True),
    ("_jit_set_profiling_mode", None, True),
    ("_jit_set_fusion_strategy", None, [("STATIC", 2), ("DYNAMIC", 10)]),
    ("_jit_set_bailout_depth", None, 20),
    ("_jit_set_num_profiled_runs", "_jit_get_num_profiled_runs", 1),
    ("_jit_override_can_fuse_on_cpu", "_jit_can_fuse_on_cpu", False),
    ("_jit_override_can_fuse_on_cpu_legacy", "_jit_can_fuse_on_cpu_legacy", False),
    ("_jit_override_can_fuse_on_gpu", "_jit_can_fuse_on_gpu", True),
    ("_jit_set_texpr_fuser_enabled", "_jit_texpr_fuser_enabled", True),
    ("_jit_set_texpr_reductions_enabled", "_jit_texpr_reductions_enabled", False),
    ("_jit_set_logging_option", "_jit_get_logging_option", ""),
    ("_jit_set_nvfuser_enabled", "_jit_nvfuser_enabled", False),
    ("_jit_set_te_must_use_llvm_cpu", "_jit_get_te_must_use_llvm_cpu", True),
    ("_jit_set_autocast_mode", None, True),
    ("_jit_set_inline_everything_mode", "_jit_get_inline_everything_mode", False),
    ("_jit_set_tracer_state_warn", "_jit_get_tracer_state_warn", True),
    ("_jit_set_symbolic_shapes_test_mode", "_jit_symbolic_shapes_test_mode_enabled", False),
    ("_debug_only_display_vmap_fallback_warnings", "_debug_only_are_vmap_fallback_warnings_enabled", False),
    ("_debug_set_fusion_group_inlining", "_debug_get_fusion_group_inlining", True),
    ("_debug_set_autodiff_subgraph_inlining", None, None),
    ("_set_graph_executor_optimize", "_get_graph_executor_optimize", True),
)
_values: dict[str, Any] = {setter: value for setter, _, value in _SWITCHES}
_hooks: list[Any] = [None, None]


def _setter(name: str) -> Callable[[Any], Any]:
    def switch(value: Any) -> Any:
        before, _values[name] = _values[name], value
        return before

    return switch


def _getter(name: str) -> Callable[..., Any]:
    def read(value: Any = None) -> Any:
        return _values[name] if value is None else _setter(name)(value)

    return read


def set_emit_hooks(module_hook: Any, function_hook: Any) -> None:
    """What PyTorch calls with each compiled module and function; kept, and not called."""
    _hooks[:] = module_hook, function_hook


def get_emit_hooks() -> tuple[Any, Any]:
    """What set_emit_hooks() was given."""
    return _hooks[0], _hooks[1]


def nothing(*given: Any) -> None:
    """What a check of PyTorch's own graphs, or the end of its registry of classes, has to do here."""


def has_cpp_tests() -> bool:
    """Whether tests in C++ were built in: False."""
    return False


FUNCTIONS: dict[str, Callable[..., Any]] = {setter: _setter(setter) for setter, _, _ in _SWITCHES}
FUNCTIONS |= {reader: _getter(setter) for setter, reader, _ in _SWITCHES if reader is not None}
FUNCTIONS |= {
    "_jit_set_emit_hooks": set_emit_hooks,
    "_jit_get_emit_hooks": get_emit_hooks,
    "_jit_clear_class_registry": forget_names,
    "_jit_pass_lint": nothing,
    "_jit_has_cpp_tests": has_cpp_tests,
}
