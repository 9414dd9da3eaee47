"""torch.accelerator: programs that are written for any device ask here; there is none beside the CPU."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from rushlight._engine.names.absent_devices import functions

__path__: list[str] = []  # modules below it: names/placeholders.tsv

globals().update(functions("accelerator"))


def device_index(device: int | None, /) -> AbstractContextManager[None]:
    """A context that changes nothing for None; RuntimeError for a device."""
    return nullcontext() if device is None else globals()["set_device_index"](device)  # type: ignore[no-any-return]
