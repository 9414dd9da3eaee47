"""torch.types: names for annotations."""

from __future__ import annotations

import os
from typing import IO

from rushlight import Size, UntypedStorage as Storage, device as _device

_int, _float, _bool, _str, _bytes, _complex = int, float, bool, str, bytes, complex
_Number = int, float, bool
IntLikeType, FloatLikeType, BoolLikeType = int, float, bool
Number = int | float | bool
Device = _device | str | int | None
FileLike = str | os.PathLike[str] | IO[bytes]
_size = Size | list[int] | tuple[int, ...]

__all__ = ["Device", "FileLike", "Number", "Storage"]
