"""What an eager op costs the host, where the driver answers at once: python -m benchmarks.gpu.host [NAME ...]

The imitated driver of tests/cuda, but launches and products are functions of machine code that do nothing:
what is left is what Python does. Prints microseconds of processor time, the least of many rounds, and those
of the same op on the CPU.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from typing import Any

from rushlight._engine.core.settings import settings
from rushlight._engine.devices.cuda.driver.blas import Override
from rushlight._engine.kernels.emit import target
from tests.cuda import fake_driver

_NOTHING = "define i32 @nothing() {\n  ret i32 0\n}\n"


def install() -> None:
    """A device whose kernels and products cost nothing."""
    code = target.assemble(_NOTHING, tidy=True)
    (address,) = target.load(code, ("nothing",), {})
    nothing = ctypes.CFUNCTYPE(ctypes.c_int)(address)
    driver = fake_driver.FakeDriver(devices=1, memory=4 << 30)
    driver.__dict__["cuLaunchKernel"] = nothing
    fake_driver.install(driver)
    Override.library.cublasLtMatmul = nothing
    settings.cuda = "driver"


def cases(torch: Any, where: str) -> dict[str, Callable[[], Any]]:
    """The calls, by name."""
    F = torch.nn.functional
    x, y = torch.ones(8, 8, device=where), torch.ones(8, 8, device=where)
    w = torch.ones(8, 8, device=where, requires_grad=True)
    b, c = torch.ones(8, device=where), torch.zeros(8, device=where)
    places = torch.zeros(4, dtype=torch.int64, device=where)
    return {
        "add": lambda: x + y,
        "mul by a number": lambda: x * 2.0,
        "gelu": lambda: F.gelu(x),
        "add, tracked": lambda: w + y,
        "add_": lambda: x.add_(0.0),
        "sum": lambda: x.sum(),
        "softmax": lambda: x.softmax(1),
        "layer_norm": lambda: F.layer_norm(x, (8,), b, c),
        "matmul": lambda: x @ y,
        "linear": lambda: F.linear(x, y, b),
        "embedding": lambda: F.embedding(places, x),
        "cat": lambda: torch.cat((x, y)),
        "view": lambda: x.view(64),
        "transpose": lambda: x.transpose(0, 1),
        "slice": lambda: x[1:3],
        "empty": lambda: torch.empty(8, 8, device=where),
        "empty_like": lambda: torch.empty_like(x),
        "zeros": lambda: torch.zeros(8, 8, device=where),
        "forward and backward": lambda: F.gelu(x @ w).sum().backward(),
    }


def microseconds(work: Callable[[], Any], rounds: int = 60, calls: int = 200) -> float:
    """The least processor time of a call, over rounds of calls."""
    for _ in range(50):
        work()
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(calls):
            work()
        best = min(best, time.process_time() - began)
    return best / calls * 1e6


def main() -> None:
    """Print a line a call."""
    install()
    import rushlight as torch

    device, host = cases(torch, "cuda"), cases(torch, "cpu")
    for name in sys.argv[1:] or device:
        print(
            f"{name:22s} {microseconds(device[name]):7.2f}  cpu {microseconds(host[name]):7.2f}", flush=True
        )


if __name__ == "__main__":
    main()
