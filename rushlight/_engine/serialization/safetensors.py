"""The safetensors format for Rushlight's tensors: what `safetensors.torch` does for PyTorch's.

The package `safetensors` writes files and checks headers; its NumPy side lacks float8, so tensors
are taken here from the mapped file, at the places that the checked header tells. Under the launcher
`safetensors.torch` itself works; this module is for programs that import Rushlight by its name.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from rushlight._engine.core.dtype import BY_NAME, dtype
from rushlight._engine.serialization.atomic import replacing_path
from rushlight._engine.tensors.storages.untyped import UntypedStorage
from rushlight._engine.tensors.tensor import Tensor, wrap

Path = str | os.PathLike[str]

_DTYPES: dict[str, dtype] = {
    name: BY_NAME[ours]
    for name, ours in (
        pair.split("=")
        for pair in (
            "F64=float64 F32=float32 F16=float16 BF16=bfloat16 F8_E4M3=float8_e4m3fn F8_E5M2=float8_e5m2 "
            "F8_E4M3FNUZ=float8_e4m3fnuz F8_E5M2FNUZ=float8_e5m2fnuz C64=complex64 I64=int64 I32=int32 "
            "I16=int16 I8=int8 U64=uint64 U32=uint32 U16=uint16 U8=uint8 BOOL=bool"
        ).split()
    )
}


def _package() -> Any:
    try:
        import safetensors
    except ImportError:
        raise ModuleNotFoundError(
            "safetensors files need the package safetensors (0.8 or later), which is not "
            "installed; install it, or use torch.save and torch.load",
            name="safetensors",
        ) from None
    return safetensors


# --- tensors ------------------------------------------------------------------------------------


def save_file(tensors: dict[str, Tensor], filename: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a dict of contiguous tensors; the file is replaced as a whole.

    Raises ValueError for what is no dict of contiguous tensors, RuntimeError where two share
    memory.
    """
    package = _package()
    specs = _specs(package, tensors)
    with replacing_path(os.fspath(filename)) as temporary:
        package.serialize_file(specs, temporary, metadata=metadata)


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """A file's bytes; see `save_file`."""
    package = _package()
    return bytes(package.serialize(_specs(package, tensors), metadata=metadata))


def load_file(filename: Path, device: Any = "cpu") -> dict[str, Any]:
    """The tensors of a file. It is mapped: data is read when used, writes stay in memory.

    Raises safetensors.SafetensorError for a damaged file, FileNotFoundError.
    """
    with _package().safe_open(filename, framework="np"):
        pass  # opening it checks the header: sizes, order, no holes
    flat = UntypedStorage.from_file(filename)._bytes()
    start = 8 + int.from_bytes(flat[:8].tobytes(), "little")
    header = json.loads(flat[8:start].tobytes())
    loaded = {}
    for name, entry in header.items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            loaded[name] = _tensor(flat[start + first : start + last], entry, device)
    return loaded


def load(data: bytes) -> dict[str, Any]:
    """The tensors in a file's bytes."""
    return {
        name: _tensor(np.frombuffer(entry["data"], np.uint8), entry, "cpu")
        for name, entry in _package().deserialize(data)
    }


def _tensor(flat: Any, entry: dict[str, Any], device: Any) -> Any:
    of = _DTYPES.get(entry["dtype"])
    if of is None:
        raise RuntimeError(
            f"safetensors dtype {entry['dtype']} is not supported by Rushlight; "
            f"supported: {', '.join(_DTYPES)}"
        )
    made = wrap(flat.view(of.np).reshape(entry["shape"]))
    made._storage = UntypedStorage._over(flat)._shared  # not the whole file
    return made if str(device) == "cpu" else made.to(device)


def _specs(package: Any, tensors: dict[str, Tensor]) -> dict[str, Any]:
    _check(tensors)
    return {
        name: package.TensorSpec(
            dtype=t.dtype.name, shape=list(t.shape), data_ptr=t.data_ptr(), data_len=t.nbytes
        )
        for name, t in tensors.items()
    }


def _check(tensors: Any) -> None:
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, t in tensors.items():
        if not isinstance(t, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(t)}")
        if t.dtype not in _DTYPES.values():
            raise ValueError(f"Key `{name}` is invalid, safetensors has no dtype for {t.dtype}")
    shared = [names for names in _sharing(tensors) if len(names) > 1]
    if shared:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential "
            f"differences when loading them again: {shared}. Use save_model, or clone() them."
        )
    for name, t in tensors.items():
        if not t.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is "
                "not allowed. Call `.contiguous()` on it before saving."
            )


def _sharing(tensors: dict[str, Any]) -> list[list[str]]:
    """The names in groups: tensors of one group overlap in memory, in a chain."""
    spans = sorted(
        (t.data_ptr(), _end(t), name) for name, t in tensors.items() if not t.is_meta and t.numel()
    )
    groups: list[list[str]] = []
    reached = 0
    for start, end, name in spans:
        if groups and start < reached:
            groups[-1].append(name)
        else:
            groups.append([name])
        reached = max(reached, end)
    return groups


def _end(t: Any) -> int:
    last = sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))
    return int(t.data_ptr() + (last + 1) * t.element_size())


# --- models -------------------------------------------------------------------------------------


def save_model(
    model: Any, filename: Path, metadata: dict[str, str] | None = None, force_contiguous: bool = True
) -> None:
    """Write a module's state_dict; of parameters that share memory one is kept for all.

    Raises RuntimeError where of tensors that share memory none covers all of it.
    """
    state = dict(model.state_dict())
    metadata = dict(metadata or {})
    for kept, dropped in _duplicates(state, ()).items():
        for name in dropped:
            metadata.setdefault(name, kept)
            del state[name]
    if force_contiguous:
        state = {name: t.contiguous() for name, t in state.items()}
    save_file(state, filename, metadata or None)


def load_model(
    model: Any, filename: Path, strict: bool = True, device: Any = "cpu"
) -> tuple[set[str], list[str]]:
    """Load a file into a module; (names that were missing, names that were not expected).

    Raises RuntimeError for either if `strict`.
    """
    loaded = load_file(filename, device)
    duplicates = _duplicates(dict(model.state_dict()), tuple(loaded))
    absent, unexpected = model.load_state_dict(loaded, strict=False)
    missing, unexpected = set(absent), list(unexpected)
    for dropped in duplicates.values():
        for name in dropped:
            if name in missing:
                missing.remove(name)
            else:
                unexpected.append(name)
    if strict and (missing or unexpected):
        raise RuntimeError(
            f"Error(s) in loading state_dict for {type(model).__name__}:"
            + _listed("Missing", missing)
            + _listed("Unexpected", unexpected)
        )
    return missing, unexpected


def _listed(what: str, names: Any) -> str:
    quoted = ", ".join(f'"{name}"' for name in sorted(names))
    return f"\n    {what} key(s) in state_dict: {quoted}" if names else ""


def _duplicates(state: dict[str, Any], preferred: tuple[str, ...]) -> dict[str, list[str]]:
    """Of tensors that share memory: the name to keep -> the names that it stands for."""
    found = {}
    for names in _sharing(state):
        if len(names) < 2:
            continue
        whole = sorted(name for name in names if _covers_its_storage(state[name]))
        if not whole:
            raise RuntimeError(
                "Error while trying to find names to remove to save state dict, but found no "
                f"suitable name to keep for saving amongst: {set(names)}. None is covering "
                "the entire storage. Clone the tensors that share memory."
            )
        kept = next((name for name in whole if name in preferred), whole[0])
        found[kept] = sorted(name for name in names if name != kept)
    return found


def _covers_its_storage(t: Any) -> bool:
    return bool(t.nbytes == t.untyped_storage().nbytes() and t.storage_offset() == 0)
