"""A kernel that does nothing for some cycles of the device's clock: what torch.cuda._sleep() queues."""

from __future__ import annotations

from typing import Any

from rushlight._engine.devices.cuda.kernels.sources import Source

_NVPTX = """declare i64 @llvm.nvvm.read.ptx.sreg.clock64()
define ptx_kernel void @kernel(i64 %cycles) {
entry:
  %begin = call i64 @llvm.nvvm.read.ptx.sreg.clock64()
  br label %loop
loop:
  %now = call i64 @llvm.nvvm.read.ptx.sreg.clock64()
  %ran = sub i64 %now, %begin
  %on = icmp ult i64 %ran, %cycles
  br i1 %on, label %loop, label %end
end:
  ret void
}
"""
_SIMULATED = """define void @kernel(i64 %cycles, ptr %thread) {
  ret void
}
"""


def _write(target: str) -> tuple[str, int]:
    return _NVPTX if target == "nvptx" else _SIMULATED, 0


SLEEP = Source(_write, (), 0, 1)


def sleep(device: Any, cycles: int) -> None:
    """Queue it on a device's current stream."""
    device.launch(SLEEP, (1, 1), (), (), (cycles,), "sleep")
