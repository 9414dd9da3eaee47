# Written by `python tools/stubs.py`.
"""torch.utils.data.datapipes: iterables and sequences that are chained by methods."""

from rushlight.utils.data.datapipes import _decorator as _decorator
from rushlight.utils.data.datapipes import datapipe as datapipe
from rushlight.utils.data.datapipes import iter as iter
from rushlight.utils.data.datapipes import map as map
def __dir__() -> list[str]: ...
__all__ = []
