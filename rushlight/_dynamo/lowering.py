"""torch._dynamo.backends.common: backends that compile graphs of aten's ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight._functorch.aot_autograd import aot_module_simplified


class AotAutograd:
    """A backend: it takes a graph apart into aten's ops, forward and, where an input requires a gradient,
    backward, and lets these be compiled. Gradients are those of the program's own ops.
    """

    def __init__(self, **how: Any) -> None:
        self.__name__ = "compiler_fn"
        self.kwargs = how

    def __call__(self, gm: Any, example_inputs: Sequence[Any], **more: Any) -> Callable[..., Any]:
        """What runs the graph."""
        how = {**self.kwargs, **more}
        if any(isinstance(t, torch.Tensor) and t.requires_grad for t in example_inputs):
            how["bw_compiler"] = how.get("bw_compiler") or how["fw_compiler"]
        with torch.enable_grad():
            return aot_module_simplified(gm, example_inputs, **how)


def aot_autograd(**kwargs: Any) -> AotAutograd:
    """A backend of compilers of aten's graphs: `fw_compiler`, `bw_compiler`, `inference_compiler`,
    `partition_fn`, `decompositions`, as torch._functorch.aot_autograd.aot_module_simplified takes them.
    """
    return AotAutograd(**kwargs)
