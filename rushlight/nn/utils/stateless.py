"""Calling a module with other tensors in place of its parameters and buffers."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import rushlight as torch
from rushlight._engine.core.renaming import renamed

_MISSING = object()


def _functional_call(
    module: Any,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """module(*args, **kwargs) with the tensors of a dict of dotted paths in place of its own.

    `tie_weights`: a tensor given for one of several names of a parameter stands for all. `strict`:
    RuntimeError unless the dict has exactly the module's names. A buffer that the call replaces is
    replaced in the dict.
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    jit = sys.modules.get("rushlight.jit.modules")
    if jit is not None and isinstance(module, (jit.ScriptModule, jit.ScriptFunction)):
        raise RuntimeError("The stateless API can't be used with Jitted modules")
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))


functional_call = renamed(
    _functional_call,
    "functional_call",
    (
        "This API is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. Please "
        "use torch.func.functional_call instead which is a drop-in replacement for this API."
    ),
)


@contextlib.contextmanager
def _reparametrize_module(
    module: Any,
    parameters_and_buffers: dict[str, Any],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> Iterator[None]:
    given = parameters_and_buffers
    if tie_weights:
        given = _untie_named_tensors_map(module, given)
    if strict:
        _check_names(module, given)
    names = list(given)
    if stack_weights:
        names.reverse()
    swapped: list[tuple[str, Any, str, Any]] = []
    try:
        for name in names:
            path, _, leaf = name.rpartition(".")
            owner = module.get_submodule(path)
            swapped.append((name, owner, leaf, _swap(owner, leaf, given[name])))
        yield
    finally:
        for name, owner, leaf, original in reversed(swapped):
            now = _swap(owner, leaf, original)
            if name in parameters_and_buffers and now is not _MISSING:
                parameters_and_buffers[name] = now


def _swap(owner: Any, name: str, value: Any) -> Any:
    """Put a value in the place of a tensor (_MISSING: nothing); returns what was there."""
    if value is not None and value is not _MISSING and not isinstance(value, torch.Tensor):
        raise TypeError(f"{value} is not an instance of torch.Tensor")
    for table in (owner._parameters, owner._buffers):
        if name in table:
            # Into the table itself: a parameter may be replaced by any tensor here.
            previous = table[name]
            if value is _MISSING:
                del table[name]
            else:
                table[name] = value
            return previous
    previous = getattr(owner, name, _MISSING)
    if previous is not _MISSING and previous is not None and not isinstance(previous, torch.Tensor):
        raise TypeError(f"attribute `{name}`: {previous} is not an instance of torch.Tensor")
    if value is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, value)
    return previous


def _named_tensors(module: Any) -> list[tuple[str, Any]]:
    return [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]


def _untie_named_tensors_map(module: Any, parameters_and_buffers: dict[str, Any]) -> dict[str, Any]:
    """The dict with a tensor given for one name of a parameter under all its names."""
    groups: dict[int, set[str]] = {}
    for name, tensor in _named_tensors(module):
        groups.setdefault(id(tensor), set()).add(name)
    untied = dict(parameters_and_buffers)
    for names in groups.values():
        given = sorted(names & parameters_and_buffers.keys())
        if len({id(parameters_and_buffers[name]) for name in given}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {given}, which are tied. "
                "Consider using tie_weights=False"
            )
        if given:
            for name in names:
                untied.setdefault(name, parameters_and_buffers[given[0]])
    return untied


def _check_names(module: Any, given: dict[str, Any]) -> None:
    own = dict(_named_tensors(module))
    unexpected = sorted(given.keys() - own.keys())
    missing = sorted(own.keys() - given.keys())
    if unexpected or missing:
        lines = [
            f"{what} key(s): {', '.join(map(repr, names))}."
            for what, names in (("Unexpected", unexpected), ("Missing", missing))
            if names
        ]
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(lines))
