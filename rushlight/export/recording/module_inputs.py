"""Modules among a program's inputs: their parameters and buffers are inputs of the graph."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import NODES, Node, flatten
from rushlight.nn.utils.stateless import _reparametrize_module
from rushlight.utils._pytree import MappingKey


class _Prototype(weakref.ref[Any]):
    """A module that others are made like; all modules of a class are alike."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Prototype) and type(self()) is type(other())

    def __hash__(self) -> int:
        return hash(type(self()))

    def __deepcopy__(self, memo: dict[int, Any]) -> _Prototype:
        return self


def _tensors(module: Any) -> dict[str, Any]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _taken_apart(module: Any) -> tuple[list[Any], Any]:
    held = _tensors(module)
    return list(held.values()), [list(held), _Prototype(module)]


def _with_keys(module: Any) -> tuple[list[Any], Any]:
    values, context = _taken_apart(module)
    return [(MappingKey(key), value) for key, value in zip(context[0], values, strict=True)], context


def _put_together(values: Any, context: Any) -> Any:
    """The module that was taken apart; a copy of it where it has other tensors now."""
    names, known = context
    module, values = known(), list(values)
    if module is None:
        raise RuntimeError("Module has been garbage collected")
    if all(new is old for new, old in zip(values, _tensors(module).values(), strict=True)):
        return module
    with _reparametrize_module(module, dict(zip(names, values, strict=True)), tie_weights=True, strict=True):
        return _copied(module)


def _copied(module: Any) -> Any:
    """A module of the same tensors, whose tables and submodules are its own."""
    made = copy.copy(module)
    made.__dict__ = {key: copy.copy(value) for key, value in vars(module).items()}
    for name, child in module.named_children():
        made._modules[name] = _copied(child)
    return made


@contextmanager
def modules_as_inputs(given: Any) -> Iterator[None]:
    """A context in which modules like those among the leaves of `given` are containers of their tensors."""
    kinds = {type(leaf) for leaf in flatten(given)[0] if isinstance(leaf, torch.nn.Module)}
    NODES.update(dict.fromkeys(kinds, Node(_taken_apart, _put_together, _with_keys)))
    try:
        yield
    finally:
        for kind in kinds:
            del NODES[kind]
