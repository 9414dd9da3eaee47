"""How training scales over workers: samples per second, efficiency, and where the rest of the time goes.

    python -m rushlight examples/data_parallel.py --world 1 2

Each world trains the same multi-layer perceptron with DistributedDataParallel, a process for each worker, on
the CPU; every worker has a batch of its own. The time of a step is told apart: with gradients reduced,
without (`no_sync`), and the reduction alone. nn.DataParallel is measured as well: where there are no GPUs it
calls the module as it is. PyTorch runs the same file.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def model(width: int) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
    )


def seconds_of_a_step(net: nn.Module, batch: int, steps: int) -> tuple[float, float]:
    """The median time of a training step after a few to warm up, and the last loss."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(batch, 64, generator=generator), torch.randint(10, (batch,), generator=generator)
    times = []
    for _ in range(steps + 3):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[3:]), loss.item()


def work(rank: int, world: int, port: int, options: argparse.Namespace) -> None:
    """One worker: its share of the batch, and rank 0's report."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.set_num_threads(1)
    net = DistributedDataParallel(model(options.width))
    whole, loss = seconds_of_a_step(net, options.batch, options.steps)
    with net.no_sync():
        alone, _ = seconds_of_a_step(net, options.batch, options.steps)
    grads = torch.zeros(sum(p.numel() for p in net.parameters()))
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(options.steps):
        dist.all_reduce(grads)
    reduction = (time.perf_counter() - begin) / options.steps
    if rank == 0:
        print(
            f"{world} workers  {world * options.batch / whole:9,.0f} samples/s  step {1e3 * whole:7.2f} ms"
            f"  without reducing {1e3 * alone:7.2f} ms  reduction alone {1e3 * reduction:6.2f} ms"
            f"  loss {loss:.4f}",
            flush=True,
        )
    dist.barrier()
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--world", type=int, nargs="+", default=[1, 2], help="numbers of workers")
    parser.add_argument("--batch", type=int, default=256, help="samples of each worker's batch")
    parser.add_argument("--width", type=int, default=512, help="units of the hidden layers")
    parser.add_argument("--steps", type=int, default=30, help="steps timed")
    options = parser.parse_args()
    torch.set_num_threads(1)
    plain, _ = seconds_of_a_step(model(options.width), options.batch, options.steps)
    spread, loss = seconds_of_a_step(nn.DataParallel(model(options.width)), options.batch, options.steps)
    print(
        f"one process  {options.batch / plain:9,.0f} samples/s, in nn.DataParallel "
        f"{options.batch / spread:9,.0f} samples/s ({torch.cuda.device_count()} GPUs)  loss {loss:.4f}"
    )
    for world in options.world:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        mp.spawn(work, (world, port, options), nprocs=world)


if __name__ == "__main__":
    main()
