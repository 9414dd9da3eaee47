"""torch.save and torch.load."""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from rushlight._engine.serialization.atomic import replacing
from rushlight._engine.serialization.file_reader import PyTorchFileReader, PyTorchFileWriter
from rushlight._engine.serialization.legacy import load_legacy, save_legacy
from rushlight._engine.serialization.locations import location_tag
from rushlight._engine.serialization.options import skipping_data
from rushlight._engine.serialization.pickler import dump
from rushlight._engine.serialization.reading import LoadOptions, load_archive
from rushlight._engine.serialization.rebuild import checking_sparse, is_storage_types, storage_bytes
from rushlight._engine.serialization.safe_globals import allowed
from rushlight._engine.serialization.trust import globals_of
from rushlight._engine.serialization.zip_format import ALIGNMENT, Reader, Writer

_TRUE = ("1", "y", "yes", "true")
_SEEKABLE = (
    "You can only torch.load from a file that is seekable. Please pre-load the data into a buffer "
    "like io.BytesIO and try to load from it instead."
)


# --- saving -------------------------------------------------------------------------------------


def save(
    obj: object,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object with its tensors to `f`, a path or a file open for writing.

    PyTorch reads the file, and the other way round. Views of one storage are saved as views, with
    the whole storage. A path is replaced when all is written and on the disk: if saving fails, what
    was there stays.
    Raises RuntimeError where the path cannot be written, and what pickle raises.
    """
    held = _HeldStorages(by_address=not _use_new_zipfile_serialization)
    if not _use_new_zipfile_serialization:
        with _opened_for_writing(f) as file:
            save_legacy(obj, file, held, pickle_module, pickle_protocol)
            _flush(file)
        return
    data = dump(obj, held.fresh, pickle_module, pickle_protocol)
    with _opened_for_writing(f) as file:
        writer = Writer(file, _archive_name(f))
        writer.write("data.pkl", data)
        writer.write(".format_version", b"1")
        writer.write(".storage_alignment", str(ALIGNMENT).encode())
        if not _disable_byteorder_record:
            writer.write("byteorder", sys.byteorder.encode())
        for key, (flat, _) in held.storages.items():
            writer.write(f"data/{key}", np.zeros_like(flat) if skipping_data() else flat)
        writer.finish()
        _flush(file)


def _flush(file: Any) -> None:
    """Let others who open the file see what was written."""
    flush = getattr(file, "flush", None)
    if flush is not None:
        flush()


class _HeldStorages:
    """The storages of the object being saved: key in the file -> (bytes, size of an element)."""

    def __init__(self, by_address: bool) -> None:
        self._by_address = by_address
        self.storages: dict[str, tuple[Any, int]] = {}
        self._keys: dict[Any, tuple[str, Any]] = {}
        self._alive: list[Any] = []

    def fresh(self) -> Callable[[Any], Any]:
        """Forget what was held; a function from objects to persistent ids, which holds anew."""
        self.storages, self._keys, self._alive = {}, {}, []
        return self._identify

    def _identify(self, value: Any) -> Any:
        if not isinstance(value, is_storage_types):
            return None
        cls, identity, flat, step = storage_bytes(value)
        key, known = self._keys.get(identity, (None, cls))
        if known is not cls and flat.size:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types: got "
                f"{known.__name__} and {cls.__name__}; clone() one of them"
            )
        if key is None:
            key = str(id(value)) if self._by_address else str(len(self._keys))
            self._keys[identity] = key, cls
            self._alive.append(value)  # its memory may not be used again while we collect
            self.storages[key] = flat, step
        fields = ("storage", cls, key, location_tag(value), flat.size // step)
        return (*fields, None) if self._by_address else fields


def _opened_for_writing(f: Any) -> Any:
    if not _is_path(f):
        if not hasattr(f, "write"):
            raise AttributeError(
                "expected 'f' to be string, path, or a file-like object with a "
                f"'write' attribute, got {type(f).__name__}"
            )
        return nullcontext(f)
    return _replacing(os.fspath(f))


@contextmanager
def _replacing(path: str) -> Iterator[Any]:
    """`replacing`, with PyTorch's exception type for what the system refuses."""
    parent, file = os.path.dirname(path), None
    if parent and not os.path.isdir(parent):
        raise RuntimeError(f"Parent directory {parent} does not exist.")
    if os.path.isdir(path):
        raise RuntimeError(f"File {path} cannot be opened: open file failed with strerror: Is a directory")
    try:
        with replacing(path) as file:
            yield file
    except OSError as error:
        raise RuntimeError(
            f"File {path} cannot be opened: open file failed with strerror: {error.strerror}"
            if file is None
            else f"PytorchStreamWriter failed writing file {path}: file write failed "
            f"({error.strerror}). What was there before is unchanged."
        ) from error


def _archive_name(f: Any) -> str:
    """The folder inside the archive: the file's name without its last ending."""
    if not _is_path(f):
        return "archive"
    name = os.path.basename(os.fspath(f))
    stem = name.rpartition(".")[0] or name
    if name.startswith(".") and stem == name:
        raise RuntimeError(f"invalid file name: {name}; it needs a name before its ending")
    return stem if stem.isascii() else "archive"


# --- loading ------------------------------------------------------------------------------------


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read an object that `save` (PyTorch's or this one) wrote to `f`, a path or a seekable file.

    map_location: None, a device, a string, a dict of locations, or a function (storage, location).
    weights_only (default True): accept tensors and plain data only, and execute nothing; False runs
    whatever the file asks for. mmap=True (with a path): map the file, read data when it is used.
    Raises pickle.UnpicklingError for what is not allowed, RuntimeError or EOFError for a damaged
    file.
    """
    plan = LoadOptions(
        map_location, pickle_module, _decide_trust(weights_only, pickle_module), bool(mmap), pickle_load_args
    )
    if mmap and not _is_path(f):
        raise ValueError("f must be a file path in order to use the mmap argument")
    with _opened_for_reading(f) as file, checking_sparse():
        name = os.fspath(f) if _is_path(f) else getattr(f, "name", "the file")
        if _starts_as_zip(file):
            return load_archive(file, str(name), plan)
        if mmap:
            raise RuntimeError(
                f"mmap can only be used with files saved with `torch.save({name}, "
                "_use_new_zipfile_serialization=True), please torch.save your checkpoint with "
                "this option in order to use mmap."
            )
        return load_legacy(file, plan)


def _decide_trust(weights_only: bool | None, pickle_module: Any) -> bool:
    if os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0") in _TRUE:
        weights_only = True
    elif weights_only is None:
        forced = os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0") in _TRUE
        weights_only = pickle_module is None and not forced
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    return bool(weights_only)


def _opened_for_reading(f: Any) -> Any:
    if _is_path(f):
        return open(f, "rb")
    for method in ("seek", "tell", "read"):
        if not hasattr(f, method):
            raise AttributeError(f"'{type(f).__name__}' object has no attribute '{method}'. {_SEEKABLE}")
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, OSError) as error:
        raise type(error)(f"{error}. {_SEEKABLE}") from error
    return nullcontext(f)


def _is_path(f: Any) -> bool:
    return isinstance(f, (str, os.PathLike))


def _open_file_like(name_or_buffer: Any, mode: str) -> Any:
    """A context of the file of a path, or of a file; "w" or "r" says what it is opened for."""
    if _is_path(name_or_buffer):
        return open(name_or_buffer, mode)
    if "w" in mode:
        return _opened_for_writing(name_or_buffer)
    if "r" in mode:
        return _opened_for_reading(name_or_buffer)
    raise RuntimeError(f"Expected 'r' or 'w' in mode but got {mode}")


@contextmanager
def _open_zipfile_writer(name_or_buffer: Any) -> Iterator[PyTorchFileWriter]:
    """A PyTorchFileWriter whose archive is finished at the end of the block."""
    with _opened_for_writing(name_or_buffer) as file:
        writer = PyTorchFileWriter(file, _archive_name(name_or_buffer))
        yield writer
        writer.write_end_of_file()
        _flush(file)


@contextmanager
def _open_zipfile_reader(name_or_buffer: Any) -> Iterator[PyTorchFileReader]:
    """A PyTorchFileReader of a path or a file."""
    with _opened_for_reading(name_or_buffer) as file:
        yield PyTorchFileReader(file)


def _starts_as_zip(file: Any) -> bool:
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    return bool(head == b"PK\x03\x04")


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The globals in a file that load(weights_only=True) would refuse, without loading it."""
    with _opened_for_reading(f) as file:
        if not _starts_as_zip(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save, in the zip format")
        data = Reader(file, str(f)).read("data.pkl")
    names = sorted(globals_of(data))
    return [full for full, module, name in names if allowed(module, name) is None]
