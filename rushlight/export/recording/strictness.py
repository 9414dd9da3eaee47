"""What strict export refuses by its settings, though it could be recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import rushlight as torch


@dataclass
class ExportDynamoConfig:
    """PyTorch's settings of strict export. `allow_rnn` says whether recurrent layers are taken; the others
    are kept, and change nothing here.
    """

    allow_rnn: bool = True
    do_not_emit_runtime_asserts: bool = True
    specialize_int: bool = True
    specialize_float: bool = True
    assume_static_by_default: bool = False
    automatic_dynamic_shapes: bool = False
    capture_dynamic_output_shape_ops: bool = True
    capture_scalar_outputs: bool = True
    prefer_deferred_runtime_asserts_over_guards: bool = False


DEFAULT_EXPORT_DYNAMO_CONFIG = ExportDynamoConfig()


def check(mod: Any) -> None:
    """Unsupported for a module with recurrent layers where these are not allowed."""
    if DEFAULT_EXPORT_DYNAMO_CONFIG.allow_rnn or not isinstance(mod, torch.nn.Module):
        return
    if any(isinstance(m, torch.nn.RNNBase) for m in mod.modules()):
        raise torch._dynamo.exc.Unsupported("Dynamo does not support RNN, GRU, or LSTM.")
