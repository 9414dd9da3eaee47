"""How a device serves the table's rows: what runners ask of a `Device` (dispatch/off_cpu.py)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rushlight._engine.core.numpy_warnings import hush, restore
from rushlight._engine.devices.cuda import copies, draws, strict, words
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import Device, geometry_of
from rushlight._engine.devices.cuda.kernels import launches
from rushlight._engine.devices.cuda.philox import DEFAULT_SEED, Philox
from rushlight._engine.numerics import advanced_indexing
from rushlight._engine.ops.creation.filled import Fill
from rushlight._engine.ops.table import Row

Array = np.ndarray[Any, Any]


class Home(Device):
    """A device, with the ways that each kind of row takes there."""

    def run_row(self, row: Row, body: Callable[..., Any], values: Sequence[Any]) -> Any:
        """A row's results on this device's arrays, or NotImplemented where the body is."""
        draw = draws.ROWS.get(row.name)
        if draw is not None:
            return draw(self, *values)
        # A result whose geometry depends on numbers is one that PyTorch refuses on meta.
        key = None if "meta" in row.refuse else geometry_of((body, *values))
        try:
            new = key is not None and key not in self._known
            found = self.call(body, values, key=key, what=row.name)
            if new and _has_masks(values):
                self._doubt(body, values, key)
            return found
        except np.linalg.LinAlgError:
            raise
        except (IndexError, RuntimeError, ValueError) as error:
            if self.error is not None:
                raise
            return self._asserted(row, body, values, error)

    def _doubt(self, body: Callable[..., Any], values: Sequence[Any], key: Any) -> None:
        """Let a call never be late whose result's geometry depends on a mask: on how many are set."""
        told = self._known[key]
        for fill in (np.zeros, np.ones):
            given = _stand_ins(self._seen(list(values), []), fill)
            token = hush()
            try:
                described = self._described(body(*given))
            except Exception:
                continue
            finally:
                restore(token)
            if described != told:
                self.never_late(key)

    def _asserted(self, row: Row, body: Callable[..., Any], values: Sequence[Any], error: Exception) -> Any:
        """What a body raised about numbers a kernel finds out: the device is dead from now on.

        About arguments it is the caller's mistake, and raised: then zeros in the place of numbers do not
        help.
        """
        operands: list[DeviceArray] = []
        stand_ins = _stand_ins(self._seen(list(values), operands), np.zeros)
        token = hush()
        try:
            found = body(*stand_ins)
        except Exception:
            raise error from None
        finally:
            restore(token)
        self.fail(error, row.name, words.place())
        if self.platform.blocking:
            self.alive()
        described = self._described(found)
        if described is None:
            self.alive()
        failed, self.error = self.error, None
        try:
            return self._room(described, [])
        finally:
            self.error = failed

    def run_pointwise(self, launch: Any, arrays: Sequence[Any], out: Any) -> Any:
        """A pointwise kernel's result, in `out` if there is one."""
        compute = launch.compute
        if self.platform.setting.kernels:
            found = launches.pointwise(self, launch, arrays, out)
            if found is not NotImplemented:
                return found
        if out is None:
            return self.call(
                _fresh, (compute, *arrays), key=geometry_of((compute, *arrays)), what=launch.kernel_name
            )
        self.write(_into, (compute, out, *arrays), targets=(out,), what=launch.kernel_name)
        return out

    def run_reduction(self, reducer: Any, way: Callable[..., Any], a: DeviceArray, how: Any) -> Any:
        """A reduction."""
        return self.call(way, (a,), key=geometry_of((reducer, how, a)), what=reducer.row.name)

    def run_factory(self, row: Row, given: dict[str, Any], make: Callable[..., Any]) -> Any:
        """A new array: filled with one number, or drawn, or computed by the host and copied."""
        draw = draws.FACTORIES.get(row.name)
        if draw is not None:
            return draw(self, given)
        found = make(row, given)
        if found.__class__ is Fill:
            step = np.dtype(found.np).itemsize
            strides = None if found.strides is None else tuple(s * step for s in found.strides)
            made = self.empty(tuple(found.sizes), found.np, strides, poison=found.value is None)
            if found.value is not None:
                made.fill(found.value)
            return made
        return found if found.__class__ is DeviceArray else self.adopt(np.asarray(found), [])

    def run_read(self, a: DeviceArray, indices: Sequence[Any]) -> Any:
        """a[indices]; indices may lie on the host."""
        masked = any(
            (i is not None and i.dtype.kind == "b") or (i is not None and i.dtype == np.uint8)
            for i in indices
        )
        key = None if masked else geometry_of((advanced_indexing.read, a, *indices))
        try:
            return self.call(advanced_indexing.read, (a, list(indices)), key=key, what="index")
        except IndexError as error:
            return self._asserted(_INDEX, advanced_indexing.read, (a, list(indices)), error)

    def run_step(
        self, kernel: Callable[..., Any], arrays: Sequence[Sequence[Any]], numbers: Sequence[float]
    ) -> None:
        """An optimizer's step over many tensors, in place: (parameter, gradient, states ...) of each."""
        for each in arrays:
            for a in each:
                if a.__class__ is not DeviceArray or a.device is not self:
                    raise words.two_devices(self.where, getattr(getattr(a, "device", None), "where", "cpu"))
        written = [a for each in arrays for i, a in enumerate(each) if i != 1]
        key = (kernel, *[(a.shape, a.strides) for each in arrays for a in each])
        self.write(kernel, (arrays, numbers), targets=written, what="optimizer step", key=key)

    def owned(self, grad: Any, leaf: Any, alone: bool) -> Any:
        """A gradient as a leaf's own: itself where nobody else holds it or its memory, else a copy."""
        a, like = grad._a, leaf._a
        if alone and a.base is None and sys.getrefcount(a) <= 3 and a.strides == like.strides:
            return grad
        made = self.empty(like.shape, a.dtype, like.strides if like.dense else None, poison=False)
        made[...] = a
        return type(grad).detach(grad) if grad.is_sparse else _wrap(made, grad._k)

    def on_its_way(self, t: Any) -> None:
        """A CPU tensor that a copy is under way to; in strict mode, reads of it raise until it is there."""
        if self.check is not None:
            strict.arriving(t, self.stream.mark(), words.place())

    def new_generator(self) -> Philox:
        """A generator of its own; it starts from PyTorch's default seed."""
        made = Philox(self)
        made.manual_seed(DEFAULT_SEED)
        return made

    def record_stream(self, a: DeviceArray, stream: Any) -> None:
        """Keep memory from being handed out again before a stream is through with what it has now."""
        if a.handle is not None:
            a.handle.block.streams.add(stream._queue)

    copy, moved = copies.copy, copies.moved


class _Named:
    name = "index"


_INDEX: Any = _Named()


def _wrap(array: Any, of: Any) -> Any:
    from rushlight._engine.tensors.tensor import wrap

    return wrap(array, of)


def _fresh(compute: Callable[..., Any], *arrays: Any) -> Any:
    return compute(arrays, None)


def _into(compute: Callable[..., Any], out: Any, *arrays: Any) -> None:
    compute(arrays, out)


def _stand_ins(value: Any, fill: Callable[..., Any]) -> Any:
    """Arguments with arrays of zeros (or ones) in the place of arrays."""
    if isinstance(value, np.ndarray):
        return fill(value.shape, value.dtype)
    if value.__class__ in (list, tuple):
        return value.__class__([_stand_ins(v, fill) for v in value])
    return value


def _has_masks(values: Sequence[Any]) -> bool:
    """Whether there are bools among a row's operands, or bytes, which may stand for them."""
    for v in values:
        if v.__class__ in (list, tuple):
            if _has_masks(v):
                return True
        elif hasattr(v, "strides") and (v.dtype.kind == "b" or v.dtype == np.uint8):
            return True
    return False
