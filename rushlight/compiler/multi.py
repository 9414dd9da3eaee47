"""Updates of many tensors at once, in place (optimizers)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.derive.reference import evaluate
from rushlight.ops.scalar import Expr


class Multi:
    """In-place updates of lists of tensors; call with one tuple of arrays a tensor, and scalars."""

    def __init__(self, updates: Mapping[str, Expr], inputs: Sequence[str],
                 scalars: Sequence[str]) -> None:
        self.updates, self.inputs, self.scalars = dict(updates), tuple(inputs), tuple(scalars)
        self.targets = [self.inputs.index(name) for name in self.updates]
        self.roots = tuple(self.updates.values())

    def __call__(self, tensors: Sequence[Sequence[Any]], scalars: Sequence[float]) -> None:
        with np.errstate(all="ignore"):
            for arrays in tensors:
                work = dt.opmath(dt.from_numpy_dtype(arrays[0].dtype))
                env = dict(zip(self.inputs, arrays, strict=True))
                env.update((n, work.np.type(s)) for n, s in zip(self.scalars, scalars, strict=True))
                for target, value in zip(self.targets, evaluate(self.roots, env, work.name),
                                         strict=True):
                    arrays[target][...] = value


def multi(updates: Mapping[str, Expr], inputs: Sequence[str], scalars: Sequence[str]) -> Multi:
    """The callable for these updates."""
    return Multi(updates, inputs, scalars)
