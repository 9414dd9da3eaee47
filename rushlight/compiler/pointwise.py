"""Pointwise kernels: a callable per (expressions, input dtypes, output dtypes)."""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from rushlight.base import dtype as dt
from rushlight.derive.reference import evaluate
from rushlight.ops.scalar import Expr


class Tiered:
    """A kernel that starts on NumPy."""

    def __init__(self, outputs: Any, inputs: Any, out_dtypes: Any) -> None:
        self.outputs, self.inputs, self.out_dtypes = outputs, inputs, out_dtypes
        self.fn: Callable[..., Any] = self.reference
        self.large: Callable[..., Any] = self.reference

    def reference(self, *arrays: Any, out: Any = None) -> Any:
        """Evaluate with NumPy."""
        names = [n for n, _ in self.inputs]
        compute = max((dt.BY_NAME[d] for _, d in self.inputs), key=lambda d: (d.category, d.itemsize))
        found = evaluate(self.outputs, dict(zip(names, arrays, strict=True)), compute.name)
        import numpy as np
        with np.errstate(all="ignore"):
            shape = np.broadcast_shapes(*(a.shape for a in arrays))
            res = []
            for i, (f, d) in enumerate(zip(found, self.out_dtypes, strict=True)):
                if f.shape != shape:
                    f = np.broadcast_to(f, shape)
                if out is not None:
                    o = out if len(found) == 1 else out[i]
                    o[...] = f
                    res.append(o)
                else:
                    res.append(np.array(f, dt.BY_NAME[d].np, copy=not f.flags.owndata or any(f is a for a in arrays)))
        return res[0] if len(res) == 1 else tuple(res)

    def on_ready(self, callback: Callable[[Any], None]) -> None:
        """Never, on this tier."""


@lru_cache(maxsize=None)
def pointwise(outputs: tuple[Expr, ...], inputs: tuple[tuple[str, str], ...],
              out_dtypes: tuple[str, ...]) -> Tiered:
    """The kernel for these expressions."""
    return Tiered(outputs, inputs, out_dtypes)
