"""torch._export.config: settings of PyTorch's exporter; programs assign to them, and nothing changes."""

from __future__ import annotations

from typing import Any

from rushlight._engine.names.alternatives import attribute
from rushlight.utils._config_module import patcher

use_new_tracer_experimental = True
detect_non_strict_fake_tensor_leaks = False
error_on_lifted_constant_tensors = True
enable_auto_functionalized_v2_for_export = True
use_legacy_dynamo_graph_capture = True


def __getattr__(name: str) -> Any:
    """Any other name is told to be missing."""
    return attribute("rushlight._export.config", name)


patch = patcher(__name__)
