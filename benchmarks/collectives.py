"""all_reduce among processes of one machine: run it under PyTorch (gloo) and under Rushlight.

    torchrun --standalone --nproc-per-node 2 benchmarks/collectives.py
    rushlight-run --standalone --nproc-per-node 2 benchmarks/collectives.py

Prints the largest of the ranks' median times for each size. Wall time: what others do on the machine counts.
"""

from __future__ import annotations

import os
import statistics
import time

import torch
import torch.distributed as dist

SIZES = [int(size) for size in os.environ.get("SIZES", "1024 65536 1048576 4194304 26214400").split()]


def measure(size: int, dtype: torch.dtype) -> float:
    """Seconds of one all_reduce of `size` bytes."""
    data = torch.ones(size // torch.empty(0, dtype=dtype).element_size(), dtype=dtype)
    times = []
    for _ in range(max(8, min(200, 20_000_000 // size)) + 3):
        data.fill_(1.0)
        dist.barrier()
        begun = time.perf_counter()
        dist.all_reduce(data)
        times.append(time.perf_counter() - begun)
    slowest = torch.tensor(statistics.median(times[3:]))
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return float(slowest.item())


def main() -> None:
    """Print the table, on rank 0."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for size in SIZES:
        for dtype in (torch.float32, torch.bfloat16):
            seconds = measure(size, dtype)
            if dist.get_rank() == 0:
                print(
                    f"{torch.__name__} {dist.get_world_size()} ranks {dtype!s:16} {size / 1024:8.0f} KB "
                    f"{seconds * 1e6:9.0f} us {size / seconds / 1e9:6.2f} GB/s",
                    flush=True,
                )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
