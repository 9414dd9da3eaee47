"""What a call of a row came to, kept for calls like it: which memory it took, which kernels it launched.

The first call of a kind goes through Python's ways of finding kernels, views and numbers; meanwhile a
`Recording` notes each allocation, launch and product. Calls whose operands have the same geometry then do the
same on their own memory. Calls that read numbers, draw, or bring something from the host are not kept.

Why by watching a call: docs/decisions/12-prepared-rows-of-a-device.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rushlight._engine.core.accelerator import PRODUCTS
from rushlight._engine.core.determinism import Determinism
from rushlight._engine.devices.cuda.array import BYTE, DeviceArray
from rushlight._engine.devices.cuda.device import NotServed
from rushlight._engine.devices.cuda.driver import quick

# What an address is known to be a multiple of, at most: as cuBLASLt asks.
_ALIGNED = 255
_PLAIN = frozenset((int, bool, str, type(None)))
# Bytes of a host's array that is part of a kind.
_SMALL = 64


class NotPrepared(Exception):
    """There is no kind that tells calls with such arguments apart."""


def kind_of(values: Sequence[Any], arrays: list[DeviceArray]) -> tuple[Any, ...]:
    """What tells calls with other arguments apart; collects the arrays. NotPrepared where nothing does."""
    parts = list[Any]()
    for v in values:
        cls = v.__class__
        if cls is DeviceArray:
            parts.append((v.form, v.address & _ALIGNED))
            arrays.append(v)
        elif cls in _PLAIN:
            parts.append((cls, v))  # 1 is True, and 0.0 is -0.0
        elif cls is float:
            parts.append((cls, repr(v)))
        elif cls is slice:
            parts.append((cls, v.start, v.stop, v.step))
        elif cls is list or cls is tuple:
            parts.append((cls, kind_of(v, arrays)))
        elif isinstance(v, (np.ndarray, np.generic)):
            if v.nbytes > _SMALL:
                raise NotPrepared
            parts.append((v.dtype, v.shape, v.tobytes()))
        else:
            parts.append(v)  # a dtype, a memory format
    return tuple(parts)


def _aliases(arrays: Sequence[DeviceArray]) -> tuple[Any, ...]:
    """How operands that share memory lie in it."""
    if len({id(a.handle) for a in arrays}) == len(arrays):
        return ()
    first: dict[int, tuple[int, int]] = {}
    found = []
    for i, a in enumerate(arrays):
        k, address = first.setdefault(id(a.handle), (i, a.address))
        found.append((k, a.address - address))
    return tuple(found)


Place = tuple[int, int]  # (number of the memory: operands, then workspaces; bytes from its beginning)


class Recording:
    """What a call does, while it is done."""

    def __init__(self, arrays: Sequence[DeviceArray]) -> None:
        self.kept = True
        self.places: dict[int, Place] = {}  # where a handle's memory begins, from an operand
        self.alive: list[Any] = []  # so that no number of an object is another's
        for k, a in enumerate(arrays):
            if a.handle is not None and id(a.handle) not in self.places:
                self.places[id(a.handle)] = k, a.handle.address - a.address
            self.alive.append(a.handle)
        self.count = len(arrays)
        self.workspaces: list[tuple[int, int]] = []  # (bytes, the step before which they are taken)
        self.steps: list[tuple[Any, ...]] = []

    def workspace(self, handle: Any) -> None:
        """Memory was taken."""
        self.places[id(handle)] = self.count + len(self.workspaces), 0
        self.workspaces.append((handle.size, len(self.steps)))
        self.alive.append(handle)

    def place(self, a: DeviceArray) -> Place:
        """Where an array lies; memory that is neither an operand nor a workspace stays where it is."""
        known = self.places.get(id(a.handle))
        if known is None or a.handle is None:
            self.alive.append(a.handle)
            return -1, a.address
        return known[0], known[1] + a.address - a.handle.address

    def launch(
        self, function: Any, grid: tuple[int, int], arrays: Sequence[DeviceArray], numbers: Any
    ) -> None:
        """A kernel was launched."""
        self.steps.append((function, grid, tuple(map(self.place, arrays)), tuple(numbers)))

    def product(self, run: Callable[..., None], arrays: Sequence[DeviceArray]) -> None:
        """A product was queued: `run(addresses)` queues one like it."""
        self.steps.append((run, None, tuple(map(self.place, arrays)), ()))

    def spoil(self) -> None:
        """The call depends on more than its operands' geometry."""
        self.kept = False


class Result:
    """An array that a call gives: an operand itself, or in a memory."""

    def __init__(self, recording: Recording, a: DeviceArray, arrays: Sequence[DeviceArray]) -> None:
        self.same = next((k for k, given in enumerate(arrays) if given is a), -1)
        self.place = recording.place(a)
        self.shape, self.strides, self.dtype, self.view = a.shape, a.strides, a.dtype, a.base is not None
        self.form = a.form
        if self.same < 0 and self.place[0] < 0 and a.handle is not None:
            recording.spoil()  # memory that the call does not own


class Prepared:
    """A kind of call, ready."""

    def __init__(self, device: Any, recording: Recording, found: Any, arrays: Sequence[DeviceArray]) -> None:
        self.operands = recording.count
        self.sizes = [size for size, _ in recording.workspaces]
        self.form = found.__class__
        each = list(found) if isinstance(found, (tuple, list)) else [found]
        self.results = [f if f is None else Result(recording, f, arrays) for f in each]
        self.steps = recording.steps
        self.device = device
        # The same as one function of the arrays, made with the second call.
        self.quick: Callable[..., Any] | None = None
        self.calls = 0
        # What is at a fixed address; operands' handles are not held.
        self.alive = [h for h in recording.alive if h is not None and id(h) not in recording.places]

    def again(self, *arrays: DeviceArray) -> Any:
        """Do it for other operands."""
        device = self.device
        device.alive()
        device.enter()
        device.flush()  # in a capture, what was put off comes first
        self.calls += 1
        if self.calls == 2 and not device.platform.blocking:
            self._hurry()
        found = self._run(device, arrays)
        if device.platform.blocking:
            device.stream.run()
            device.alive()
        return found

    def _hurry(self) -> None:
        """Write the call out as a function."""
        steps = [quick.Step(*step) for step in self.steps]
        results = [
            r
            if r is None
            else quick.Made(r.place if r.place[0] >= 0 or r.same >= 0 else (-1, 0), r.form, r.view, r.same)
            for r in self.results
        ]
        of = [True] * self.operands
        self.quick = quick.function(self.device, of, self.sizes, steps, results, self.form, self.again)

    def _run(self, device: Any, arrays: Sequence[DeviceArray]) -> Any:
        handles = [device.allocate(size) for size in self.sizes]
        base = [a.address for a in arrays] + [h.address for h in handles]
        base.append(0)  # of what is where it is
        stream = device.stream.handle
        for function, grid, places, numbers in self.steps:
            addresses = [base[k] + offset for k, offset in places]
            if grid is None:
                function(addresses)
            else:
                function.launch(grid, stream, [*addresses, *numbers])
        made = [r if r is None else self._made(device, r, arrays, handles) for r in self.results]
        if self.form is DeviceArray or self.form is type(None):
            return made[0]
        return self.form(made) if self.form in (list, tuple) else tuple.__new__(self.form, made)

    def _made(
        self, device: Any, r: Result, arrays: Sequence[DeviceArray], handles: Sequence[Any]
    ) -> DeviceArray:
        if r.same >= 0:
            return arrays[r.same]
        k, offset = r.place
        if k < self.operands:
            if k < 0:
                return DeviceArray(device, None, 0, r.shape, r.strides, r.dtype)
            owner = arrays[k]
            base = owner if owner.base is None else owner.base
            return DeviceArray(
                device, owner.handle, owner.address + offset, r.shape, r.strides, r.dtype, base
            )
        handle = handles[k - self.operands]
        address = handle.address + offset
        base = DeviceArray(device, handle, handle.address, (handle.size,), (1,), BYTE) if r.view else None
        return DeviceArray(device, handle, address, r.shape, r.strides, r.dtype, base)


# The most kinds that a device keeps.
MOST = 1 << 14


def call(device: Any, name: Any, function: Callable[..., Any], values: Sequence[Any]) -> Any:
    """function(device, *values), by what a call like it came to."""
    if device.simulated or device.fuses or Determinism.level:
        return function(device, *values)
    arrays: list[DeviceArray] = []
    try:
        kind = (name, device.capture is None, PRODUCTS.allow_tf32, kind_of(values, arrays), _aliases(arrays))
        found = device.prepared.get(kind)
    except (NotPrepared, TypeError):
        return function(device, *values)
    if found.__class__ is Prepared:
        run = found.quick
        return found.again(*arrays) if run is None else run(*arrays)
    if found is not None:
        if found.__class__ is NotServed:
            raise found.with_traceback(None)
        return function(device, *values)
    if device.recording is not None:
        return function(device, *values)
    return _first(device, function, values, arrays, kind)


def ready(device: Any, name: Any, values: Sequence[Any]) -> Callable[..., Any] | None:
    """The function of the arrays among `values` that does what such calls came to, once there is one.

    It holds for arrays of these geometries that begin at multiples of 256, none in another's memory. There is
    none while deterministic algorithms are asked for, where rows may have to say something.
    """
    if Determinism.level:
        return None
    arrays: list[DeviceArray] = []
    try:
        kind = (name, device.capture is None, PRODUCTS.allow_tf32, kind_of(values, arrays), ())
        found = device.prepared.get(kind)
    except (NotPrepared, TypeError):
        return None
    if found.__class__ is not Prepared or any([a.address & _ALIGNED for a in arrays]):
        return None
    return found.quick


def _first(device: Any, function: Any, values: Sequence[Any], arrays: list[DeviceArray], kind: Any) -> Any:
    """The first call of a kind, and what is kept of it: False where nothing can be."""
    if len(device.prepared) > MOST:
        device.prepared.clear()
    recording = device.recording = Recording(arrays)
    try:
        found = function(device, *values)
    except NotServed as error:
        if recording.kept:
            device.prepared[kind] = NotServed(*error.args)
        raise
    finally:
        device.recording = None
    made: Any = False
    if recording.kept and _of_arrays(found):
        made = Prepared(device, recording, found, arrays)
    device.prepared[kind] = made if recording.kept else False
    return found


def _of_arrays(found: Any) -> bool:
    """Whether results are arrays of a device's, or nothing."""
    each = found if isinstance(found, (tuple, list)) else [found]
    return all([f is None or f.__class__ is DeviceArray for f in each])
