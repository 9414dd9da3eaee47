# Written by `python tools/stubs.py`.
"""torch._export.serde: descriptions of exported programs for files."""

from rushlight._export.serde import dynamic_shapes as dynamic_shapes
def __dir__() -> list[str]: ...
