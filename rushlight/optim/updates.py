"""The arithmetic of optimizer steps, fused: one native call updates all parameters of a group.

Each update is a set of scalar expressions over one element of every tensor, compiled by
compiler.multi into one kernel that runs over a list of tensors in place. This is the one file of
optim/ that looks behind the public API, for speed: a step on small models is all overhead.
"""
from __future__ import annotations

from functools import lru_cache
from typing import Any

from rushlight.compiler.multi import multi
from rushlight.ops.scalar import Expr, m, symbol
from rushlight.tensor.tensor import storage

P, G, M1, M2, MAX, BUF = (symbol(n) for n in ("p", "g", "m", "v", "vmax", "buf"))
LR, B1, B2, EPS, WD = (symbol(n) for n in ("lr", "beta1", "beta2", "eps", "wd"))
STEP_SIZE, ROOT, DECAY = symbol("step_size"), symbol("root"), symbol("decay")
MOMENTUM, DAMPENED = symbol("momentum"), symbol("dampened")


def touch(tensors: Any) -> None:
    """Tell autograd that these were written to."""
    for t in tensors:
        storage(t).version += 1


@lru_cache(maxsize=None)
def adam_kernel(decoupled: bool, decay: bool, amsgrad: bool, maximize: bool) -> Any:
    """p, m, v (, vmax) in place from g, in PyTorch's order of operations.

    Scalars: lr-dependent ones are computed once per step: step_size = lr / (1 - beta1 ** t),
    root = sqrt(1 - beta2 ** t), decay = 1 - lr * wd.
    """
    g: Expr = -G if maximize else G
    p: Expr = P
    scalars = ["beta1", "beta2", "eps", "step_size", "root"]
    if decay and decoupled:
        p = P * DECAY
        scalars.append("decay")
    elif decay:
        g = g + P * WD
        scalars.append("wd")
    first = M1 + (g - M1) * (1 - B1)
    second = M2 * B2 + g * g * (1 - B2)
    largest = m.maximum(MAX, second) if amsgrad else second
    denominator = m.sqrt(largest) / ROOT + EPS
    updates = {"p": p - STEP_SIZE * (first / denominator), "m": first, "v": second}
    names = ["p", "g", "m", "v"]
    if amsgrad:
        updates["vmax"] = largest
        names.append("vmax")
    return multi(updates, names, scalars)


@lru_cache(maxsize=None)
def sgd_kernel(decay: bool, momentum: bool, first: bool, nesterov: bool, maximize: bool) -> Any:
    """p (, buf) in place from g."""
    g: Expr = -G if maximize else G
    scalars = ["lr"]
    if decay:
        g = g + P * WD
        scalars.append("wd")
    if not momentum:
        return multi({"p": P - LR * g}, ["p", "g"], scalars)
    # The buffer of a first step is the gradient itself.
    buf = g if first else BUF * MOMENTUM + g * DAMPENED
    scalars += [] if first else ["dampened"]
    step = g + buf * MOMENTUM if nesterov else buf
    scalars += [] if first and not nesterov else ["momentum"]
    return multi({"p": P - LR * step, "buf": buf}, ["p", "g", "buf"], scalars)
