"""torch.ops.prim: what TorchScript asks of a tensor, as ops."""

from __future__ import annotations

from rushlight import Tensor, device as Device
from rushlight.jit.program.runtime import code
from rushlight.library import Library


class _Prim(Library):
    """The namespace that programs may not add to."""

    _reserved = ()


_LIBRARY = _Prim("prim", "FRAGMENT")


def layout(a: Tensor) -> int:
    """The number of a tensor's layout."""
    return code(a.layout)


def device(a: Tensor) -> Device:
    """Where a tensor is."""
    return a.device


_LIBRARY.define("device(Tensor a) -> Device")
_LIBRARY.impl("device", device, "CompositeExplicitAutograd")
_LIBRARY.define("layout(Tensor a) -> Layout")
_LIBRARY.impl("layout", layout, "CompositeExplicitAutograd")
