"""Which attributes of an op can be compared, and how."""

from __future__ import annotations

from rushlight._engine.core.device import device
from rushlight._engine.core.dtype import dtype
from rushlight._engine.core.size import Size
from rushlight._engine.tensors.geometry import MemoryFormat, StorageLayout
from rushlight._engine.tensors.kind import Kind

# What is equal only if it is the same object.
IDENTICAL = frozenset((bool, type(None), dtype, Kind, MemoryFormat, StorageLayout, type(...)))
# What is equal only if it means the same; floats and complex numbers have zeros of two signs.
PLAINLY = IDENTICAL | frozenset((int, str, device))
SEQUENCES = frozenset((tuple, list, Size))
