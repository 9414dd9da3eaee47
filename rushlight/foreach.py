"""torch.foreach: an op for each tensor of a list, or for each position of several lists.

The functions are those of torch._foreach_*: one kernel runs over all tensors where there is one, and the
results are those of the op on each tensor by itself. A name with an underscore at its end writes into the
first list.
"""

from __future__ import annotations

from typing import Any

import rushlight as _torch

_NAMES = """
    abs abs_ acos acos_ add add_ addcdiv addcdiv_ addcmul addcmul_ asin asin_ atan atan_ ceil ceil_
    clamp_max clamp_max_ clamp_min clamp_min_ clone copy_ cos cos_ cosh cosh_ div div_ erf erf_ erfc
    erfc_ exp exp_ expm1 expm1_ floor floor_ frac frac_ lerp lerp_ lgamma lgamma_ log log1p log1p_
    log2 log2_ log10 log10_ log_ max maximum maximum_ minimum minimum_ mm mul mul_ neg neg_ norm pow
    pow_ reciprocal reciprocal_ round round_ rsqrt rsqrt_ sigmoid sigmoid_ sign sign_ sin sin_ sinh
    sinh_ sqrt sqrt_ sub sub_ tan tan_ tanh tanh_ trunc trunc_ zero_
""".split()
__all__ = [*_NAMES]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'torch.foreach' has no attribute {name!r}")
    return getattr(_torch, f"_foreach_{name}")


def __dir__() -> list[str]:
    return _NAMES
