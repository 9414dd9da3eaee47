"""Signatures that PyTorch took before it had keywords: factors as positional arguments, in front of tensors.

They are taken with a warning, once: x.add_(-lr, g) is x.add_(g, alpha=-lr), and torch.addmm(beta, x, alpha,
a, b), as a method x.addmm(beta, alpha, a, b), is torch.addmm(x, a, b, beta=beta, alpha=alpha).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core.errors import warn_once

# By the row: the keywords of the factors, in the order in which they stood.
_FACTORS = {
    "add": ("alpha",),
    "sub": ("alpha",),
    "addcdiv": ("value",),
    "addcmul": ("value",),
    **dict.fromkeys(("addbmm", "addmm", "addmv", "addr", "baddbmm"), ("beta", "alpha")),
}
ROWS = frozenset(_FACTORS)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float, complex, np.number)) and not isinstance(value, bool)


def newer(name: str, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a row, and its keywords, from more positional ones than it takes; None for others."""
    wanted = _FACTORS.get(name)
    tensors = tuple(a for a in args if not _number(a))
    factors = [a for a in args if _number(a)]
    if wanted is None or not 0 < len(factors) <= len(wanted) or any(map(_number, args[-1:])):
        return None
    warn_once(
        f"This overload of {name} is deprecated: numbers as positional arguments before tensors. "
        f"Consider using the following signature instead: {name}({'Tensor, ' * len(tensors)}*, "
        f"{', '.join(f'Number {w} = 1' for w in wanted)})"
    )
    return tensors, dict(zip(wanted, factors, strict=False))
