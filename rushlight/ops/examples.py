"""torch.ops._test: three ops that PyTorch has as examples of what operators may take and give."""

from __future__ import annotations

import rushlight as torch
from rushlight import Tensor
from rushlight.library import Library

_LIBRARY = Library("_test", "FRAGMENT")


def leaky_relu(self: Tensor, v: float = 0.01) -> Tensor:
    """What is below zero, v times as much."""
    return torch.nn.functional.leaky_relu(self, v)


def cat(inputs: list[Tensor]) -> Tensor:
    """The tensors one behind the other."""
    return torch.cat(inputs)


def get_first(_0: list[list[str]]) -> str:
    """The first text of the first list."""
    return _0[0][0]


for _schema, _function in (
    ("leaky_relu(Tensor self, float v=0.01) -> Tensor", leaky_relu),
    ("cat(Tensor[] inputs) -> Tensor", cat),
    ("get_first(str[][] _0) -> str _0", get_first),
):
    _LIBRARY.define(_schema)
    _LIBRARY.impl(_function.__name__, _function, "CompositeImplicitAutograd")
