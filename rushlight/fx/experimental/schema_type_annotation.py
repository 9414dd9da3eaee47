"""Writes types that signatures say into the nodes of a graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.lazy import is_ours
from rushlight.fx import names
from rushlight.fx.interpreter import Transformer

__all__ = ["AnnotateTypesWithSchema"]


class AnnotateTypesWithSchema(Transformer):
    """Rewrites a module: nodes that call functions of torch.nn.functional or modules of torch.nn, and those
    of attributes, have the types of their values, where a signature or the attribute says them.
    """

    def __init__(
        self,
        module: Any,
        annotate_functionals: bool = True,
        annotate_modules: bool = True,
        annotate_get_attrs: bool = True,
    ) -> None:
        super().__init__(module)
        self.annotate_functionals = annotate_functionals
        self.annotate_modules = annotate_modules
        self.annotate_get_attrs = annotate_get_attrs

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call of the same function, with the type that its signature says."""
        of = None
        if self.annotate_functionals and names.qualified(target).startswith("torch.nn.functional."):
            of = _returned(target)
        return _typed(super().call_function(target, args, kwargs), of)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call of the same module, with the type that its forward's signature says."""
        module, of = self.fetch_attr(target), None
        known = getattr(torch.nn, type(module).__name__, None) is type(module)
        if self.annotate_modules and known and not hasattr(module, "return_indices"):
            of = _returned(module.forward)
        return _typed(super().call_module(target, args, kwargs), of)

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The same attribute, with its type."""
        found = super().get_attr(target, args, kwargs)
        if not self.annotate_get_attrs:
            return found
        value = self.fetch_attr(target)
        return _typed(found, torch.Tensor if isinstance(value, torch.Tensor) else type(value))


def _typed(proxy: Any, of: Any) -> Any:
    if not proxy.node.type:
        proxy.node.type = of
    return proxy


def _returned(function: Callable[..., Any]) -> Any:
    """The type that a function's signature says it gives.

    Of an op, whose signature says none, it is a tensor, but of pools that give places beside it if asked to.
    """
    try:
        signature = inspect.signature(function, eval_str=True)
    except (ValueError, TypeError, NameError):
        return None
    found = signature.return_annotation
    if found in (Any, inspect.Signature.empty) and is_ours(function):
        return None if "return_indices" in signature.parameters else torch.Tensor
    return None if found is inspect.Signature.empty else found
