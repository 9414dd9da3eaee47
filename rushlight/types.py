"""torch.types: names for annotations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, TypeAlias

from rushlight import Size, Tensor, UntypedStorage as Storage, device as _device

_int, _float, _bool, _str, _bytes, _complex = int, float, bool, str, bytes, complex
_Number = int, float, bool
IntLikeType, FloatLikeType, BoolLikeType = int, float, bool
Number: TypeAlias = int | float | bool
Device: TypeAlias = _device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
_size: TypeAlias = Size | list[int] | tuple[int, ...]

_TensorOrTensors = Tensor | Sequence[Tensor]

__all__ = ["Device", "FileLike", "Number", "Storage"]
