"""ProcessGroupGloo: a process group that a program makes itself, of a store, a rank and a size."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

from rushlight.distributed.communication.wire import SoloWire
from rushlight.distributed.groups import ProcessGroup, join, world
from rushlight.distributed.rendezvous import default_pg_timeout
from rushlight.distributed.stores import PrefixStore, Store

_made = itertools.count()


class _Device:
    """A network interface, by name or address. MPI chooses its own."""

    def __init__(self, hostname: str, interface: str, lazy_init: bool | None) -> None:
        self.hostname, self.interface = hostname, interface


class _Options:
    """What a group is made with: how long operations may take, and what gloo asks for beside it."""

    backend = "gloo"

    def __init__(self) -> None:
        self._limit = default_pg_timeout
        self._devices: list[_Device] = []
        self._threads = 2
        self.global_ranks_in_group: list[int] = []
        self.group_name = ""

    @property
    def _timeout(self) -> timedelta:
        return self._limit

    @_timeout.setter
    def _timeout(self, value: timedelta | float) -> None:
        self._limit = value if isinstance(value, timedelta) else timedelta(seconds=value)


class ProcessGroupGloo(ProcessGroup):
    """A group of all ranks of a store, which all of them make. ProcessGroupGloo(store, rank, size, timeout or
    options).

    It needs no init_process_group(), and does not become the default group. Errors: as of
    init_process_group().
    """

    Device, Options = _Device, _Options
    _Options = _Options

    def __init__(
        self, store: Store, rank: int, size: int, options: Any = None, timeout: timedelta = default_pg_timeout
    ) -> None:
        if isinstance(options, timedelta):
            timeout, options = options, None
        self.options = options if options is not None else _Options()
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

    @staticmethod
    def create_device(hostname: str = "", interface: str = "", lazy_init: bool | None = None) -> _Device:
        """A device for options. RuntimeError without a name."""
        if not hostname and not interface:
            raise RuntimeError("Specify either `hostname` or `interface` argument.")
        return _Device(hostname, interface, lazy_init)

    @staticmethod
    def create_default_device(lazy_init: bool | None = None) -> _Device:
        """The device that is used where none is named."""
        return _Device("", "", lazy_init)

    def name(self) -> str:
        """The backend's name."""
        return "gloo"
