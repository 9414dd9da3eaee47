"""The switches of saving and loading: checksums, byte order, memory maps, and skipped data.

Each is process-wide, as in PyTorch; `skip_data` and `set_default_mmap_options` also work as context
managers.
"""

from __future__ import annotations

import mmap
import threading
from enum import Enum

from rushlight._engine.lazy import package


class LoadEndianness(Enum):
    """The byte order to assume for files that do not record theirs."""

    __module__ = f"{package()}.serialization"

    NATIVE, LITTLE, BIG = 1, 2, 3


class _Options:
    endianness: LoadEndianness | None = None
    crc32: bool = True
    mmap_flags: int = getattr(mmap, "MAP_PRIVATE", 2)


_local = threading.local()


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed for files without a byteorder record; None: the machine's own."""
    return _Options.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order assumed for files without a byteorder record; TypeError otherwise."""
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError(
            "Invalid argument type in function set_default_load_endianness: expected a "
            f"torch.serialization.LoadEndianness or None, got {type(endianness)}"
        )
    _Options.endianness = endianness


def get_crc32_options() -> bool:
    """Whether records get checksums when saved, and are held against them when loaded."""
    return _Options.crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Switch checksums off (False) or on. Records saved without one are loaded unchecked."""
    _Options.crc32 = bool(compute_crc32)


def get_default_mmap_options() -> int | None:
    """The flags of load(mmap=True): mmap.MAP_PRIVATE (writes stay in memory) or MAP_SHARED."""
    return _Options.mmap_flags


class set_default_mmap_options:
    """Set the flags of load(mmap=True), for good or, as a context manager, for a block.

    mmap.MAP_PRIVATE: writes to loaded tensors stay in memory. mmap.MAP_SHARED: they go to the file.
    """

    __module__ = f"{package()}.serialization"

    def __init__(self, flags: int) -> None:
        if flags not in (getattr(mmap, "MAP_PRIVATE", None), getattr(mmap, "MAP_SHARED", None)):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected "
                f"mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        self._before = _Options.mmap_flags
        _Options.mmap_flags = flags

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        _Options.mmap_flags = self._before


class skip_data:
    """Context manager: save() leaves the bytes of storages unwritten, for another writer to fill.

    load() inside it gives tensors of the right shapes whose values are not read (zeros).
    """

    __module__ = f"{package()}.serialization"

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        if materialize_fake_tensors:
            raise NotImplementedError(
                "skip_data(materialize_fake_tensors=True) needs FakeTensorMode, which "
                "Rushlight lacks; use the meta device to load shapes only"
            )
        self._before = False

    def __enter__(self) -> None:
        self._before = skipping_data()
        _local.skip = True

    def __exit__(self, *error: object) -> None:
        _local.skip = self._before


def skipping_data() -> bool:
    """Whether this thread is inside skip_data()."""
    return getattr(_local, "skip", False)
