"""Modules as functions of their parameters."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight.nn.utils.stateless import _functional_call

__all__ = ["functional_call", "functionalize", "stack_module_state"]


def functional_call(module: Any, parameter_and_buffer_dicts: Any, args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    """module(*args, **kwargs) with the tensors of a dict of dotted names (or of several dicts) for its own.

    tie_weights: a tensor given for one of several names of a parameter stands for all. strict: RuntimeError unless
    exactly the module's names are given. ValueError for a name in two dicts; TypeError for what is no dict.
    """
    given = parameter_and_buffer_dicts
    if isinstance(given, Sequence):
        if not all(isinstance(d, dict) for d in given):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for d in given for name in d]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"{sorted(twice)} appeared in multiple dictionaries; behavior of functional call is "
                             "ambiguous")
        given = {name: t for d in given for name, t in d.items()}
    elif not isinstance(given, dict):
        raise ValueError("Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                         f"{type(given)}")
    return _functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(parameters, buffers) of modules of one kind, each name's tensors stacked: for vmap over functional_call."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    return (_stacked([dict(m.named_parameters()) for m in models]),
            _stacked([dict(m.named_buffers()) for m in models]))


def _stacked(states: list[dict[str, Any]]) -> dict[str, Any]:
    found = {}
    for name in states[0]:
        tensors = [s[name] for s in states]
        tracked = {t.requires_grad for t in tensors}
        if len(tracked) > 1:
            raise RuntimeError("Expected each parameter to have the same .requires_grad: the models differ in "
                               f"{name!r}")
        found[name] = torch.stack(tensors).detach().requires_grad_(tracked == {True})
    return found


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Refused: there is no tracer that would see the difference."""
    raise NotImplementedError("torch.func.functionalize rewrites in-place ops for tracers, which do not exist here; "
                              "the transforms of torch.func take in-place ops as they are: leave functionalize away")
