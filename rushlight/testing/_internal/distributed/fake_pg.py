"""A world of which this process is the only rank that there is: the backend "fake"."""

from __future__ import annotations

from typing import Any

from rushlight.distributed.groups import ProcessGroup
from rushlight.distributed.stores import HashStore


class FakeStore(HashStore):
    """A store that nobody else has."""


def _create_fake_pg(common_opts: Any, backend_opts: Any) -> ProcessGroup:
    """A group whose operations give results of the right sizes, and this rank's own numbers."""
    return ProcessGroup(common_opts.store, common_opts.group_rank, common_opts.group_size)


__all__ = ["FakeStore"]
