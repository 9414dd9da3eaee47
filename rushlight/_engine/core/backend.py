"""What a device beside the CPU answers: the one interface between the engine and the folders of `devices/`.

A folder there has a `Platform`, which lists its devices, and a class of devices that are `Backend`s. Both are
described here as the engine asks them, so that a type checker holds a device to it; nothing at run time needs
this file. Arrays of a device (core/accelerator.py, `DeviceArrayLike`) stand where NumPy's would, as `Any`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from rushlight._engine.core.device import device as torch_device


class Backend(Protocol):
    """One device. Rows are those of the op table; `values` are a row's arguments with arrays for tensors."""

    # Its torch.device, with a number.
    where: torch_device
    # Whether kernels of its own serve rows; where not, the host computes them.
    kernels: bool

    @property
    def capture(self) -> Any:
        """The graph that this thread's work is captured into; None for none."""

    # --- memory -----------------------------------------------------------------------------------

    def empty(
        self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None, poison: bool = True
    ) -> Any:
        """New memory, strides in bytes. poison: whether reads of what nobody wrote are to show."""

    def view(self, a: Any, seen: np.ndarray[Any, Any]) -> Any:
        """A view of the array `a`, from what NumPy made of its outline."""

    def read(self, a: Any) -> np.ndarray[Any, Any]:
        """An array's elements for the host, which waits for those still to be computed."""

    def copy(self, target: Any, source: Any, non_blocking: bool, pinned: bool) -> None:
        """target[...] = source, of one dtype and shape, where one of them lies on another device or the host.

        pinned: whether the host's memory is page-locked.
        """

    def moved(self, source: Any, other: Any, non_blocking: bool, pinned: bool, order: Any) -> Any:
        """A copy of `source` on the device `other`, or the host's if None; order: of its dims in memory."""

    def on_its_way(self, t: Any) -> None:
        """A copy to this host's tensor has been queued, and nobody has waited for it."""

    def owned(self, grad: Any, leaf: Any, alone: bool) -> Any:
        """A gradient as a leaf's own, in the leaf's layout; alone: whether nobody else has the tensor."""

    def record_stream(self, a: Any, stream: Any) -> None:
        """An array's memory is not to be used again before the stream's work so far is done."""

    def new_generator(self) -> Any:
        """A generator of random numbers of this device."""

    # --- work -------------------------------------------------------------------------------------

    def write(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        named: Any = ...,
        targets: Sequence[Any] | None = None,
        what: str = "",
    ) -> None:
        """function(*args, **named), which fills `targets`, by default its first argument."""

    def run_row(self, row: Any, body: Callable[..., Any], values: Sequence[Any]) -> Any:
        """A row's results, or NotImplemented where the row's body, run on tensors, is the way."""

    def run_pointwise(self, launch: Any, arrays: Sequence[Any], out: Any) -> Any:
        """A pointwise kernel's result, in `out` if there is one."""

    def run_reduction(self, reducer: Any, way: Callable[..., Any], a: Any, how: Any) -> Any:
        """A reduction of one array."""

    def run_factory(self, row: Any, given: dict[str, Any], make: Callable[..., Any]) -> Any:
        """A new array of a row that has no tensor among its arguments."""

    def run_read(self, a: Any, indices: Sequence[Any]) -> Any:
        """a[indices], in which there are tensors; they may lie on the host."""

    def run_composite(self, name: str, run: Callable[..., Any], values: Sequence[Any]) -> Any:
        """A composite by its rows, as one; NotImplemented where that saves nothing."""

    def run_step(
        self,
        kernel: Callable[..., Any],
        arrays: Sequence[Sequence[Any]],
        numbers: Sequence[float],
        again: Callable[[], list[float]] | None = None,
    ) -> None:
        """An optimizer's step over many tensors, in place: (parameter, gradient, states ...) of each.

        again: while a graph is captured, what gives the numbers of each replay.
        """

    # --- work done again --------------------------------------------------------------------------

    def launcher(self, launch: Any) -> Callable[..., Any]:
        """What does a pointwise kernel's work from its arrays: f(*arrays, out=None)."""

    def ready_row(self, row: Any, values: Sequence[Any]) -> Callable[..., Any] | None:
        """What a row comes to for arrays like these, once it has run for some; else None."""

    def ready_reduction(self, reducer: Any, a: Any, how: Any) -> Callable[..., Any] | None:
        """The same of a reduction."""

    def ready_composite(self, name: str, values: Sequence[Any]) -> Callable[..., Any] | None:
        """The same of a composite."""

    def ready_fill(self, found: Any) -> Callable[[], Any] | None:
        """The same of an array filled with one number."""


class Platform(Protocol):
    """All devices of a kind that this process has; array_type: the class of arrays on them."""

    array_type: type

    @property
    def count(self) -> int:
        """How many there are."""

    @property
    def current(self) -> int:
        """The number of this thread's current one."""

    def device(self, index: int | None = None) -> Any:
        """The device of a number, by default the current one."""

    def backend(self, where: torch_device) -> Backend:
        """The device that a torch.device names."""

    def devices(self) -> Sequence[Any]:
        """Those that have been used."""

    def manual_seed(self, seed: int) -> None:
        """Restart the generators of all devices."""

    def page_locked(self, array: Any) -> Any:
        """A host's array in memory that devices copy from without the host, where there is such."""
