"""Every collective with every dtype, and mistakes: prints one JSON object of case -> result per rank.

Runs under PyTorch with gloo and under Rushlight: `python collectives.py FOLDER` with RANK, WORLD_SIZE, MASTER_*.
"""

import json
import os
import sys
import warnings
from datetime import timedelta

import torch
import torch.distributed as dist

warnings.filterwarnings("ignore")
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
R = dist.ReduceOp
results = {}
store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), size, rank == 0)
begun = 0


def begin():
    """A new world: after a mistake gloo's groups are of no use."""
    global begun
    begun += 1
    if dist.is_initialized():
        dist.destroy_process_group()
    dist.init_process_group(
        "gloo",
        store=dist.PrefixStore(str(begun), store),
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=20),
    )


def plain(value):
    if isinstance(value, torch.Tensor):
        return [str(value.dtype), str(value.tolist())]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return (
        value if isinstance(value, (int, str, float, bool, type(None), dict)) else str(type(value).__name__)
    )


def case(name, call, again=False):
    try:
        results[name] = plain(call())
    except Exception as error:
        results[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:70]}"
        again = True
    store.set(f"{len(results)} {rank}", "")
    store.wait([f"{len(results)} {other}" for other in range(size)])
    if again:
        begin()


def like(dtype, count=6):
    return (torch.arange(count) + 1 + rank).to(dtype)


def out(call, tensor, *more, **how):
    call(tensor, *more, **how)
    return tensor


def reductions(dtype, name):
    real = dtype.is_floating_point or dtype.is_complex
    for op in "SUM PRODUCT MIN MAX BAND BOR BXOR AVG".split():
        odd = (real and op[0] == "B") or (op == "AVG" and not real) or (dtype.is_complex and op != "SUM")
        if (
            odd
            and not (op == "AVG" and dtype.is_complex)
            and dtype not in (torch.float32, torch.int32, torch.complex64)
        ):
            continue  # mistakes are asked of a few dtypes only
        reduce_op = getattr(R, op)
        case(f"all_reduce {name} {op}", lambda: out(dist.all_reduce, like(dtype), reduce_op))
        if odd:
            continue
        case(
            f"reduce {name} {op}",
            lambda: [x := like(dtype), dist.reduce(x, 1, reduce_op), x if rank == 1 else None][2],
        )
        case(
            f"reduce_scatter {name} {op}",
            lambda: out(
                dist.reduce_scatter,
                torch.zeros(2, dtype=dtype),
                list(like(dtype, 2 * size).split(2)),
                reduce_op,
            ),
        )
        case(
            f"reduce_scatter_tensor {name} {op}",
            lambda: out(
                dist.reduce_scatter_tensor, torch.zeros(2, dtype=dtype), like(dtype, 2 * size), reduce_op
            ),
        )


def moves(dtype, name):
    def empty(*shape):
        return torch.zeros(*shape, dtype=dtype)

    rows = [like(dtype) for _ in range(size)]
    case(f"broadcast {name}", lambda: out(dist.broadcast, like(dtype), 1))
    case(f"all_gather {name}", lambda: out(dist.all_gather, [empty(6) for _ in range(size)], like(dtype)))
    case(
        f"all_gather_into_tensor {name}",
        lambda: out(dist.all_gather_into_tensor, empty(6 * size), like(dtype)),
    )
    case(
        f"all_to_all_single {name}",
        lambda: out(dist.all_to_all_single, empty(2 * size), like(dtype, 2 * size)),
    )
    case(
        f"all_to_all {name}",
        lambda: out(dist.all_to_all, [empty(2) for _ in range(size)], list(like(dtype, 2 * size).split(2))),
    )
    if not dtype.is_complex:  # gloo refuses to gather these
        case(
            f"gather {name}",
            lambda: [
                into := [empty(6) for _ in range(size)] if rank == 0 else None,
                dist.gather(like(dtype), into, 0),
            ][0],
        )
    case(f"scatter {name}", lambda: out(dist.scatter, empty(6), rows if rank == 0 else None, 0))
    case(
        f"send {name}",
        lambda: [
            x := like(dtype),
            dist.send(x, 1) if rank == 0 else dist.recv(x, 0) if rank == 1 else None,
            x,
        ][2],
    )


def strides():
    def turned():
        return (torch.arange(6.0).reshape(2, 3) + 10 * rank).t()

    case("all_reduce turned", lambda: out(dist.all_reduce, turned()))
    case("broadcast turned", lambda: out(dist.broadcast, turned(), 1))
    case("all_gather turned", lambda: out(dist.all_gather, [turned() * 0 for _ in range(size)], turned()))
    case(
        "all_to_all turned",
        lambda: out(
            dist.all_to_all, [torch.zeros(3, 2) for _ in range(size)], [turned() for _ in range(size)]
        ),
    )
    case("all_to_all_single turned", lambda: out(dist.all_to_all_single, torch.zeros(3, 2), turned()))
    case("send turned", lambda: dist.send(turned(), (rank + 1) % size))
    case("0 dims", lambda: out(dist.all_reduce, torch.tensor(2.5)))
    case("empty", lambda: out(dist.all_reduce, torch.empty(0)))
    case("leaf", lambda: out(dist.all_reduce, torch.ones(2, requires_grad=True)).detach())


def others():
    pair = [1, 1 + (size > 1)][: size - 1]
    case(
        "splits",
        lambda: out(
            dist.all_to_all_single,
            torch.zeros(size * (rank + 1)),
            torch.arange(float(sum(range(1, size + 1)))) + 10 * rank,
            [rank + 1] * size,
            list(range(1, size + 1)),
        ),
    )
    case(
        "uneven reduce_scatter",
        lambda: out(
            dist.reduce_scatter, torch.zeros(rank + 1), [torch.ones(r + 1) * (rank + 1) for r in range(size)]
        ),
    )
    case("all_reduce_coalesced", lambda: out(dist.all_reduce_coalesced, [torch.ones(2), torch.ones(3) * 2]))
    case(
        "work",
        lambda: [
            x := torch.ones(2),
            w := dist.all_reduce(x, async_op=True),
            w.wait(),
            w.is_completed(),
            w.is_success(),
            w.get_future().wait(),
        ],
    )
    case(
        "future",
        lambda: (
            dist.all_reduce(torch.ones(2), async_op=True)
            .get_future()
            .then(lambda done: done.value()[0] * 2)
            .wait()
        ),
    )
    case(
        "many",
        lambda: [
            works := [dist.all_reduce(torch.ones(50) * i, async_op=True) for i in range(20)],
            [w.wait() for w in works],
            works[-1].get_future().wait()[0][:2],
        ][2],
    )
    case("objects", lambda: out(dist.all_gather_object, [None] * size, {"rank": rank, "text": "x" * rank}))
    case("broadcast objects", lambda: out(dist.broadcast_object_list, [rank, "x" * rank, None], 1))
    case(
        "gather objects",
        lambda: [x := [None] * size if rank == 0 else None, dist.gather_object(rank, x, 0)][0],
    )
    case(
        "scatter objects",
        lambda: out(
            dist.scatter_object_list, [None], [{"to": r} for r in range(size)] if rank == 0 else None, 0
        ),
    )
    case(
        "batch",
        lambda: [
            a := torch.ones(2) * rank,
            b := torch.zeros(2),
            [
                w.wait()
                for w in dist.batch_isend_irecv(
                    [
                        dist.P2POp(dist.isend, a, (rank + 1) % size),
                        dist.P2POp(dist.irecv, b, (rank - 1) % size),
                    ]
                )
            ],
            b,
        ],
    )
    case(
        "anybody",
        lambda: [
            x := torch.ones(2) * rank,
            dist.send(x, 0, tag=7) if rank == 1 else dist.recv(x, tag=7) if rank == 0 else None,
            x,
        ],
    )
    case("barrier", lambda: dist.barrier())
    case("monitored_barrier", lambda: dist.monitored_barrier())
    case("groups", lambda: groups(pair), True)
    case("subgroups", lambda: [type(g).__name__ for g in dist.new_subgroups(1)], True)
    case(
        "ranks",
        lambda: [
            dist.get_rank(),
            dist.get_world_size(),
            dist.get_backend(),
            dist.is_initialized(),
            dist.get_process_group_ranks(dist.group.WORLD),
        ],
    )


def groups(ranks):
    group = dist.new_group(ranks)
    x = torch.ones(1) * rank
    dist.all_reduce(x, group=group)
    dist.barrier(group=group)
    found = [dist.get_rank(group), dist.get_world_size(group), x]
    if rank in ranks:
        found += [
            dist.get_group_rank(group, rank),
            dist.get_global_rank(group, 0),
            out(dist.broadcast, torch.ones(1) * rank, ranks[0], group=group),
        ]
    return found


def mistakes():
    one, two = torch.ones(1), torch.ones(2)
    for name, call in {
        "no tensor": lambda: dist.all_reduce([one]),
        "no list": lambda: dist.all_gather(one, one),
        "root": lambda: dist.broadcast(one, 9),
        "self": lambda: dist.send(one, rank),
        "gather list": lambda: dist.gather(one, [one] * size, 9),
        "op": lambda: dist.all_reduce(one, "sum"),
        "scatter list": lambda: dist.scatter(one, [one] * size, 9),
        "int16": lambda: dist.all_reduce(one.short()),
        "dtypes": lambda: dist.all_gather([one.int()] * size, one),
        "shape": lambda: dist.all_gather([two] * size, one),
        "count": lambda: dist.all_gather([one], one),
        "into": lambda: dist.all_gather_into_tensor(two[:1], one),
        "splits": lambda: dist.all_to_all_single(two, two, [1] * size, [7] * size),
        "no root": lambda: dist.broadcast(one),
        "two roots": lambda: dist.broadcast(one, 0, group_src=0),
        "p2p": lambda: dist.P2POp(dist.all_reduce, one, 1),
        "range": lambda: dist.new_group([0, 99]),
        "twice": lambda: dist.new_group([0, 0]),
        "init": lambda: dist.init_process_group("gloo"),
        "subgroup": lambda: dist.new_subgroups(99),
        "no group": lambda: dist.new_subgroups_by_enumeration([]),
        "timeout": lambda: dist.new_group(timeout=5),
        "nccl": lambda: dist.new_group(backend="nccl"),
        "backend": lambda: dist.new_group(backend="foo"),
    }.items():
        case(f"mistake: {name}", call)


begin()
for kind in (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int8,
    torch.uint8,
    torch.int32,
    torch.int64,
    torch.bool,
    torch.complex64,
    torch.complex128,
):
    label = str(kind).rpartition(".")[2]
    reductions(kind, label)
    moves(kind, label)
strides()
others()
mistakes()
dist.destroy_process_group()
for label, call in {
    "all_reduce": lambda: dist.all_reduce(torch.ones(1)),
    "rank": dist.get_rank,
    "size": dist.get_world_size,
    "destroy": dist.destroy_process_group,
}.items():
    try:
        call()
    except Exception as error:
        results[f"afterwards: {label}"] = f"{type(error).__name__}: {error}"
with open(os.path.join(sys.argv[1], f"rank{rank}.json"), "w") as file:
    json.dump(results, file, indent=0)
store.set(f"end {rank}", "")
if rank == 0:
    store.wait([f"end {other}" for other in range(size)])
