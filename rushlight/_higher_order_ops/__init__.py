"""torch._higher_order_ops: ops that take functions: branches and loops over tensors.

Python runs them; while a program is exported, the functions become graphs of their own.
"""

from rushlight._higher_order_ops.associative_scan import (
    associative_scan as associative_scan,
    associative_scan_op as associative_scan_op,
)
from rushlight._higher_order_ops.cond import cond as cond
from rushlight._higher_order_ops.map import map as map
from rushlight._higher_order_ops.scan import scan as scan
from rushlight._higher_order_ops.while_loop import while_loop as while_loop

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
