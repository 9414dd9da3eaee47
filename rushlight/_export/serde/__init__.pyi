# Written by `python tools/stubs.py`.
"""torch._export.serde: descriptions of exported programs for files."""

from rushlight._export.serde import dynamic_shapes as dynamic_shapes
from rushlight._export.serde import schema as schema
from rushlight._export.serde import serialize as serialize
def __dir__() -> list[str]: ...
