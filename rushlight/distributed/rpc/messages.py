"""What a request says: a pickled object, its tensors, and the gradients' context in which it was sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import rushlight as torch
from rushlight.distributed.rpc import internal, state
from rushlight.distributed.rpc.gradients import contexts, received, sent

_MUCH = 8192  # bytes that a small view may take along


@dataclass
class Message:
    """A pickled object on its way."""

    data: bytes
    tensors: list[tuple[Any, bool, Any]]  # values on the CPU, whether they require grad, their device there
    context: int | None  # the sender's context of gradients
    link: tuple[int, int] | None  # by which gradients come back: the sender, its number of the message


def packed(obj: Any, to: int, pickler: Any = None) -> Message:
    """The message of an object."""
    data, tensors = (pickler or internal._internal_rpc_pickler).serialize(obj)
    return packed_parts(data, tensors, to)


def packed_parts(data: bytes, tensors: list[Any], to: int) -> Message:
    """The message of what a pickler has made."""
    devices = _devices(tensors, to)
    context = contexts.current()
    link = sent(context, tensors, to) if context is not None else None
    parts = [(_plain(t), t.requires_grad, there) for t, there in zip(tensors, devices, strict=True)]
    return Message(data, parts, None if context is None else context._context_id(), link)


def _plain(tensor: Any) -> Any:
    """Its values, without what it is a view of where that is much more."""
    found = tensor.detach().cpu()
    if found.layout == torch.strided:
        held = found.untyped_storage().nbytes()
        if held >= max(_MUCH, 2 * found.numel() * found.itemsize):
            found = found.clone()
    return found


def _devices(tensors: list[Any], to: int) -> list[Any]:
    """Where each tensor is to lie there. RuntimeError for a device that no map tells."""
    if all(t.device.type == "cpu" for t in tensors):
        return [None] * len(tensors)
    agent = state.agent()
    name = agent.get_worker_info(to).name
    pairs = agent.options.device_maps.get(name, {}) if to != agent.get_worker_info().id else None
    found: list[Any] = []
    for t in tensors:
        there = t.device if t.device.type == "cpu" or pairs is None else pairs.get(t.device)
        if there is None:
            raise RuntimeError(
                "TensorPipe RPC backend only supports CPU tensors by default, please move your tensors to "
                "CPU before sending them over RPC, or call `set_device_map` on `TensorPipeRpcBackendOptions` "
                "to explicitly configure device mapping. Request device mapping is not available for "
                f"{t.device} to {name}."
            )
        found.append(None if there.type == "cpu" else str(there))
    return found


def unpacked(message: Message) -> Any:
    """The object of a message; gradients of its tensors go back to the sender."""
    tensors = []
    for values, required, device in message.tensors:
        tensor = values if device is None else values.to(device)
        tensors.append(tensor.requires_grad_() if required and message.link is None else tensor)
    if message.context is not None and message.link is not None:
        needed = [number for number, (_, required, _) in enumerate(message.tensors) if required]
        tensors = received(message.context, message.link, tensors, needed)
    return internal.deserialize(message.data, tensors)
