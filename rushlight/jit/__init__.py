"""torch.jit: TorchScript. script compiles Python, trace records a call, save and load use PyTorch's files.

All make one representation (program/ir.py), typed programs: compiler/ makes them of Python source, tracing/
of a call, reader.py of archives. program/ writes them as TorchScript (codetext.py), as PyTorch's graphs
(graphtext.py), and as Python functions over Rushlight's ops, which run (execute.py).
"""

from __future__ import annotations

from rushlight.jit import _logging as _logging, frontend
from rushlight.jit._profile import _ScriptProfile
from rushlight.jit.annotations import (
    Attribute,
    Final,
    Future,
    _drop,
    _IgnoreContextManager,
    _overload,
    _overload_method,
    _unwrap_optional,
    annotate,
    export,
    fork,
    ignore,
    interface,
    is_scripting,
    is_tracing,
    isinstance,
    unused,
    wait,
)
from rushlight.jit.api import (
    _hide_source_ranges,
    _unique_state_dict,
    enable_onednn_fusion,
    export_opnames,
    freeze,
    fuser,
    last_executed_optimized_graph,
    onednn_fusion_enabled,
    optimize_for_inference,
    optimized_execution,
    run_frozen_optimizations,
    script,
    script_if_tracing,
    script_method,
    set_fusion_strategy,
)
from rushlight.jit.archive import load, save
from rushlight.jit.awaiting import _Await, _awaitable, _awaitable_nowait, _awaitable_wait
from rushlight.jit.frontend import Error
from rushlight.jit.modules import RecursiveScriptModule, ScriptFunction, ScriptModule, TopLevelTracedModule
from rushlight.jit.tracing.trace import (
    TracerWarning,
    TracingCheckError,
    _get_trace_graph,
    trace,
    trace_module,
)
from rushlight.jit.units import CompilationUnit

_fork, _wait = fork, wait  # as PyTorch's own modules call them

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "TopLevelTracedModule",
    "TracerWarning",
    "TracingCheckError",
    "_Await",
    "_IgnoreContextManager",
    "_ScriptProfile",
    "_awaitable",
    "_awaitable_nowait",
    "_awaitable_wait",
    "_drop",
    "_get_trace_graph",
    "_hide_source_ranges",
    "_overload",
    "_overload_method",
    "_unique_state_dict",
    "_unwrap_optional",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "export_opnames",
    "fork",
    "freeze",
    "frontend",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "last_executed_optimized_graph",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "run_frozen_optimizations",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "trace",
    "trace_module",
    "unused",
    "wait",
]
