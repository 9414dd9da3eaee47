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
    fx_g.recompile()
    traced = torch.jit.trace(fx_g, tuple(inps), check_trace=False)
    return torch.jit.freeze(traced.eval())


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
