"""torch.ops.higher_order: ops that take functions."""

from rushlight._higher_order_ops._invoke_quant import invoke_quant_packed
from rushlight._higher_order_ops.cond import cond_op as cond
from rushlight._higher_order_ops.map import map_impl
from rushlight._higher_order_ops.out_dtype import out_dtype
from rushlight._higher_order_ops.scan import scan_op as scan
from rushlight._higher_order_ops.while_loop import (
    while_loop_op as while_loop,
    while_loop_stack_output,
)
from rushlight._higher_order_ops.wrap import (
    tag_activation_checkpoint,
    wrap,
    wrap_with_autocast,
    wrap_with_set_grad_enabled,
)

__all__ = [
    "cond",
    "invoke_quant_packed",
    "map_impl",
    "out_dtype",
    "scan",
    "tag_activation_checkpoint",
    "while_loop",
    "while_loop_stack_output",
    "wrap",
    "wrap_with_autocast",
    "wrap_with_set_grad_enabled",
]
