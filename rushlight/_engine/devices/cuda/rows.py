"""How a device serves the table's rows: what runners ask of a `Device` (dispatch/off_cpu.py).

First come the device's own kernels (`served/`), where it uses them; what they do not serve raises NotServed,
and is the business of `library_row` and its like: a simulated device lets the host compute it, a real one
refuses by name.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rushlight._engine.core.determinism import Determinism, unwritten
from rushlight._engine.devices.cuda import copies, draws, prepared, words
from rushlight._engine.devices.cuda.accounts import alerts
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import Device, NotServed, geometry_of
from rushlight._engine.devices.cuda.kernels import launches
from rushlight._engine.devices.cuda.philox import DEFAULT_SEED, Philox
from rushlight._engine.dispatch.off_cpu import as_tensors
from rushlight._engine.dispatch.runners.meta import arrays_of
from rushlight._engine.ops.creation.filled import Fill
from rushlight._engine.ops.table import Row
from rushlight._engine.tensors.tensor import wrap

Array = np.ndarray[Any, Any]
# So large are those that are known by their bytes.
MOST_BYTES = 1 << 14
# Rows whose index arrays may lie on the host.
_WITH_INDICES = frozenset(("index", "index_put"))


class Rows(Device):
    """A device, with the ways that each kind of row takes there."""

    # --- what a kind of device adds ---------------------------------------------------------------

    @abstractmethod
    def library_row(self, row: Row, body: Callable[..., Any], values: Sequence[Any], why: str) -> Any:
        """A row's results where no kernel serves it, for a reason."""

    @abstractmethod
    def library_read(self, a: DeviceArray, indices: Sequence[Any], why: str) -> Any:
        """a[indices] where no kernel serves it, for a reason."""

    # --- rows -----------------------------------------------------------------------------------

    def run_row(self, row: Row, body: Callable[..., Any], values: Sequence[Any]) -> Any:
        """A row's results on this device's arrays, or NotImplemented where the body is."""
        if Determinism.level:
            alerts.called(row.name, values)
        why = "a row without a kernel"
        if self.kernels:
            # kernels load with the first work on a device
            from rushlight._engine.devices.cuda import served

            kernel = served.row(row.name)
            if kernel is not None:
                given = values if row.name in _WITH_INDICES else [self._here(v) for v in values]
                try:
                    return prepared.call(self, row.name, kernel, given)
                except NotServed as error:
                    why = str(error)
        draw = draws.ROWS.get(row.name)
        if draw is not None:
            return draw(self, *values)
        return self.library_row(row, body, values, why)

    def ready_row(self, row: Row, values: Sequence[Any]) -> Callable[..., Any] | None:
        """What a row does with the arrays among such values, once a kernel has served some."""
        return prepared.ready(self, row.name, values)

    def run_composite(self, name: str, run: Callable[..., Any], values: Sequence[Any]) -> Any:
        """A composite by its rows, whose launches are kept together; NotImplemented on a simulated device."""
        if self.simulated:
            return NotImplemented

        def rows(device: Any, *given: Any) -> Any:
            return arrays_of([run(*values)])[0]

        return as_tensors(prepared.call(self, ("composite", name), rows, arrays_of(values)))

    def ready_composite(self, name: str, values: Sequence[Any]) -> Callable[..., Any] | None:
        """What a composite does with the arrays among such values, once it was run."""
        return prepared.ready(self, ("composite", name), arrays_of(values))

    def ready_reduction(self, reducer: Any, a: DeviceArray, how: Any) -> Callable[..., Any] | None:
        """A reduction of arrays like this one, once some were reduced."""
        return prepared.ready(self, "reduce", (reducer, a, *how))

    def _here(self, value: Any) -> Any:
        """An operand with arrays of the host's, which rows make themselves, brought to the device."""
        if value.__class__ is np.ndarray:
            if value.nbytes > MOST_BYTES:
                return self.brought(value)
            key = "host", value.dtype, value.shape, value.tobytes()
            return self.kept(key, lambda: np.array(value))
        if value.__class__ in (list, tuple) and any([v.__class__ is np.ndarray for v in value]):
            return value.__class__([self._here(v) for v in value])
        return value

    def run_pointwise(self, launch: Any, arrays: Sequence[Any], out: Any) -> Any:
        """A pointwise kernel's result, in `out` if there is one."""
        if self.kernels:
            try:
                return launches.pointwise(
                    self, launch.kernel, arrays, out, launch.result.np, launch.kernel_name
                )
            except NotServed as error:
                self.unserved(launch.kernel_name, error)
        compute = launch.compute
        if out is None:
            key = geometry_of((compute, *arrays))
            return self.call(_fresh, (compute, *arrays), key=key, what=launch.kernel_name)
        self.write(_into, (compute, out, *arrays), targets=(out,), what=launch.kernel_name)
        return out

    def launcher(self, launch: Any) -> Any:
        """What stands for a pointwise kernel's functions: launch(*arrays, out=None), or what is faster."""
        return launch

    def unserved(self, what: str, error: Exception) -> None:
        """What follows where no kernel serves: on a simulated device, a library call."""

    def run_reduction(self, reducer: Any, way: Callable[..., Any], a: DeviceArray, how: Any) -> Any:
        """A reduction."""
        if self.kernels:
            try:
                return prepared.call(self, "reduce", _reduced, (reducer, a, *how))
            except NotServed as error:
                self.unserved(reducer.row.name, error)
        return self.call(way, (a,), key=geometry_of((reducer, how, a)), what=reducer.row.name)

    def run_factory(self, row: Row, given: dict[str, Any], make: Callable[..., Any]) -> Any:
        """A new array: filled with one number, or drawn, or computed by the host and copied."""
        draw = draws.FACTORIES.get(row.name)
        if draw is not None:
            return draw(self, given)
        found = make(row, given)
        if found.__class__ is Fill:
            return prepared.call(self, "filled", _filled, _of_fill(found))
        return found if found.__class__ is DeviceArray else self.brought(np.asarray(found))

    def ready_fill(self, found: Fill) -> Callable[[], DeviceArray] | None:
        """What makes such an array, once some were made."""
        return prepared.ready(self, "filled", _of_fill(found))

    def run_read(self, a: DeviceArray, indices: Sequence[Any]) -> Any:
        """a[indices]; indices may lie on the host."""
        why = "a read without a kernel"
        if self.kernels:
            # kernels load with the first work on a device
            from rushlight._engine.devices.cuda import served

            kernel = served.row("index")
            if kernel is not None:
                try:
                    return prepared.call(self, "index", kernel, (a, indices))
                except NotServed as error:
                    why = str(error)
        return self.library_read(a, indices, why)

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
        for each in arrays:
            for a in each:
                if a.__class__ is not DeviceArray or a.device is not self:
                    raise words.two_devices(self.where, getattr(getattr(a, "device", None), "where", "cpu"))
        if self.kernels:
            # kernels load with the first work on a device
            from rushlight._engine.devices.cuda.served import steps

            try:
                return steps.step(self, kernel, arrays, numbers, again)
            except NotServed as error:
                self.unserved("optimizer step", error)
        if again is not None:
            numbers = Numbers(numbers)
            self.capture.refreshed.append((numbers, again))
        written = [a for each in arrays for i, a in enumerate(each) if i != 1]
        key = (kernel, *[(a.shape, a.strides) for each in arrays for a in each])
        self.write(kernel, (arrays, numbers), targets=written, what="optimizer step", key=key)
        return None

    def owned(self, grad: Any, leaf: Any, alone: bool) -> Any:
        """A gradient as a leaf's own: itself where nobody else holds it or its memory, else a copy."""
        a, like = grad._array, leaf._array
        if alone and a.base is None and sys.getrefcount(a) <= 3 and a.strides == like.strides:
            return grad
        made = self.empty(like.shape, a.dtype, like.strides if like.dense else None, poison=False)
        made[...] = a
        return type(grad).detach(grad) if grad.is_sparse else _wrap(made, grad._kind)

    def on_its_way(self, t: Any) -> None:
        """A CPU tensor that a copy is under way to."""

    def new_generator(self) -> Philox:
        """A generator of its own; it starts from PyTorch's default seed."""
        made = Philox(self)
        made.manual_seed(DEFAULT_SEED)
        return made

    def record_stream(self, a: DeviceArray, stream: Any) -> None:
        """Keep memory from being handed out again before a stream is through with what it has now."""
        if a.handle is not None:
            a.handle.block.streams = {*a.handle.block.streams, stream._queue}

    moved = copies.moved


class Numbers(list[float]):
    """Numbers that each replay of a graph puts anew."""


def _wrap(array: Any, of: Any) -> Any:
    return wrap(array, of)


def _of_fill(found: Fill) -> tuple[Any, ...]:
    """(sizes, dtype, strides in elements, the number) of a Fill."""
    strides = None if found.strides is None else tuple(found.strides)
    of = np.dtype(found.np)
    value = unwritten(of) if found.value is None else found.value
    return tuple(found.sizes), of, strides, value


def _filled(device: Any, sizes: tuple[int, ...], of: Any, strides: Any, value: Any) -> DeviceArray:
    """A new array that holds one number everywhere; any numbers for None."""
    steps = None if strides is None else tuple([s * of.itemsize for s in strides])
    made: DeviceArray = device.empty(sizes, of, steps, poison=value is None)
    if value is not None:
        made.fill(value)
    return made


def _reduced(device: Any, reducer: Any, a: DeviceArray, *how: Any) -> Any:
    # kernels load with the first work on a device
    from rushlight._engine.devices.cuda.served import reductions

    return reductions.reduce(device, reducer, a, *how)


def _fresh(compute: Callable[..., Any], *arrays: Any) -> Any:
    return compute(arrays, None)


def _into(compute: Callable[..., Any], out: Any, *arrays: Any) -> None:
    compute(arrays, out)
