"""Modules as functions of their parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight._engine.autograd.grad_mode import Transformed
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight.nn.utils.stateless import _functional_call


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: Any = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """module(*args, **kwargs) with the tensors of a dict of dotted names (or of several dicts) for its own.

    tie_weights: a tensor given for one of several names of a parameter stands for all. strict: RuntimeError
    unless exactly the module's names are given. ValueError for a name in two dicts, or for what is no dict.
    """
    given = parameter_and_buffer_dicts
    dicts = list(given) if isinstance(given, Sequence) else [given]
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, got {given}"
        )
    found = {name: t for d in dicts for name, t in d.items()}
    if len(found) < sum(map(len, dicts)):
        repeated = [name for name in found if sum(name in d for d in dicts) > 1]
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous"
        )
    return _functional_call(
        module,
        given if isinstance(given, dict) else found,
        args,
        kwargs,
        tie_weights=tie_weights,
        strict=strict,
    )


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(parameters, buffers) of modules of one kind, each name's tensors stacked, for vmap."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters: list[dict[str, Any]] = [dict(m.named_parameters()) for m in models]
    buffers: list[dict[str, Any]] = [dict(m.named_buffers()) for m in models]
    return _stacked_states(parameters), _stacked_states(buffers)


def _stacked_states(states: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: _stacked([state[name] for state in states]) for name in states[0]}


def _stacked(tensors: list[Any]) -> Any:
    if len({t.requires_grad for t in tensors}) > 1:
        raise RuntimeError("Expected each parameter to have the same .requires_grad in all models")
    return torch.stack(tensors).detach().requires_grad_(tensors[0].requires_grad)


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Take the running statistics from all BatchNorm modules in `root`, so that vmap can run it; `root`.

    Each normalises by its batch's own statistics then, in evaluation, too.
    """
    for module in root.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function with func's results and its writes to what it is given, without writes inside.

    What a tracer such as make_fx hears are ops that give new tensors; what was written into an argument is
    copied into it at the end. remove: "mutations", or "mutations_and_views": views are copies, then, too.
    RuntimeError for others.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for `remove`={remove}. Valid "
            "options are: 'mutations' and 'mutations_and_views'"
        )

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        from rushlight._torch_dispatch import functionalization as functional  # few programs need it

        wrapped = tree_map(_functional, (args, kwargs))
        with functional.functional(remove == "mutations"), Transformed():
            found = tree_map(functional.inner, func(*wrapped[0], **wrapped[1]))
        for given, own in zip(flatten((args, kwargs))[0], flatten(wrapped)[0], strict=True):
            if isinstance(own, torch.Tensor):
                functional.propagated(given, own)
        return found

    return wrapper


def _functional(value: Any) -> Any:
    return torch._to_functional_tensor(value) if isinstance(value, torch.Tensor) else value
