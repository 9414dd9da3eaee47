# Written by `python tools/stubs.py`.
"""Moving and casting a whole module: to(), half(), cuda(), type(), share_memory(), ..."""
from collections.abc import Callable
from rushlight.nn.modules.base.tables import Tables
from rushlight.types import Device
from typing import Any, Self

class Conversion(Tables):
    """The part of Module that replaces the data of its parameters and buffers."""

    def bfloat16(self) -> Self:
        """Cast the floating-point members to bfloat16."""
    def cpu(self) -> Self:
        """Move to the CPU."""
    def cuda(self, device: Device = None) -> Self:
        """Move to a GPU."""
    def double(self) -> Self:
        """Cast the floating-point members to float64."""
    def float(self) -> Self:
        """Cast the floating-point members to float32."""
    def half(self) -> Self:
        """Cast the floating-point members to float16."""
    def ipu(self, device: Device = None) -> Self:
        """Move to an IPU."""
    def mtia(self, device: Device = None) -> Self:
        """Move to an MTIA device."""
    def share_memory(self) -> Self:
        """Move the data to shared memory, for other processes."""
    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move and cast, in place: to(device, dtype), to(dtype), to(tensor), to(memory_format=...).

        A dtype (floating point or complex, else TypeError) casts only the floating-point and
        complex members; `memory_format` rearranges those with 4 or 5 dims.
        """
    def to_empty(self, *, device: Device, recurse: bool = True) -> Self:
        """Move to a device without copying the values: the memory there is uninitialised."""
    def type(self, dst_type: Any) -> Self:
        """Cast all parameters and buffers, also integer ones."""
    def xpu(self, device: Device = None) -> Self:
        """Move to an XPU."""
def _converted(param: Any, fn: Callable[[Any], Any], overwrite: bool) -> Any: ...
def _exchangeable(old: Any, new: Any) -> bool:
    """Whether a tensor can take another's data."""
def _swapped(param: Any, fn: Callable[[Any], Any], name: str) -> None:
    """Make the parameter, and its gradient, all that `fn` makes of them."""
