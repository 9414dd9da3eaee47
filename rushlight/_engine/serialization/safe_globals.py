"""The globals that load(weights_only=True) accepts: a fixed list, and what the program adds.

`add_safe_globals` and the `safe_globals` context manager extend the list, for this process.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from rushlight._engine.core import dtype as dt
from rushlight._engine.lazy import package
from rushlight._engine.serialization.names import full_name, resolve
from rushlight._engine.tensors.storages.typed import NAMED

Entry = Callable[..., Any] | tuple[Callable[..., Any], str]

BLOCKED_MODULES = frozenset({"sys", "os", "posix", "nt"})

_REBUILD_NAMES = (
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_rebuild_tensor_v3",
    "_rebuild_parameter",
    "_rebuild_parameter_with_state",
    "_rebuild_qtensor",
    "_rebuild_meta_tensor_no_storage",
    "_rebuild_sparse_tensor",
    "_rebuild_nested_tensor",
    "_rebuild_device_tensor_from_numpy",
    "_rebuild_device_tensor_from_cpu_tensor",
)
# (module, name) pairs that `resolve` knows.
_TORCH = (
    *(("torch._utils", name) for name in _REBUILD_NAMES),
    ("torch._tensor", "_rebuild_from_type_v2"),
    ("torch.serialization", "_get_layout"),
    *(("torch.nested._internal.nested_tensor", name) for name in ("NestedTensor", "_rebuild_njt")),
    ("torch._dynamo.decorators", "_DimRange"),
    ("torch", "Tensor"),
    ("torch", "Size"),
    ("torch", "device"),
    ("torch.nn.parameter", "Parameter"),
    ("torch.storage", "UntypedStorage"),
    ("torch.storage", "TypedStorage"),
    *(("torch", d.name) for d in dt.ALL),
    *(("torch", f"per_{of}_{how}") for of in ("tensor", "channel") for how in ("affine", "symmetric")),
    ("torch", "per_channel_affine_float_qparams"),
    *(("torch", f"{d.legacy}Storage") for d in NAMED),
)
# Of these, classes whose objects PyTorch's files make, and give a state.
OBJECTS = frozenset({"torch._dynamo.decorators._DimRange"})
_DEFERRED = {f"{module}.{name}": (module, name) for module, name in _TORCH}


def _bytearray(*args: Any) -> bytearray:
    """bytearray of text or bytes: a length alone would let a tiny file claim all memory."""
    if args and not isinstance(args[0], (bytes, str)):
        raise TypeError(f"bytearray: expected bytes in the file, got {type(args[0]).__name__}")
    return bytearray(*args)


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """What protocol 2 pickles bytes with; codecs that are programs of their own are not called."""
    if encoding not in ("latin1", "utf-8", "ascii"):
        raise ValueError(f"_codecs.encode: expected the encoding latin1, got {encoding!r}")
    return text.encode(encoding)


def _empty_bytes() -> bytes:
    """How protocol 2 spells b""."""
    return b""


_PYTHON: dict[str, Any] = {
    "collections.OrderedDict": collections.OrderedDict,
    "collections.Counter": collections.Counter,
    "set": set,
    "complex": complex,
    "bytearray": _bytearray,
    "bytes": _empty_bytes,
    "_codecs.encode": _encode,
}
_added: list[Entry] = []


def allowed(module: str, name: str) -> Any:
    """The object of an accepted global; None where the list has no such name."""
    if module == "torch.cuda" and name.endswith("Storage"):
        module = "torch"  # where a storage goes is told beside its class
    full = full_name(module, name)
    found = _PYTHON.get(full)
    if found is not None:
        return found
    if full in _DEFERRED:
        return resolve(*_DEFERRED[full])
    return added_by_name().get(full)


def added_by_name() -> dict[str, Any]:
    """What the program added, by the name that files use for it."""
    pairs = (
        entry if isinstance(entry, tuple) else (entry, full_name(entry.__module__, entry.__qualname__))
        for entry in _added
    )
    return {full: found for found, full in pairs}


def add_safe_globals(safe_globals: list[Entry]) -> None:
    """Accept these functions and classes in load(weights_only=True) from now on.

    Each entry is a function or class, or (function or class, "the.name.in.the.file").
    """
    for entry in safe_globals:
        _check(entry)
        if entry not in _added:
            _added.append(entry)


def get_safe_globals() -> list[Entry]:
    """What the program has added."""
    return list(_added)


def clear_safe_globals() -> None:
    """Forget what the program has added."""
    _added.clear()


class safe_globals:
    """Context manager: accept these functions and classes inside the block."""

    __module__ = f"{package()}.serialization"

    def __init__(self, safe_globals: list[Entry]) -> None:
        self._entries = safe_globals

    def __enter__(self) -> None:
        before = list(_added)
        add_safe_globals(self._entries)
        self._new = [entry for entry in _added if entry not in before]

    def __exit__(self, *error: object) -> None:
        _added[:] = [entry for entry in _added if entry not in self._new]


def _check(entry: Any) -> None:
    if isinstance(entry, tuple):
        if len(entry) == 2 and callable(entry[0]) and isinstance(entry[1], str):
            return
        raise ValueError(f"add_safe_globals: expected pairs (function or class, name), got {entry!r}")
    if not callable(entry):
        raise TypeError(f"add_safe_globals: expected functions or classes, got {entry!r}")
