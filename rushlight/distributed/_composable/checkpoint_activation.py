"""Activation checkpointing by hooks of the module itself (torch.distributed._composable.checkpoint)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rushlight import nn
from rushlight.distributed._composable.contract import contract
from rushlight.distributed._composable_state import _State
from rushlight.utils.checkpoint import first_call

__all__ = ["checkpoint"]


class _CheckpointState(_State):
    """Of a module: whether its next call begins a checkpoint, and the one that its running call is in."""

    enable_hook = False
    _ac_generator: AbstractContextManager[None] | None = None


@contextmanager
def _no_hook(module: nn.Module, inner: AbstractContextManager[Any] | None = None) -> Iterator[None]:
    """The repetition of a call begins no checkpoint."""
    state = checkpoint.state(module)
    with inner or nullcontext():
        before, state.enable_hook = state.enable_hook, False
        try:
            yield
        finally:
            state.enable_hook = before


@contract(_CheckpointState)
def checkpoint(module: nn.Module, **kwargs: Any) -> nn.Module:
    """Have a module keep nothing for backward but its arguments; backward calls it again. The module.

    Its structure and names stay as they are. Keywords: those of utils.checkpoint.checkpoint; use_reentrant
    may not be True.
    """
    if kwargs.pop("use_reentrant", False):
        raise NotImplementedError(
            "use_reentrant=True is not supported in composable checkpoint. Please use "
            "torch.utils.checkpoint.checkpoint instead."
        )
    preserve = kwargs.pop("preserve_rng_state", True)
    context_fn = kwargs.pop("context_fn", None)
    how = [kwargs.pop("determinism_check", "default"), kwargs.pop("debug", False)]
    how.append(kwargs.pop("early_stop", True))
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    state = checkpoint.state(module)

    def contexts() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
        first, again = context_fn() if context_fn is not None else (nullcontext(), None)
        return first, _no_hook(module, again)

    def begin(module: nn.Module, args: Any, kwargs: Any) -> None:
        if state.enable_hook:
            state._ac_generator = first_call(module, args, kwargs, preserve, contexts, *how)
            state._ac_generator.__enter__()

    def end(module: nn.Module, args: Any, output: Any) -> None:
        running, state._ac_generator = state._ac_generator, None
        if state.enable_hook and running is not None:
            running.__exit__(None, None, None)

    state.enable_hook = True
    module.register_forward_pre_hook(begin, with_kwargs=True)
    module.register_forward_hook(end, prepend=True, always_call=True)
    return module
