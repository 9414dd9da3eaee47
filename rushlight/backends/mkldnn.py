"""torch.backends.mkldnn: oneDNN takes no part; its switches are kept."""

from __future__ import annotations

from rushlight._engine.names.absent_devices import functions
from rushlight.backends.switches import switches

globals().update(functions("backends.mkldnn"))
enabled, deterministic, allow_tf32, fp32_precision = True, False, True, "none"
set_flags, flags = switches(
    globals(), {"enabled": False, "deterministic": False, "allow_tf32": True, "fp32_precision": "none"}
)
