"""All of NCCL's collectives, on one device or among several, each against what it must give.

python -m benchmarks.gpu.ranks is one rank, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in the
environment and a device of its own; it prints what is wrong, or how many collectives were right.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any


def checked() -> str:
    """What is wrong, or how many collectives were right, in the group of all ranks."""
    import rushlight.distributed as dist

    rank, size = dist.get_rank(), dist.get_world_size()
    wrong, done = [], 0
    for name, check in _checks(rank, size).items():
        try:
            found, wanted = check()
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
            continue
        done += 1
        if found != wanted:
            wrong.append(f"{name}: {found}, not {wanted}")
    dist.barrier()
    return "; ".join(wrong) or f"{done} right among {size}"


def _checks(rank: int, size: int) -> dict[str, Callable[[], tuple[Any, Any]]]:
    """By name what gives (what a collective gave, what it must)."""
    found: dict[str, Callable[[], tuple[Any, Any]]] = {}
    for of in ("float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8"):
        for op in ("SUM", "AVG", "PRODUCT", "MIN", "MAX"):
            found[f"all_reduce {of} {op}"] = _reduction(of, op, rank, size)
    return found | _moves(rank, size) | _others(rank, size)


def _there(*values: float, of: str = "float32") -> Any:
    import rushlight as torch

    return torch.tensor(values, dtype=getattr(torch, of), device="cuda")


def _reduction(of: str, op: str, rank: int, size: int) -> Callable[[], tuple[Any, Any]]:
    def check() -> tuple[Any, Any]:
        import rushlight.distributed as dist

        x = _there(1 + rank, 2 + rank, of=of)
        dist.all_reduce(x, getattr(dist.ReduceOp, op))
        all_ranks = [[1 + r, 2 + r] for r in range(size)]
        columns = list(zip(*all_ranks, strict=True))
        product = [1, 1]
        for row in all_ranks:
            product = [p * v for p, v in zip(product, row, strict=True)]
        sums = [sum(c) for c in columns]
        means = [s // size if "int" in of else s / size for s in sums]
        wanted = {"SUM": sums, "AVG": means, "PRODUCT": product}
        wanted |= {"MIN": [min(c) for c in columns], "MAX": [max(c) for c in columns]}
        return x.tolist(), wanted[op]

    return check


def _moves(rank: int, size: int) -> dict[str, Callable[[], tuple[Any, Any]]]:
    import rushlight as torch
    import rushlight.distributed as dist

    def broadcast() -> tuple[Any, Any]:
        x = _there(rank, 5)
        dist.broadcast(x, size - 1)
        return x.tolist(), [size - 1, 5]

    def all_gather() -> tuple[Any, Any]:
        parts = [torch.empty(2, device="cuda") for _ in range(size)]
        dist.all_gather(parts, _there(rank, 1))
        return [p.tolist() for p in parts], [[r, 1] for r in range(size)]

    def all_gather_into_tensor() -> tuple[Any, Any]:
        whole = torch.empty(size, 2, device="cuda")
        dist.all_gather_into_tensor(whole, _there(rank, 1))
        return whole.tolist(), [[r, 1] for r in range(size)]

    def reduce() -> tuple[Any, Any]:
        x = _there(1, rank)
        dist.reduce(x, 0)
        return x.tolist() if rank == 0 else None, [size, size * (size - 1) / 2] if rank == 0 else None

    def reduce_scatter() -> tuple[Any, Any]:
        x = torch.empty(1, device="cuda")
        dist.reduce_scatter_tensor(x, _there(*range(size)))
        return x.item(), rank * size

    def all_to_all() -> tuple[Any, Any]:
        x = torch.empty(size, device="cuda")
        dist.all_to_all_single(x, _there(*[10 * rank + r for r in range(size)]))
        return x.tolist(), [10 * r + rank for r in range(size)]

    def gather() -> tuple[Any, Any]:
        parts = [torch.empty(1, device="cuda") for _ in range(size)] if rank == 0 else None
        dist.gather(_there(rank), parts, 0)
        return [p.item() for p in parts or ()], list(range(size)) if rank == 0 else []

    def scatter() -> tuple[Any, Any]:
        x = torch.empty(1, device="cuda")
        dist.scatter(x, [_there(r) for r in range(size)] if rank == 0 else None, 0)
        return x.item(), rank

    kept = (
        broadcast,
        all_gather,
        all_gather_into_tensor,
        reduce,
        reduce_scatter,
        all_to_all,
        gather,
        scatter,
    )
    return {check.__name__: check for check in kept}


def _others(rank: int, size: int) -> dict[str, Callable[[], tuple[Any, Any]]]:
    import rushlight as torch
    import rushlight.distributed as dist

    def beside_other_work() -> tuple[Any, Any]:
        x = torch.ones(1 << 20, device="cuda")
        for _ in range(20):
            work: Any = dist.all_reduce(x, dist.ReduceOp.AVG, async_op=True)
            work.wait()
            x.mul_(2)
        return x.sum().item() / (1 << 20), 2.0**20

    def in_a_ring() -> tuple[Any, Any]:
        x, y = _there(rank), _there(-1)
        if size == 1:
            return None, None
        after, before = (rank + 1) % size, (rank - 1) % size
        works = dist.batch_isend_irecv([dist.P2POp(dist.isend, x, after), dist.P2POp(dist.irecv, y, before)])
        for work in works:
            work.wait()
        return y.item(), before

    def sent() -> tuple[Any, Any]:
        x = _there(rank)
        if rank == 0 and size > 1:
            dist.send(_there(7), 1)
        elif rank == 1:
            dist.recv(x, 0)
        return x.item(), 7 if rank == 1 else rank

    kept = (beside_other_work, in_a_ring, sent)
    return {check.__name__: check for check in kept} | _more(rank, size)


def _more(rank: int, size: int) -> dict[str, Callable[[], tuple[Any, Any]]]:
    import rushlight as torch
    import rushlight.distributed as dist

    def premultiplied() -> tuple[Any, Any]:
        x = _there(2)
        dist.all_reduce(x, dist._make_nccl_premul_sum(0.5))
        return x.item(), size

    def objects() -> tuple[Any, Any]:
        found: list[Any] = [None] * size
        dist.all_gather_object(found, {"rank": rank})
        return found, [{"rank": r} for r in range(size)]

    def in_a_graph() -> tuple[Any, Any]:
        x = _there(1)
        dist.all_reduce(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            dist.all_reduce(x)
        graph.replay()
        return x.item(), size**2

    def split() -> tuple[Any, Any]:
        x = _there(rank)
        dist.all_reduce(x, group=dist.split_group(split_ranks=[[r] for r in range(size)]))
        return x.item(), rank

    kept = (premultiplied, objects, in_a_graph, split)
    return {check.__name__: check for check in kept}


def alone() -> str:
    """One rank on one device."""
    import rushlight.distributed as dist

    dist.init_process_group("nccl", rank=0, world_size=1, store=dist.HashStore())
    try:
        return checked()
    finally:
        dist.destroy_process_group()


def among(count: int) -> str:
    """So many ranks, each a process with a device of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    made = []
    for rank in range(count):
        own = {"RANK": str(rank), "WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        made.append(
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.gpu.ranks"],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env={**os.environ, **own},
            )
        )
    told = []
    for process in made:
        try:
            told.append(process.communicate(timeout=100)[0].strip()[-1500:])
        except subprocess.TimeoutExpired:
            process.kill()
            told.append("no answer in 100 s")
    return told[0] if len(set(told)) == 1 else " | ".join(told)


if __name__ == "__main__":
    import rushlight as torch
    import rushlight.distributed as dist

    torch.cuda.set_device(int(os.environ["RANK"]))
    dist.init_process_group("nccl")
    print(checked())
    dist.destroy_process_group()
