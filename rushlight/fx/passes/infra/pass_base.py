"""PassBase: a change of a GraphModule, with what must hold before and after it."""

from __future__ import annotations

import abc
from typing import NamedTuple

from rushlight import nn
from rushlight.fx.graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """What a pass gives: the module, and whether it was changed."""

    graph_module: nn.Module
    modified: bool


class PassBase(abc.ABC):
    """A pass: subclasses define `call`; `requires` and `ensures` may raise where something does not hold."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        """requires(), call() and ensures() of `graph_module`; the result of call()."""
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """The change itself."""

    def requires(self, graph_module: GraphModule) -> None:
        """What must hold before; raises where it does not."""

    def ensures(self, graph_module: GraphModule) -> None:
        """What must hold afterwards; raises where it does not."""
