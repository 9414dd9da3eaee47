"""torch.compiler.config: the settings of compile() that belong to no part of it.

torch._dynamo.config's are here by the same names.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

from rushlight._dynamo import config as _dynamo
from rushlight._engine.names.alternatives import attribute
from rushlight.utils._config_module import patcher

job_id: str | None = os.environ.get("TORCH_COMPILE_JOB_ID")
cache_key_tag = os.environ.get("TORCH_COMPILE_CACHE_KEY_TAG", "")
dynamic_sources = dynamic_values = ""
force_disable_caches = False
# All garbage is collected before each torch.cuda.graph: dead cycles may hold memory of the device.
force_cudagraph_gc = os.environ.get("TORCH_CUDAGRAPH_GC") == "1"

_SHARED = frozenset(
    (
        "dynamic_shapes",
        "assume_static_by_default",
        "automatic_dynamic_shapes",
        "recompile_limit",
        "accumulated_recompile_limit",
        "verbose",
        "capture_scalar_outputs",
        "capture_dynamic_output_shape_ops",
        "log_file_name",
        "fail_on_recompile_limit_hit",
        "allow_unspec_int_on_nn_module",
        "skip_tensor_guards_with_matching_dict_tags",
        "enable_cpp_symbolic_shape_guards",
        "wrap_top_frame",
        "reorderable_logging_functions",
    )
)


def _captures_collect() -> bool:
    return force_cudagraph_gc


def __getattr__(name: str) -> Any:
    if name in _SHARED:
        return getattr(_dynamo, name)
    return attribute("rushlight.compiler.config", name)


class _Config(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        if name in _SHARED:
            setattr(_dynamo, name, value)
        else:
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Config
patch = patcher(__name__)
