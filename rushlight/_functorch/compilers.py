"""torch._functorch.compilers: small compilers for aot_function, and the decompositions that they use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight._decomp import get_decompositions
from rushlight._functorch.aot_autograd import (
    aot_function,
    aot_module,
    make_boxed_compiler,
)
from rushlight._functorch.partitioners import draw_graph, min_cut_rematerialization_partition
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node

__all__ = [
    "debug_compile",
    "default_decompositions",
    "draw_graph_compile",
    "memory_efficient_fusion",
    "nnc_jit",
    "nop",
    "print_compile",
    "simple_ts_compile",
    "ts_compile",
]

aten: Any = torch.ops.aten

default_decompositions: dict[Any, Callable[..., Any]] = get_decompositions(
    [aten.addcmul, aten.addcdiv, aten.hardtanh, aten.mse_loss, aten.silu, aten.rsub]
)


def nop(fx_g: Any, _: Any) -> Any:
    """A compiler that gives the graph back."""
    return fx_g


@make_boxed_compiler
def print_compile(fx_g: Any, _: Any) -> Any:
    """A compiler that prints the graph's code and gives the graph back."""
    print(fx_g.code)
    return fx_g


@make_boxed_compiler
def ts_compile(fx_g: Any, inps: Sequence[Any]) -> Any:
    """TorchScript of the graph, traced at the inputs and frozen."""
    fx_g.graph.lint()
    results = fx_g.graph.output_node().args[0]
    tensors = tuple([r for r in results if isinstance(r, Node)])
    if len(tensors) == len(results):
        fx_g.recompile()
        return _traced(fx_g, inps)
    graph, values = Graph(), dict[Node, Node]()
    graph.graph_copy(fx_g.graph, values)
    graph.output(tuple([values[r] for r in tensors]))
    run = _traced(GraphModule(fx_g, graph), inps) if tensors else lambda *_: ()

    def whole(*args: Any) -> tuple[Any, ...]:
        """All results: what is no tensor, as None for inputs without a gradient, is no result of programs."""
        found = iter(run(*args))
        return tuple([next(found) if isinstance(r, Node) else r for r in results])

    return whole


def _traced(graph: GraphModule, inps: Sequence[Any]) -> Any:
    state = torch.get_rng_state()
    try:
        return torch.jit.freeze(torch.jit.trace(graph, tuple(inps), check_trace=False).eval())
    finally:
        torch.set_rng_state(state)


simple_ts_compile = ts_compile


@make_boxed_compiler
def debug_compile(fx_g: Any, inps: Sequence[Any]) -> Any:
    """A compiler that prints the graph and the inputs' sizes and dtypes, runs it once and gives it back."""
    print(fx_g.code)
    print([(tuple(t.shape), t.dtype) if isinstance(t, torch.Tensor) else t for t in inps])
    fx_g(*inps)
    return fx_g


def draw_graph_compile(name: str) -> Callable[..., Any]:
    """A compiler that also writes the graph as Graphviz text, `name.dot`."""

    def draw(fx_g: Any, inps: Any) -> Any:
        draw_graph(fx_g, f"{name}.dot")
        return fx_g

    return make_boxed_compiler(draw)


def nnc_jit(f: Callable[..., Any]) -> Callable[..., Any]:
    """f by TorchScript."""
    return aot_function(f, simple_ts_compile)


def memory_efficient_fusion(fn: Any, **kwargs: Any) -> Any:
    """fn or a module by TorchScript, with a backward that computes again what is cheap to compute."""
    config: dict[str, Any] = {
        "fw_compiler": ts_compile,
        "bw_compiler": ts_compile,
        "partition_fn": min_cut_rematerialization_partition,
        "decompositions": default_decompositions,
    } | kwargs
    return aot_module(fn, **config) if isinstance(fn, torch.nn.Module) else aot_function(fn, **config)
