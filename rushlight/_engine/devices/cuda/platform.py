"""The platform: all CUDA devices of this process, and which of them is the current one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from rushlight._engine.core.determinism import Determinism
from rushlight._engine.core.device import device as TorchDevice
from rushlight._engine.core.settings import settings
from rushlight._engine.devices.cuda import words
from rushlight._engine.devices.cuda.accounts import alerts, options, tracing
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.configuration import parse
from rushlight._engine.devices.cuda.rows import Rows as Device
from rushlight._engine.names.absent_devices import AcceleratorError


class _Current(threading.local):
    index = 0


class Platform:
    """Devices are made when they are first used; `initialized` is whether one was."""

    array_type: type = DeviceArray

    def __init__(self) -> None:
        self.setting = parse(settings.cuda)
        shown = os.environ.get("CUDA_VISIBLE_DEVICES")
        if self.setting.real:  # the driver reads CUDA_VISIBLE_DEVICES itself
            # a simulated device needs no driver
            from rushlight._engine.devices.cuda.driver.real import cards

            self.cards = cards()
        else:
            self.cards = self.setting.cards if shown is None else _visible(self.setting.cards, shown)
        self.sync_mode = 0
        # Called before OutOfMemoryError is raised (memory_api.py).
        self.observers: list[Callable[[int, int, int, int], None]] = []
        # What generators of devices start from.
        self.seed = int.from_bytes(os.urandom(8), "little") >> 11
        self.blocking = os.environ.get("CUDA_LAUNCH_BLOCKING") == "1"
        self._devices: dict[int, Device] = {}
        self.forked = False  # whether this is a forked child of a process that has used a device
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._in_child)
        self._current = _Current()
        self._lock = threading.Lock()
        options.from_environment()
        Determinism.listeners = (alerts.PASSES.heard,)
        alerts.PASSES.heard()

    def _in_child(self) -> None:
        self.forked = bool(self._devices)

    @property
    def initialized(self) -> bool:
        """Whether a device has been used."""
        return bool(self._devices)

    @property
    def count(self) -> int:
        """How many devices there are."""
        return len(self.cards)

    @property
    def current(self) -> int:
        """The number of this thread's current device."""
        return self._current.index

    @current.setter
    def current(self, index: int) -> None:
        self.checked(index)
        self._current.index = index

    def checked(self, index: int) -> int:
        """A device's number; AcceleratorError where there is none of it."""
        if not 0 <= index < self.count:
            raise AcceleratorError(words.invalid_ordinal(index, self.count))
        return index

    def device(self, index: int | None = None) -> Device:
        """The device of a number, or the current one."""
        if self.forked:
            raise RuntimeError(words.FORKED)
        index = self._current.index if index is None else index
        found = self._devices.get(index)
        if found is None:
            with self._lock:
                found = self._devices.get(index)
                if found is None:
                    found = self._make(self.checked(index))
                    found.allocator.fraction = options.Current.options.per_process_memory_fraction
                    if tracing.CallbackRegistry.active:
                        tracing.listen(found.allocator)
                    self._devices[index] = found
        return found

    def _make(self, index: int) -> Device:
        """A device of the setting's kind."""
        if self.setting.real:
            # a simulated device needs no driver
            from rushlight._engine.devices.cuda.driver.real import Real

            return Real(self, index, self.cards[index])
        # a real device needs no simulator
        from rushlight._engine.devices.cuda.simulated import Simulated

        return Simulated(self, index, self.cards[index])

    def backend(self, where: TorchDevice) -> Device:
        """The device that a torch.device of type cuda names."""
        return self.device(where.index)

    def manual_seed(self, seed: int) -> None:
        """Restart the generators of all devices."""
        self.seed = seed
        for made in self.devices():
            made.philox.manual_seed(seed)

    def page_locked(self, array: Any) -> Any:
        """A copy of a host's array in page-locked memory, where the devices are real; else itself."""
        if not self.setting.real or not array.nbytes:
            return array
        return self._used().page_locked(array)

    def _used(self) -> Any:
        """A device where any will do: the current one if it is in use, else one that is, so that none is
        begun for it.
        """
        devices = self._devices
        return self.device(next(iter(devices)) if devices and self.current not in devices else None)

    def empty_host_cache(self) -> None:
        """Give page-locked memory back that is kept for later; a simulated device keeps none."""
        if self.setting.real and self._devices:
            self._used().empty_host_cache()

    def host_registered(self, name: str, *args: int) -> int:
        """What the driver answers to page-locking memory of the host's, or to ending that; 0 where devices
        are simulated.
        """
        if not self.setting.real:
            return 0
        return int(self._used().host_registered(name, *args))

    def driver_attributes(self, index: int) -> dict[str, Any]:
        """What the driver tells of a real device beside its card; nothing of a simulated one."""
        if not self.setting.real:
            return {}
        # a simulated device needs no driver
        from rushlight._engine.devices.cuda.driver.real import attributes

        return attributes(index)

    def peers(self, one: int, two: int) -> bool:
        """Whether one device reads another's memory."""
        if not self.setting.real or one == two:
            return one != two
        # a simulated device needs no driver
        from rushlight._engine.devices.cuda.driver.library import driver

        return driver().peers(one, two)

    def devices(self) -> list[Device]:
        """Those that are in use."""
        return list(self._devices.values())


def _visible(cards: tuple[Any, ...], shown: str) -> tuple[Any, ...]:
    """What CUDA_VISIBLE_DEVICES leaves of the devices, in its order; it ends at a number that is not
    there.
    """
    found = []
    for text in shown.split(","):
        if not text.strip().isdigit() or int(text) >= len(cards):
            break
        found.append(cards[int(text)])
    return tuple(found)
