"""Steps of DistributedDataParallel and of FSDP on two ranks, under Rushlight and PyTorch in turn.

    python -m benchmarks.sharded [--torch-python PATH] [--rounds N]

Prints for each framework the median step in milliseconds, the slower rank's: of the bare model, of each
wrapper, of DDP's gradients reduced after backward; and the bytes of a rank's parameters and states.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from typing import Any

WIDTH, LAYERS, BATCH, STEPS = 1024, 6, 128, 9
WAYS = ("bare", "ddp", "ddp_after", "fsdp", "fully")


def _model(torch: Any, way: str) -> Any:
    nn = torch.nn
    torch.manual_seed(0)
    net = nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(LAYERS)])
    if way in ("ddp", "ddp_after"):
        return nn.parallel.DistributedDataParallel(net, bucket_cap_mb=8)
    if way == "fsdp":
        from torch.distributed.fsdp import FullyShardedDataParallel
        from torch.distributed.fsdp.wrap import ModuleWrapPolicy

        return FullyShardedDataParallel(
            net, auto_wrap_policy=ModuleWrapPolicy({nn.Sequential}), device_id=torch.device("cpu")
        )
    if way == "fully":
        from torch.distributed.fsdp import fully_shard

        for layer in net:
            fully_shard(layer)
        return fully_shard(net)
    return net


def _step(torch: Any, way: str, model: Any, opt: Any, x: Any) -> None:
    opt.zero_grad()
    if way != "ddp_after":
        model(x).square().mean().backward()
    else:
        with model.no_sync():
            model(x).square().mean().backward()
        for p in model.parameters():
            p.grad.div_(2)
            torch.distributed.all_reduce(p.grad)
    opt.step()


def rank() -> None:
    """What one rank does: prints {way: (median step in ms, bytes)}."""
    import torch

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    found = {}
    for way in WAYS:
        model = _model(torch, way)
        opt = torch.optim.Adam(model.parameters(), lr=1e-4)
        torch.manual_seed(1)
        x, times = torch.randn(BATCH, WIDTH), []
        for _ in range(STEPS):
            torch.distributed.barrier()
            begun = time.perf_counter()
            _step(torch, way, model, opt, x)
            times.append((time.perf_counter() - begun) * 1e3)
        held = [p for p in model.parameters()] + [t for s in opt.state.values() for t in s.values() if t.ndim]
        held = [t.to_local() if hasattr(t, "to_local") else t for t in held]
        found[way] = statistics.median(times[3:]), sum(t.numel() * t.element_size() for t in held)
    print(json.dumps(found))
    torch.distributed.destroy_process_group()


def _run(python: list[str]) -> dict[str, tuple[float, int]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    ranks = [
        subprocess.Popen(
            [*python, __file__, "--rank"],
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "RANK": str(r),
                "WORLD_SIZE": "2",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
                "OMP_NUM_THREADS": "1",
            },
        )
        for r in range(2)
    ]
    results = [json.loads(process.communicate(timeout=300)[0].splitlines()[-1]) for process in ranks]
    return {way: (max(t[way][0] for t in results), max(t[way][1] for t in results)) for way in WAYS}


def main() -> None:
    """Run both in turn; print the table."""
    options = argparse.ArgumentParser()
    options.add_argument("--torch-python", default=sys.executable)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    found: dict[str, list[dict[str, tuple[float, int]]]] = {"Rushlight": [], "PyTorch": []}
    for _ in range(given.rounds):
        found["Rushlight"].append(_run([sys.executable, "-m", "rushlight"]))
        found["PyTorch"].append(_run([given.torch_python]))
    for way in WAYS:
        print(
            f"{way:10}",
            *(
                f"{name}: {statistics.median(r[way][0] for r in runs):7.1f} ms "
                f"{runs[0][way][1] / 1e6:6.1f} MB"
                for name, runs in found.items()
            ),
            sep="  ",
        )


if __name__ == "__main__":
    if "--rank" in sys.argv:
        rank()
    else:
        main()
