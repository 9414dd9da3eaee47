"""A process that times workloads on one framework: python -m benchmarks.worker rushlight|torch|jax

It reads lines of JSON, {"workload": name, "count": calls, "settle": whether the warm-up is over,
"cpu": whether to count the processor's time}, and answers each with one line, {"seconds": for all the calls}
or {"error": text}. It ends with its input.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections import ChainMap
from collections.abc import Callable
from typing import Any

from benchmarks import (
    compiling as compiling,  # its workloads
    injax,
    kernels as kernels,  # its workloads
    serving as serving,  # its workloads
)
from benchmarks.eager import EAGER
from benchmarks.small import SMALL
from benchmarks.widths import MIDDLE
from benchmarks.workloads import WORKLOADS


def load(package: str) -> Any:
    """The module under test, also found by `import torch` from then on; JAX has workloads of its own."""
    if package == "jax":
        return None
    if package == "rushlight":
        from rushlight.launcher import install_as_torch

        install_as_torch()
    import torch

    return torch


def settle(package: str) -> None:
    """Change over to what a long run would use by now."""
    if package == "rushlight":
        from rushlight._engine.kernels.runtime import tiers

        tiers.wait()


def time_calls(call: Callable[[], Any], count: int, cpu: bool = False) -> float:
    """Seconds (of the processor, if asked) for `count` calls, without garbage collection, as timeit does."""
    clock = time.process_time if cpu else time.perf_counter
    gc.collect()
    gc.disable()
    try:
        start = clock()
        for _ in range(count):
            call()
        return clock() - start
    finally:
        gc.enable()


def main(package: str) -> None:
    """Answer until the input ends."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what a workload prints must not be an answer
    torch, known = load(package), injax.WORKLOADS if package == "jax" else WORKLOADS
    gc.freeze()  # what has been imported need not be looked through before each measurement
    name, call = "", lambda: None
    answer: dict[str, Any]
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if asked["workload"] != name:  # one at a time, so that the last one's memory is free
                name, call = asked["workload"], lambda: None
                if torch is not None:
                    torch.manual_seed(0)
                tables: Any = known, EAGER, SMALL, MIDDLE
                call = ChainMap(*tables)[name].prepare(torch)
            if asked["settle"]:
                settle(package)
            answer = {"seconds": time_calls(call, asked["count"], asked["cpu"])}
        except Exception as error:
            answer, name = {"error": f"{type(error).__name__}: {error}"}, ""
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
