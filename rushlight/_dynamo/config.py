"""Settings that PyTorch's programs assign to. `verbose` prints what stays eager, and why, as it happens;
`error_on_recompile` refuses arguments of a new kind. Of functions that are given as `backend`: when they
are asked for another graph say `recompile_limit`, `assume_static_by_default`, `automatic_dynamic_shapes`;
`fail_on_recompile_limit_hit` refuses what comes after the limit; with `suppress_errors` a graph that they
fail on runs as it is, and with `trace_numpy` NumPy's functions of a call's arrays are ops in their
graphs, unless the function names functions of other extension modules, which need
NumPy's own. `do_not_emit_runtime_asserts`: exported programs check relations of sizes before they run, not
by nodes. Others change nothing: what cannot be compiled runs as Python; rushlight.explain says why.
"""

import sys
from types import ModuleType
from typing import Any

from rushlight._logging import set_logs
from rushlight.utils._config_module import patcher

suppress_errors = False
verbose = False
cache_size_limit = recompile_limit = 8
capture_scalar_outputs = do_not_emit_runtime_asserts = False
trace_numpy = True
assume_static_by_default = automatic_dynamic_shapes = True
error_on_recompile = False
error_on_nested_fx_trace = optimize_ddp = True
fail_on_recompile_limit_hit = False
# What programs add to: all classes of tensors are compiled, and functions that log run where they stand.
traceable_tensor_subclasses: set[type] = set()
nontraceable_tensor_subclasses: set[type] = set()
reorderable_logging_functions: set[Any] = set()


class _Config(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        if name == "verbose":
            set_logs(graph_breaks=value, recompiles=value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Config
patch = patcher(__name__)
