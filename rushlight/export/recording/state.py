"""A module's state: what of it are inputs of a program, and how it is as before when a call is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight.export.listener import identifier
from rushlight.export.signature import InputKind, InputSpec, TensorArgument


def held_by(mod: Any) -> list[tuple[InputSpec, Any]]:
    """A module's parameters and buffers, as inputs."""
    found = [
        (InputSpec(InputKind.PARAMETER, TensorArgument(f"p_{identifier(name)}"), name), t)
        for name, t in mod.named_parameters()
    ]
    for name, t in mod.named_buffers():
        owner, _, last = name.rpartition(".")
        kept = last not in mod.get_submodule(owner)._non_persistent_buffers_set
        found.append((InputSpec(InputKind.BUFFER, TensorArgument(f"b_{identifier(name)}"), name, kept), t))
    return found


def assigned_buffers(held: list[tuple[InputSpec, Any]], mod: Any) -> Iterator[tuple[Any, Any]]:
    """(buffer, tensor) for each buffer in whose place a program has put another tensor."""
    own = dict(mod.named_buffers(remove_duplicate=False))
    for spec, buffer in held:
        now = own.get(spec.target or "")
        if spec.kind is InputKind.BUFFER and now is not None and now is not buffer:
            yield buffer, now


def _assigned(mod: Any, held: list[tuple[Any, dict[str, Any]]]) -> None:
    """A warning where tensors were assigned that are no buffers: attributes, or items of lists."""
    names = []
    for (path, m), (_, own) in zip(mod.named_modules(), held, strict=False):
        before = f"self.{path}." if path else "self."
        for name, value in m.__dict__.items():
            if isinstance(value, torch.Tensor) and value is not own.get(name):
                names.append(f"{before}{name}")
            elif isinstance(value, (list, tuple)):
                names += [
                    f"{before}{name}[{i}]"
                    for i, (v, was) in enumerate(zip_longest(value, own.get(name, ())))
                    if isinstance(v, torch.Tensor) and v is not was
                ]
    if names:
        told = f"attribute {names[0]} was" if len(names) == 1 else f"attributes {', '.join(names)} were"
        warn(
            f"The tensor {told} assigned during export. Such attributes must be registered as buffers using "
            "the `register_buffer` API (https://pytorch.org/docs/stable/generated/torch.nn.Module.html"
            "#torch.nn.Module.register_buffer).",
            UserWarning,
        )


def _containers(value: Any, seen: set[int]) -> Iterator[tuple[Any, Any]]:
    """(container, its items) of lists with tensors, and of dicts, which may be caches of results; each once,
    for dicts may hold themselves.
    """
    if type(value) not in (list, dict) or id(value) in seen:
        return
    seen.add(id(value))
    if type(value) is list and any(isinstance(t, torch.Tensor) for t in value):
        yield value, list(value)
    elif type(value) is dict:
        items = dict(value)
        yield value, items
        for item in items.values():
            yield from _containers(item, seen)


def refill(container: Any, items: Any) -> None:
    """Let a list, dict or set have these items and no others."""
    container.clear()
    container.extend(items) if type(container) is list else container.update(items)


@contextmanager
def as_before(mod: Any, warns: bool) -> Iterator[None]:
    """Parameters, buffers, submodules, modules' attributes and random numbers are afterwards what they were.
    warns: where a tensor was made an attribute that is no buffer.
    """
    buffers = [(b, b.detach().clone()) for b in mod.buffers()]
    plain = [p for p in mod.parameters() if type(p) in (torch.Tensor, torch.nn.Parameter)]
    parameters = [(p, p.detach(), p.detach().clone(), p._version) for p in plain]
    held = [
        (m, dict(m.__dict__), [(table, dict(table)) for table in (m._parameters, m._buffers, m._modules)])
        for m in mod.modules()
    ]
    seen: set[int] = set()
    lists = [entry for m, own, _ in held for v in own.values() for entry in _containers(v, seen)]
    random = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(random)
        if warns:
            was = {id(v): items for v, items in lists if type(v) is list}
            _assigned(mod, [(m, {k: was.get(id(v), v) for k, v in own.items()}) for m, own, _ in held])
        for v, items in lists:
            refill(v, items)
        for m, own, tables in held:
            m.__dict__.clear()
            m.__dict__.update(own)
            for table, entries in tables:
                refill(table, entries)
        with torch.no_grad():
            for b, values in buffers:
                b.copy_(values)
            for p, memory, values, version in parameters:
                if p._memory is not memory._memory:
                    p.data = memory
                if p._version != version:
                    p.copy_(values)
