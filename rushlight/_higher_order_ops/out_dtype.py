"""torch.ops.higher_order.out_dtype: an op whose result is of a wider dtype than its arguments."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import tree_map
from rushlight._engine.tensors.tensor import Tensor
from rushlight._ops import HigherOrderOperator, OpOverload

__all__ = ["OutDtypeOperator", "out_dtype"]


class OutDtypeOperator(HigherOrderOperator):
    """out_dtype(op, dtype, *args): op of the arguments, computed in a dtype that holds both, as `dtype`: the
    product of two matrices of int8 as int32, say. In graphs it is the conversions and the op. No gradients.

    ValueError for what is no functional overload (torch.ops.aten.mm.default) that gives one tensor.
    """

    def __init__(self) -> None:
        super().__init__("out_dtype")

    def __call__(self, op: Any, output_dtype: torch.dtype, *args: Any) -> Tensor:
        """The op's result as output_dtype."""
        if not isinstance(op, OpOverload):
            raise ValueError("out_dtype's first argument must be an OpOverload")
        if op._schema.is_mutable or any(r.alias_info is not None for r in op._schema.returns):
            raise ValueError("out_dtype's first argument needs to be a functional operator")
        returns = op._schema.returns
        if len(returns) != 1 or returns[0].type != "Tensor":
            raise ValueError("out_dtype's can only apply to ops that return a single tensor")
        wide = output_dtype
        for a in args:
            if isinstance(a, Tensor):
                wide = torch.promote_types(wide, a.dtype)
        with torch.no_grad():
            found = op(*tree_map(lambda a: a.to(wide) if isinstance(a, Tensor) else a, args))
            return found.to(output_dtype)  # type: ignore[no-any-return]  # the schema says that it is a tensor


out_dtype = OutDtypeOperator()
