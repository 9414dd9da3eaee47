"""What turns a module into one of shards."""

from __future__ import annotations

import abc
from typing import Any


class Sharder(abc.ABC):
    """Makes a sharded module of a whole one, in its own way."""

    @abc.abstractmethod
    def shard(self, module: Any) -> Any:
        """The sharded module."""
