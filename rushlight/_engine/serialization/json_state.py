"""State as JSON and tensors, without pickle: what `rushlight.Checkpoint` keeps of state_dicts.

Numbers, texts, None, lists and dicts with text keys are JSON's own; what JSON lacks is a dict {"$": kind,
"v": value}. Tensors go to a dict of their own under the path that leads to them, "optimizer.state.0.exp_avg";
one that is met twice (tied weights) is kept once.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight._engine.core.device import device
from rushlight._engine.core.dtype import BY_NAME, dtype
from rushlight._engine.tensors.storages.storage import address
from rushlight._engine.tensors.tensor import Tensor, wrap

_SIMPLE = (type(None), bool, int, float, str)
_LISTS: dict[str, Any] = {"tuple": tuple, "set": set, "frozenset": frozenset}
_DICTS: dict[str, Any] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}
_TEXTS: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "dtype": (dtype, lambda v: v.name, lambda v: BY_NAME[v]),
    "device": (device, str, device),
    "complex": (complex, lambda v: [v.real, v.imag], lambda v: complex(*v)),
    "bytes": (bytes, lambda v: b64encode(v).decode(), b64decode),
}


class Tensors(dict[str, Tensor]):
    """Tensors by name, each place in memory once."""

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[Any, str] = {}

    def add(self, t: Tensor, name: str) -> str:
        """Keep a tensor; the name that it has here, which is another's if that is the same memory."""
        t = t.resolve_conj().resolve_neg()
        a = t._array
        place = (address(a), a.strides, a.shape, t._kind) if a.size else object()
        if place not in self._names:
            while name in self:
                name += "'"
            self._names[place], self[name] = name, t
        return self._names[place]


def encode(value: Any, path: str, tensors: Tensors) -> Any:
    """`value` as JSON; its tensors are put into `tensors`. TypeError, with the path, for other objects."""
    cls = type(value)
    if cls in _SIMPLE:
        return value
    if isinstance(value, (Tensor, np.ndarray)):
        kind, t = ("tensor", value) if isinstance(value, Tensor) else ("array", wrap(value))
        return {"$": kind, "v": tensors.add(t, path)}
    if isinstance(value, np.generic):
        return encode(value.item(), path, tensors)
    if isinstance(value, dict):
        pairs = [
            [encode(k, path, tensors), encode(v, f"{path}.{k}".lstrip("."), tensors)]
            for k, v in value.items()
        ]
        if cls is dict and all(type(k) is str for k in value) and "$" not in value:
            return dict(pairs)
        found = {"$": cls.__name__ if cls.__name__ in _DICTS else "dict", "v": pairs}
        metadata = getattr(value, "_metadata", None)  # versions of modules
        return found if metadata is None else {**found, "metadata": encode(metadata, path, tensors)}
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [encode(v, f"{path}.{i}", tensors) for i, v in enumerate(value)]
        kind = next((k for k, base in _LISTS.items() if isinstance(value, base)), "")
        return {"$": kind, "v": items} if kind else items
    for kind, (base, write, _) in _TEXTS.items():
        if isinstance(value, base):
            return {"$": kind, "v": write(value)}
    raise TypeError(
        f"a checkpoint holds tensors, arrays, numbers, texts, lists, dicts and the like; got "
        f"{cls.__name__} at {path!r}: leave it out of the state, or keep what it is made from"
    )


def decode(value: Any, tensors: dict[str, Tensor]) -> Any:
    """What `encode` was given."""
    if not isinstance(value, dict):
        return [decode(v, tensors) for v in value] if isinstance(value, list) else value
    kind, inner = value.get("$"), value.get("v", ())
    if kind is None:
        return {k: decode(v, tensors) for k, v in value.items()}
    if kind in ("tensor", "array"):
        return tensors[inner] if kind == "tensor" else tensors[inner].numpy()
    if kind in _LISTS:
        return _LISTS[kind](decode(v, tensors) for v in inner)
    if kind in _DICTS:
        made = _DICTS[kind]({decode(k, tensors): decode(v, tensors) for k, v in inner})
        if "metadata" in value:
            made._metadata = decode(value["metadata"], tensors)
        return made
    return _TEXTS[kind][2](inner)
