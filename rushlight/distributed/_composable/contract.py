"""Functions that change modules in place, and their states (torch.distributed._composable.contract)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from rushlight import nn
from rushlight.distributed._composable_state import _State

__all__ = ["REGISTRY_KEY", "STATE_KEY", "RegistryItem", "contract", "generate_state_key"]


def generate_state_key(string: str = "__composable_api_state_key") -> str:
    """A name that no attribute has."""
    return f"{string}_{uuid.uuid4()}"


STATE_KEY = generate_state_key()
REGISTRY_KEY = generate_state_key()


class RegistryItem:
    """One application of such a function."""


def _get_registry(module: nn.Module) -> dict[str, RegistryItem] | None:
    """The functions that were applied to a module, by name; None if none was."""
    return getattr(module, REGISTRY_KEY, None)


def _get_root_modules(modules: Iterable[nn.Module]) -> list[nn.Module]:
    """Those of the modules that lie in no other of them."""
    given = list(dict.fromkeys(modules))
    inner = {child for module in given for child in module.modules() if child is not module}
    return [module for module in given if module not in inner]


def _names(module: nn.Module) -> dict[str, list[str]]:
    return {
        "parameters": [name for name, _ in module.named_parameters()],
        "buffers": [name for name, _ in module.named_buffers()],
        "modules": [name for name, _ in module.named_modules()],
    }


def _check_names(kind: str, before: list[str], after: list[str]) -> None:
    if before == after:
        return
    gone, new = set(before) - set(after), set(after) - set(before)
    head = f"Checking {kind}: Composable distributed API implementations cannot modify "
    if gone or new:
        raise RuntimeError(f"{head}FQNs.\nFQNs only in original: {gone}\nFQNs only in new: {new}")
    raise RuntimeError(f"{head}the order of FQNs.\nOriginal FQNs: {gone}\nNew FQNs: {new}")


def _check_all_names(
    name: str, before: list[dict[str, list[str]]], after: list[dict[str, list[str]]]
) -> None:
    if len(before) != len(after):
        raise AssertionError(
            f"{name} should return the same number of modules as input modules"
            f"Inputs: {len(before)} modules\nOutputs: {len(after)} modules"
        )
    for kind in ("parameters", "buffers", "modules"):
        for old, new in zip(before, after, strict=True):
            _check_names(kind, old[kind], new[kind])


def _register(func: Callable[..., Any], module: nn.Module, state: _State, item: RegistryItem) -> None:
    states = module.__dict__.setdefault(STATE_KEY, {})
    registry = module.__dict__.setdefault(REGISTRY_KEY, {})
    if func in states or func.__name__ in registry:
        raise AssertionError(
            "Each distinct composable distributed API can only be applied to a module once. "
            f"{func.__name__} has already been applied to the following module:\n{module}"
        )
    states[func] = state
    registry[func.__name__] = item


def contract(state_cls: type[_State] = _State) -> Callable[[Callable[..., Any]], Any]:
    """A decorator of a function whose first argument is a module, or several, which it changes in place.

    The function may be applied once to a module, and may not change the names of parameters, buffers and
    modules: AssertionError, RuntimeError. function.state(module) is its state_cls() for a module, which all
    modules of one call share; None where it was not applied.
    """

    def decorate(func: Callable[..., Any]) -> Any:
        @wraps(func)
        def wrapper(module: Any, *args: Any, **kwargs: Any) -> Any:
            modules = [module] if isinstance(module, nn.Module) else _get_root_modules(module)
            state, item = state_cls(), RegistryItem()
            for one in modules:
                _register(func, one, state, item)
            before = [_names(one) for one in modules]
            updated = func(module, *args, **kwargs)
            if updated is None:
                updated = module
            after = [updated] if isinstance(updated, nn.Module) else _get_root_modules(module)
            _check_all_names(func.__name__, before, [_names(one) for one in after])
            return updated

        def state_of(module: nn.Module) -> Any:
            return module.__dict__.setdefault(STATE_KEY, {}).get(func)

        setattr(wrapper, "state", state_of)
        return wrapper

    return decorate
