# Written by `python tools/stubs.py`.
"""torch._export.db: what export() can do, told by examples."""

from rushlight._export.db import case as case
from rushlight._export.db import examples as examples
def __dir__() -> list[str]: ...
