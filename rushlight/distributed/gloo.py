"""ProcessGroupGloo: a process group that a program makes itself, of a store, a rank and a size."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

from rushlight.distributed.communication.wire import SoloWire
from rushlight.distributed.group_methods import GlooDevice, GlooOptions
from rushlight.distributed.groups import ProcessGroup, join, world
from rushlight.distributed.rendezvous import default_pg_timeout
from rushlight.distributed.stores import PrefixStore, Store

_made = itertools.count()


class ProcessGroupGloo(ProcessGroup):
    """A group of all ranks of a store, which all of them make. ProcessGroupGloo(store, rank, size, timeout or
    options).

    It needs no init_process_group(), and does not become the default group. Errors: as of
    init_process_group().
    """

    Device, Options, _Options = GlooDevice, GlooOptions, GlooOptions

    def __init__(
        self, store: Store, rank: int, size: int, options: Any = None, timeout: timedelta = default_pg_timeout
    ) -> None:
        if isinstance(options, timedelta):
            timeout, options = options, None
        self.options = options if options is not None else GlooOptions()
        if options is None:
            self.options._timeout = timeout
        number = next(_made)
        store = PrefixStore(f"gloo/{number}", store)
        wire = self._joined(store, rank, size, number)
        name = f"gloo {number}"
        super().__init__(
            name, "undefined", list(range(size)), wire, world.watch, self.options._timeout, "gloo", store
        )
        world.groups[name] = self

    def _joined(self, store: Store, rank: int, size: int, number: int) -> SoloWire:
        everybody = world.default
        if everybody is not None and (everybody.rank(), everybody.size()) == (rank, size):
            whole = everybody.wire
        else:
            whole = join(store, rank, size, self.options._timeout, "gloo")
        return whole.part(list(range(size)), 20_000 + number % 10_000)

    def name(self) -> str:
        """The backend's name."""
        return "gloo"
