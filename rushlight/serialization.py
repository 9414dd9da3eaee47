"""torch.serialization: save, load, and what governs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rushlight
from rushlight._engine.core.callers import warn
from rushlight._engine.serialization.api import (
    _open_file_like as _open_file_like,
    _open_zipfile_reader as _open_zipfile_reader,
    _open_zipfile_writer as _open_zipfile_writer,
    _starts_as_zip as _is_zipfile,  # noqa: F401
    get_unsafe_globals_in_checkpoint,
    load,
    save,
)
from rushlight._engine.serialization.file_reader import (
    PyTorchFileReader as PyTorchFileReader,
    PyTorchFileWriter as PyTorchFileWriter,
)
from rushlight._engine.serialization.locations import (
    default_restore_location,
    location_tag,
    register_package,
    validate_cuda_device,
)
from rushlight._engine.serialization.options import (
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from rushlight._engine.serialization.rebuild import _get_layout as _get_layout
from rushlight._engine.serialization.safe_globals import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)


def _is_torchscript_zip(zip_file: PyTorchFileReader) -> bool:
    """Whether an open archive holds a scripted module."""
    return "constants.pkl" in zip_file.get_all_records()


class SourceChangeWarning(Warning):
    """The source of a saved module's class has changed since it was saved."""


@contextmanager
def mkdtemp() -> Iterator[str]:
    """A temporary folder that is removed at the end of the block."""
    import shutil  # not at the first load
    import tempfile

    path = tempfile.mkdtemp()
    try:
        yield path
    finally:
        shutil.rmtree(path)


__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "StorageType",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "mkdtemp",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "storage_to_tensor_type",
    "validate_cuda_device",
    "validate_hpu_device",
]


class StorageType:
    """A kind of storage by the name that files give it, "FloatStorage", with its dtype. KeyError for
    others.
    """

    def __init__(self, name: str) -> None:
        if not hasattr(rushlight, name):
            raise KeyError(f'pickle storage type "{name}" is not recognized')
        self._dtype: Any = getattr(rushlight, name).dtype

    @property
    def dtype(self) -> Any:
        """The dtype of its elements."""
        return self._dtype

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


def normalize_storage_type(storage_type: Any) -> Any:
    """torch's own class of a storage's name: torch.FloatStorage."""
    return getattr(rushlight, storage_type.__name__)


def storage_to_tensor_type(storage: Any) -> Any:
    """The legacy type of tensors over a storage's kind: torch.FloatTensor for a FloatStorage."""
    return getattr(rushlight, storage.pickle_storage_type().replace("Storage", "Tensor"))


def validate_hpu_device(location: str) -> int:
    """RuntimeError: there are no such devices."""
    raise RuntimeError(
        f"Attempting to deserialize object on a HPU device ({location}), which is not there. "
        "Please use torch.load with map_location='cpu' to map your storages to the CPU."
    )


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[int, ...], error_if_malformed: bool = True
) -> bool:
    """Whether module.__version__ is at least req_version_tuple.

    A version that cannot be compared: RuntimeError, or a warning and True without error_if_malformed.
    """
    try:
        parts = module.__version__.split(".")
        found = tuple(type(wanted)(part) for wanted, part in zip(req_version_tuple, parts, strict=False))
        return found >= req_version_tuple
    except Exception as error:
        words = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and cannot "
            f"be compared with tuple {req_version_tuple!s}"
        )
        if error_if_malformed:
            raise RuntimeError(words) from error
        warn(f"{words}, but continuing assuming that requirement is met")
        return True
