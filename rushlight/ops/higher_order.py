"""torch.ops.higher_order: ops that take functions."""

from rushlight._higher_order_ops.cond import cond_op as cond
from rushlight._higher_order_ops.map import map_impl
from rushlight._higher_order_ops.scan import scan_op as scan
from rushlight._higher_order_ops.while_loop import while_loop_op as while_loop
from rushlight._higher_order_ops.wrap import (
    tag_activation_checkpoint,
    wrap,
    wrap_with_autocast,
    wrap_with_set_grad_enabled,
)

__all__ = [
    "cond",
    "map_impl",
    "scan",
    "tag_activation_checkpoint",
    "while_loop",
    "wrap",
    "wrap_with_autocast",
    "wrap_with_set_grad_enabled",
]
