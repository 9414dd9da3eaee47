"""functorch.experimental.control_flow: branches and loops over tensors."""

from rushlight._higher_order_ops.cond import cond as cond
from rushlight._higher_order_ops.map import map as map

__all__ = ["cond", "map"]
