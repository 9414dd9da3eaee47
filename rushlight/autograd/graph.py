"""torch.autograd.graph: hooks on what nodes keep, and edges of the graph."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rushlight.autograd.edges import GradientEdge, get_gradient_edge
from rushlight.autograd.node import Node
from rushlight.autograd.packing import HOOKS, pop, push
from rushlight.tensor.tensor import Tensor, storage

__all__ = ["GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
           "get_gradient_edge", "increment_version", "save_on_cpu", "saved_tensors_hooks"]


class saved_tensors_hooks:
    """Inside, every tensor that is saved for backward is kept as pack_hook(tensor).

    Backward gets unpack_hook of that, which must be a tensor equal to the saved one. Of nested pairs the
    innermost is called. RuntimeError where disable_saved_tensors_hooks is in force, or pack_hook writes to
    what it is given; TypeError where unpack_hook gives no tensor.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        push(self.pack_hook, self.unpack_hook)

    def __exit__(self, *error: object) -> None:
        pop()


class save_on_cpu(saved_tensors_hooks):
    """Inside, saved tensors are kept in the CPU's memory and go back to their device for backward.

    pin_memory: keep a copy, even of a tensor on the CPU. device_type names an accelerator, of which there
    is none.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(t: Tensor) -> tuple[Any, Tensor]:
            return t.device, t.detach().clone() if pin_memory else t.detach().cpu()

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, t = packed
            return t.to(device)

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, saved-tensor hooks raise RuntimeError(error_message); so does coming here under some."""
    if HOOKS.stack:
        raise RuntimeError(error_message)
    before = HOOKS.refusal
    HOOKS.refusal = error_message
    try:
        yield
    finally:
        HOOKS.refusal = before


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Inside, backward gets what was saved, whatever is written to it later: copies are kept."""
    with saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        yield


def increment_version(tensor: Any) -> None:
    """Count a write that autograd could not see into a tensor (or into each of several)."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        storage(t).version += 1
