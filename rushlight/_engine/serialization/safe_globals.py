"""The globals that load(weights_only=True) accepts: a fixed list, and what the program adds.

`add_safe_globals` and the `safe_globals` context manager extend the list, for this process.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from rushlight._engine.core import dtype as dt
from rushlight._engine.lazy import package
from rushlight._engine.serialization.names import path, resolve
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
    # Dtypes that no tensor here has, by name only.
    *(("torch", f"{sign}int{bits}") for sign in ("", "u") for bits in range(1, 8)),
    *(("torch", f"bits{how}") for how in ("8", "16", "1x8", "2x4", "4x2")),
    *(("torch", name) for name in ("complex32", "float4_e2m1fn_x2", "float8_e8m0fnu")),
    *(("torch", name) for name in ("qint8", "quint8", "qint32", "quint4x2", "quint2x4")),
    *(("torch", f"per_{of}_{how}") for of in ("tensor", "channel") for how in ("affine", "symmetric")),
    ("torch", "per_channel_affine_float_qparams"),
    *(("torch", f"{d.legacy}Storage") for d in NAMED),
    *(("torch", f"{d.legacy}Tensor") for d in NAMED if not d.is_complex and "Q" not in d.legacy),
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
    "builtins.set": set,
    "builtins.complex": complex,
    "builtins.bytearray": _bytearray,
    "builtins.bytes": _empty_bytes,
    "_codecs.encode": _encode,
}
_added: list[Entry] = []


def allowed(module: str, name: str) -> Any:
    """The object of an accepted global; None where the list has no such name."""
    if module == "torch.cuda" and name.endswith("Storage"):
        module = "torch"  # where a storage goes is told beside its class
    full = path(module, name)
    found = _PYTHON.get(full)
    if found is not None:
        return found
    if full in _DEFERRED:
        return resolve(*_DEFERRED[full])
    return added_by_name().get(full)


def added_by_name() -> dict[str, Any]:
    """What the program added, by the name that files use for it: builtins.len.

    What is no entry is told here, when a file asks for what the list does not know: others are read.
    """
    return {full: found for found, full in map(_named, _added)}


def add_safe_globals(safe_globals: list[Entry]) -> None:
    """Accept these functions and classes in load(weights_only=True) from now on.

    Each entry is a function or class, or (function or class, "the.name.in.the.file").
    """
    _added.extend([entry for entry in dict.fromkeys(safe_globals) if entry not in _added])


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


def _named(entry: Any) -> tuple[Any, str]:
    """The object of an entry and its name in files."""
    if not isinstance(entry, tuple):
        return entry, path(entry.__module__, entry.__qualname__)
    if len(entry) != 2:
        raise ValueError(
            "Expected tuple of length 2 (global, str of callable full path), but got tuple of length: "
            f"{len(entry)}"
        )
    found, full = entry
    if type(full) is not str:
        raise TypeError(
            f"Expected second item in tuple to be str of callable full path, but got: {type(full)}"
        )
    return found, full
