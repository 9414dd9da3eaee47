"""ProcessGroupGloo: a process group that a program makes itself, of a store, a rank and a size."""

from __future__ import annotations

import uuid
import zlib
from datetime import timedelta
from typing import Any

from rushlight.distributed.communication.group_methods import GlooDevice, GlooOptions
from rushlight.distributed.communication.wire import SoloWire
from rushlight.distributed.groups import ProcessGroup, join, world
from rushlight.distributed.hub.watch import Watch
from rushlight.distributed.rendezvous import default_pg_timeout
from rushlight.distributed.stores import PrefixStore, Store


class ProcessGroupGloo(ProcessGroup, own=True):
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
        number = store.add(f"gloo/{rank}", 1)  # of this store's groups, which all its ranks make in one order
        store = PrefixStore(f"gloo/{number}", store)
        if rank == 0:
            store.set("name", f"gloo {uuid.uuid4().hex[:12]}")
        name = store.get("name").decode()
        wire, watch = self._joined(store, rank, size, zlib.crc32(name.encode()))
        self._become(name, "undefined", list(range(size)), wire, watch, self.options._timeout, "gloo", store)
        world.groups[name] = self

    def _joined(self, store: Store, rank: int, size: int, number: int) -> tuple[SoloWire, Watch]:
        everybody = world.default
        if everybody is not None and (everybody.rank(), everybody.size()) == (rank, size):
            whole, watch = everybody.wire, world.watch
        else:
            whole, watch = join(store, rank, size, self.options._timeout, "gloo")
        return whole.part(list(range(size)), 20_000 + number % 10_000), watch

    def name(self) -> str:
        """The backend's name."""
        return "gloo"
