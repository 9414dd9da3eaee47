"""torch._higher_order_ops: ops that take functions: branches and loops over tensors.

Python runs them; while a program is exported, the functions become graphs of their own.
"""

from rushlight._higher_order_ops._invoke_quant import (
    InvokeQuant as InvokeQuant,
    invoke_quant_packed as invoke_quant_packed,
)
from rushlight._higher_order_ops.associative_scan import (
    associative_scan as associative_scan,
    associative_scan_op as associative_scan_op,
)
from rushlight._higher_order_ops.cond import cond as cond
from rushlight._higher_order_ops.map import map as map
from rushlight._higher_order_ops.scan import scan as scan
from rushlight._higher_order_ops.while_loop import (
    while_loop as while_loop,
    while_loop_stack_output as while_loop_stack_output,
)

__all__ = [
    "InvokeQuant",
    "associative_scan",
    "cond",
    "invoke_quant_packed",
    "map",
    "scan",
    "while_loop",
    "while_loop_stack_output",
]
