"""torch._dynamo.testing: backends that count and keep the graphs that they are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rushlight import Tensor, fx, zeros_like
from rushlight._dynamo.registry import eager, lookup_backend
from rushlight._dynamo.utils import same as same


def _ops(gm: fx.GraphModule) -> int:
    return sum("call" in node.op for node in gm.graph.nodes)


class CompileCounter:
    """A backend that runs graphs as they are; frame_count graphs of op_count calls have come."""

    def __init__(self) -> None:
        self.clear()

    def __call__(self, gm: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        self.frame_count += 1
        self.op_count += _ops(gm)
        return eager(gm, example_inputs)

    def clear(self) -> None:
        """Count from zero."""
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend:
    """As CompileCounter, with another backend behind it; graphs: those that have come."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.clear()

    def __call__(self, gm: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        self.frame_count += 1
        self.op_count += _ops(gm)
        self.graphs.append(gm)
        made: Callable[..., Any] = lookup_backend(self.backend)(gm, example_inputs)
        return made

    def clear(self) -> None:
        """Count from zero and keep nothing."""
        self.frame_count = self.op_count = 0
        self.graphs: list[fx.GraphModule] = []


class EagerAndRecordGraphs:
    """A backend that runs graphs as they are, and keeps them in `graphs`."""

    def __init__(self) -> None:
        self.graphs: list[fx.GraphModule] = []

    def __call__(self, gm: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        self.graphs.append(gm)
        return eager(gm, example_inputs)


def requires_bwd_pass(out: Any) -> bool:
    """Whether a model's result, or one in it, requires grad."""
    if isinstance(out, Tensor):
        return out.requires_grad
    if isinstance(out, (list, tuple)):
        return any(map(requires_bwd_pass, out))
    if out is None or isinstance(out, int):
        return False
    raise NotImplementedError("Don't know how to reduce", type(out))


def reduce_to_scalar_loss(out: Any) -> Any:
    """One number of a model's result: the mean of a tensor's elements, and of those of what is nested."""
    if isinstance(out, Tensor):
        return out.sum() / out.numel()
    if type(out).__name__ in ("MaskedLMOutput", "Seq2SeqLMOutput", "CausalLMOutputWithCrossAttentions"):
        return reduce_to_scalar_loss(out.logits)
    if type(out).__name__ == "SquashedNormal":
        return out.mean.sum()
    if isinstance(out, (list, tuple, dict)):
        values = out.values() if isinstance(out, dict) else out
        return sum(map(reduce_to_scalar_loss, values)) / len(out)
    raise NotImplementedError("Don't know how to reduce", type(out))


def remove_optimized_module_prefix(name: str) -> str:
    """A parameter's name in the module that was compiled."""
    return name.removeprefix("_orig_mod.")


def collect_results(model: Any, prediction: Any, loss: Any, example_inputs: Sequence[Any]) -> list[Any]:
    """What a model gave, its loss, tables of its gradients ("name.grad"), parameters and buffers, and the
    gradients of its inputs.

    The gradient of a parameter that has none is zeros.
    """
    parameters = {remove_optimized_module_prefix(name): p for name, p in model.named_parameters()}
    grads = {f"{name}.grad": zeros_like(p) if p.grad is None else p.grad for name, p in parameters.items()}
    buffers = {remove_optimized_module_prefix(name): b for name, b in model.named_buffers()}
    inputs = (v for x in example_inputs for v in (x if isinstance(x, (tuple, list)) else (x,)))
    found = (x.grad for x in inputs if isinstance(x, Tensor))
    return [prediction, loss, grads, parameters, buffers, *found]
