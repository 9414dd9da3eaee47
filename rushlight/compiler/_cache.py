"""Kernels of this process as bytes, for another machine's cache."""

from __future__ import annotations

import io
import logging
import zipfile
from collections import defaultdict
from dataclasses import dataclass, field

from rushlight._engine.kernels.runtime import cache

_log = logging.getLogger(__name__)
_KERNELS = "inductor"


@dataclass
class CacheInfo:
    """The names of what was saved or loaded, by kind; all are kernels, of the kind "inductor"."""

    artifacts: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def inductor_artifacts(self) -> list[str]:
        """The kernels' names in the cache."""
        return self.artifacts[_KERNELS]

    def add(self, name: str) -> None:
        """One kernel more."""
        self.artifacts[_KERNELS].append(name)

    def empty(self) -> bool:
        """Whether there is none."""
        return not self.inductor_artifacts


def save_cache_artifacts() -> tuple[bytes, CacheInfo] | None:
    """(the kernels that this process has compiled or found in its cache, their names); None if there is none.

    They fit processors with the same sets of instructions, and this version of Rushlight and LLVM: elsewhere
    they are never found.
    """
    info, packed = CacheInfo(), io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name in sorted(cache.USED):
            data = cache.entry(name)
            if data is not None:
                file.writestr(name, data)
                info.add(name)
    return None if info.empty() else (packed.getvalue(), info)


def load_cache_artifacts(serialized_artifacts: bytes) -> CacheInfo | None:
    """Put what save_cache_artifacts gave into this machine's cache; None, and a warning in the log, for other
    bytes. A kernel that is damaged is left out.
    """
    info = CacheInfo()
    try:
        with zipfile.ZipFile(io.BytesIO(serialized_artifacts)) as file:
            for name in file.namelist():
                if cache.put(name, file.read(name)):
                    info.add(name)
    except (zipfile.BadZipFile, TypeError) as error:
        _log.warning("Failed to un-pack the cache artifacts: %s", error)
        return None
    return info
