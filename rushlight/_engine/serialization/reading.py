"""Loading: from an open file to the object, storage by storage."""

from __future__ import annotations

import io
import pickle
import sys
from typing import Any

import numpy as np

from rushlight._engine.core.callers import warn
from rushlight._engine.core.dtype import dtype
from rushlight._engine.core.services import service
from rushlight._engine.serialization.locations import Restorer, is_meta, restorer
from rushlight._engine.serialization.options import LoadEndianness, get_default_load_endianness, skipping_data
from rushlight._engine.serialization.rebuild import make_meta_storage, make_storage, storage_dtype, swap_bytes
from rushlight._engine.serialization.trust import TRUSTED, load_weights, trusting_unpickler
from rushlight._engine.serialization.zip_format import Reader
from rushlight._engine.tensors.storages.typed import TypedStorage

Array = np.ndarray[Any, Any]


class LoadOptions:
    """How to load: places, trust, and what to hand to the unpickler."""

    def __init__(
        self,
        map_location: Any,
        pickle_module: Any,
        weights_only: bool,
        mapped: bool,
        arguments: dict[str, Any],
    ) -> None:
        self.map_location = map_location
        self.restore: Restorer = restorer(map_location)
        self.to_meta = is_meta(map_location)
        self.pickle_module = pickle if pickle_module is None else pickle_module
        self.weights_only, self.mapped = weights_only, mapped
        self.arguments = {"encoding": "utf-8", **arguments}

    def unpickle(self, file: Any, persistent_load: Any) -> Any:
        """The object of the pickle at the file's position, which moves behind it."""
        if self.weights_only:
            start = file.tell()
            found, length = load_weights(file.read(), persistent_load, self.arguments["encoding"])
            file.seek(start + length)
            return found
        unpickler = trusting_unpickler(self.pickle_module, persistent_load)
        return unpickler(file, **self.arguments).load()

    def place(self, flat: Array, location: str) -> Any:
        """A storage around bytes, at the place the plan gives it."""
        return self.restore(make_storage(flat), location)


def location_of(value: Any) -> str:
    """A location in a file, which Python 2 wrote as bytes."""
    return value.decode("ascii") if isinstance(value, bytes) else value


def _load_scripted(file: Any, plan: LoadOptions) -> Any:
    """The scripted module of a file that jit.save() wrote; RuntimeError where weights alone are asked for."""
    warn(
        "'torch.load' received a zip file that looks like a TorchScript archive dispatching to "
        "'torch.jit.load' (call 'torch.jit.load' directly to silence this warning)"
    )
    if plan.weights_only:
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. In PyTorch "
            "2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` "
            f"to `True`. {TRUSTED}"
        )
    return service("scripted module of a file")(file, plan.map_location)


def load_archive(file: Any, name: str, plan: LoadOptions) -> Any:
    """The object of a file in the zip format."""
    begin = file.tell()
    reader = Reader(file, name)
    if reader.has("constants.pkl"):
        file.seek(begin)
        return _load_scripted(file, plan)
    if not reader.has("data.pkl"):
        raise RuntimeError(
            f"PytorchStreamReader failed locating file data.pkl: file not found in archive {name}"
        )
    storages = _Storages(reader, plan)
    return plan.unpickle(io.BytesIO(reader.read("data.pkl")), storages.load)


class _Storages:
    """The storages of an archive, each read when first asked for; `folder` holds their records."""

    def __init__(self, reader: Reader, plan: LoadOptions, folder: str = "data") -> None:
        self._reader, self._plan, self._folder = reader, plan, folder
        self._loaded: dict[str, Any] = {}
        self._swapped = _byte_order(reader) != sys.byteorder

    def load(self, key: tuple[Any, ...]) -> Any:
        """The storage of a persistent id: ("storage", class, record, location, elements)."""
        if len(key) != 5:
            raise pickle.UnpicklingError(f"expected a storage's 5 fields in the file, got {len(key)}")
        _, cls, record, location, count = key
        of = storage_dtype(cls)
        if record not in self._loaded:
            self._loaded[record] = self._make(str(record), of, location_of(location), count)
        return TypedStorage(wrap_storage=self._loaded[record], dtype=of)

    def _make(self, record: str, of: dtype, location: str, count: int) -> Any:
        length, name = count * of.itemsize, f"{self._folder}/{record}"
        if self._plan.to_meta or location == "meta":
            return make_meta_storage(length)
        if not 0 <= length <= self._reader.size(name):
            raise RuntimeError(
                f"PytorchStreamReader failed reading file {name}: expected {length} "
                f"bytes, got {self._reader.size(name)}; the file is damaged"
            )
        if skipping_data():
            flat = np.zeros(length, np.uint8)
        elif self._plan.mapped:
            flat = self._reader.map_array(name)[:length]
        else:
            flat = self._reader.read_array(name)[:length]
        if self._swapped:
            swap_bytes(flat, of)
        found = self._plan.place(flat, location)
        return getattr(found, "_untyped_storage", found)


def _byte_order(reader: Reader) -> str:
    if reader.has("byteorder"):
        found = reader.read("byteorder").decode("ascii", "replace")
        if found not in ("little", "big"):
            raise ValueError(f"Unknown endianness type in the file: expected little or big, got {found}")
        return found
    default = get_default_load_endianness()
    if default is None or default is LoadEndianness.NATIVE:
        return sys.byteorder
    return default.name.lower()
