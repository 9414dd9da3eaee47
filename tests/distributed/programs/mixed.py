"""Operations that overlap: groups, threads, transfers, handles waited for in different orders; prints "fine"."""

import os
import sys
import threading

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
total = size * (size - 1) // 2


def same(tensor, value):
    assert torch.equal(tensor, torch.full_like(tensor, value)), (rank, tensor, value)


def some_wait_and_some_do_not():
    for step in range(20):
        x = torch.full((1000,), float(rank))
        if (step + rank) % 2:
            work = dist.all_reduce(x, async_op=True)
            work.wait()
        else:
            dist.all_reduce(x)
        same(x, total)


def waited_for_in_another_order():
    other = dist.new_group()
    for _ in range(5):
        tensors = [torch.full((5000,), float(rank + i)) for i in range(8)]
        works = [
            dist.all_reduce(t, group=other if i % 2 else None, async_op=True) for i, t in enumerate(tensors)
        ]
        for i in sorted(range(8), key=lambda i: (i * (rank + 3)) % 8):
            works[i].wait()
            same(tensors[i], total + i * size)
    dist.destroy_process_group(other)


def in_threads():
    groups = [dist.new_group() for _ in range(3)]

    def work(group, number):
        for step in range(30):
            x = torch.full((100,), float(rank * number + step))
            dist.all_reduce(x, group=group)
            same(x, total * number + step * size)

    threads = [threading.Thread(target=work, args=(group, n)) for n, group in enumerate(groups)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]


def transfers_around_collectives():
    after, before = (rank + 1) % size, (rank - 1) % size
    received = torch.empty(1_000_000)
    coming = dist.irecv(received, before)
    dist.barrier()
    going = dist.isend(torch.full((1_000_000,), float(rank)), after)
    x = torch.ones(10)
    dist.all_reduce(x)
    coming.wait()
    going.wait()
    assert coming.is_completed()
    same(received, before)
    for tag in (3, 1):  # tags, in another order than sent
        if rank == 0:
            dist.isend(torch.tensor([float(4 - tag)]), 1, tag=4 - tag)
    if rank == 1:
        for tag in (3, 1):
            dist.recv(x[:1], 0, tag=tag)
            assert x[0] == tag
    dist.barrier()


def of_two_bytes_of_any_length():
    for dtype in (torch.bfloat16, torch.float16):
        for length in (1, 7, 33_000, 100_001):
            x = torch.arange(length).remainder(13).to(dtype) + rank
            dist.all_reduce(x)
            assert torch.equal(x, (torch.arange(length).remainder(13) * size + total).to(dtype)), (
                dtype,
                length,
            )
            y = torch.arange(length).remainder(13).to(dtype)
            dist.all_reduce(y, dist.ReduceOp.AVG)
            assert torch.equal(y, torch.arange(length).remainder(13).to(dtype))


def in_parts_of_a_tensor():
    whole = torch.zeros(4, 2 * size)
    dist.all_gather([whole[:, 2 * r : 2 * r + 2] for r in range(size)], torch.full((4, 2), float(rank)))
    assert whole[0].tolist() == [float(r) for r in range(size) for _ in range(2)]
    dist.all_reduce(whole[:, ::2])
    assert whole[1].tolist() == [float(r * size if not i else r) for r in range(size) for i in range(2)]


def beside_children():
    from torch.utils.data import DataLoader, TensorDataset

    for (batch,) in DataLoader(TensorDataset(torch.arange(20.0)), batch_size=5, num_workers=2):
        dist.all_reduce(batch)
    pid = os.fork()
    if pid == 0:
        sys.exit(0)  # a child's end is not the rank's
    os.waitpid(pid, 0)
    dist.barrier()


for check in (
    some_wait_and_some_do_not,
    waited_for_in_another_order,
    in_threads,
    transfers_around_collectives,
    of_two_bytes_of_any_length,
    in_parts_of_a_tensor,
    beside_children,
):
    check()
for _ in range(2):  # a world may be begun again
    dist.destroy_process_group()
    dist.init_process_group("gloo")
    some_wait_and_some_do_not()
sys.stdout.write("fine\n")
