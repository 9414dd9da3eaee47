"""Schedules of pipelines: each rank prints the losses, outputs and gradients that it got."""

import json
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
    SplitPoint,
    pipe_split,
    pipeline,
)
from torch.distributed.pipelining.schedules import get_schedule_class
from torch.nn.parallel import DistributedDataParallel

WIDTH, COUNT = 6, 4


class Part(nn.Module):
    """What a stage computes: two tensors, but in the end one."""

    def __init__(self, last):
        super().__init__()
        self.mix, self.scale, self.last = nn.Linear(WIDTH, WIDTH), nn.Parameter(torch.ones(WIDTH)), last

    def forward(self, x, beside=None, *, times=None):
        found = torch.tanh(self.mix(x)) * self.scale
        found = found if beside is None else found + beside
        found = found if times is None else found * times
        return found if self.last else (found, x * 0.5)


class Whole(nn.Module):
    """What is cut where it says so, or before its second layer: two values go over."""

    def __init__(self, marked):
        super().__init__()
        self.one, self.two, self.marked = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), marked
        self.register_buffer("shift", torch.ones(WIDTH))

    def forward(self, x, y):
        x = self.one(x + y)
        before = x.sin()
        if self.marked:
            pipe_split()
        return self.two(torch.relu(x)) * before + self.shift


def traced(rank, marked):
    """A module that is cut after it was recorded, in two stages."""
    torch.manual_seed(0)
    module, (x, target) = Whole(marked), batch()
    y = x * 2
    spec = None if marked else {"two": SplitPoint.BEGINNING}
    pipe = pipeline(module, (x[:2],), {"y": y[:2]}, split_spec=spec)
    same = torch.allclose(pipe(x[:2], y=y[:2])[0], module(x[:2], y[:2]))
    stage = pipe.build_stage(rank, torch.device("cpu"))
    schedule, losses = Schedule1F1B(stage, COUNT, loss_fn=loss_fn), []
    if rank == 0:
        schedule.step(x, y=y)
    else:
        schedule.step(target=target, losses=losses)
    grads = {name: p.grad.sum().item() for name, p in stage.submod.named_parameters()}
    return [same, [loss.item() for loss in losses], grads]


def parts(count):
    torch.manual_seed(0)
    return [Part(n == count - 1) for n in range(count)]


def loss_fn(output, target):
    return (output - target).square().mean()


def told(schedule, stages, data, rounds=2, **kwargs):
    """What two steps and an evaluation give this rank."""
    x, target = data
    first, last = any(s.is_first for s in stages), any(s.is_last for s in stages)
    found = {"losses": [], "outputs": []}
    for _ in range(rounds):
        losses = []
        given = {"target": target, "losses": losses} if last else {}
        output = schedule.step(*([x] if first else []), **given, **kwargs)
        found["losses"].append([loss.item() for loss in losses])
        found["outputs"].append(None if output is None else output.detach().double().sum().item())
    found["grads"] = []
    for stage in stages:
        for p in stage.submod.parameters():
            grad = p.grad.full_tensor() if hasattr(p.grad, "full_tensor") else p.grad
            found["grads"].append(grad.double().square().sum().item())
    return found


def batch():
    torch.manual_seed(1)
    return torch.randn(8, WIDTH), torch.randn(8, WIDTH)


def single(kind, rank, size, group=None, wrap=None, data=None, **options):
    module = parts(size)[rank]
    stage = PipelineStage(module if wrap is None else wrap(module), rank, size, "cpu", group=group)
    return told(kind(stage, COUNT, loss_fn=loss_fn, **options), [stage], data or batch())


def several(kind, rank, size, mine, **options):
    every = parts(2 * size)
    stages = [PipelineStage(every[n], n, 2 * size, "cpu") for n in mine]
    return told(kind(stages, COUNT, loss_fn=loss_fn, **options), stages, batch())


def schedules(rank, size):
    looped, there = [rank, rank + size], [rank, 2 * size - 1 - rank]
    found = {
        "gpipe": single(ScheduleGPipe, rank, size),
        "1f1b": single(Schedule1F1B, rank, size),
        "sums": single(get_schedule_class("gpipe"), rank, size, scale_grads=False),
        "bfs": several(ScheduleLoopedBFS, rank, size, looped),
        "interleaved": several(ScheduleInterleaved1F1B, rank, size, looped),
        "zero": several(ScheduleInterleavedZeroBubble, rank, size, looped),
        "zbv": several(ScheduleZBVZeroBubble, rank, size, there),
        "dual": several(ScheduleDualPipeV, rank, size, there),
    }
    module = parts(size)[rank]
    stage = PipelineStage(module, rank, size, "cpu")
    schedule = ScheduleGPipe(stage, COUNT, loss_fn=loss_fn)
    x, target = batch()
    losses = []
    given = {"target": target, "losses": losses} if stage.is_last else {}
    output = schedule.eval(*([x] if stage.is_first else []), **given)
    found["eval"] = [None if output is None else output.sum().item(), [loss.item() for loss in losses]]
    found["eval"].append([p.grad is None for p in module.parameters()])
    found["after"] = told(schedule, [stage], batch(), rounds=1)
    return found


def wrapped(rank):
    """Two stages, each on two ranks that have halves of the batch."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "pp"))
    pp, dp = mesh["pp"].get_group(), mesh["dp"].get_group()
    place, replica = mesh["pp"].get_local_rank(), mesh["dp"].get_local_rank()
    torch.manual_seed(5 + replica)
    data = torch.randn(8, WIDTH), torch.randn(8, WIDTH)

    def ddp(module):
        return DistributedDataParallel(module, process_group=dp)

    def fsdp(module):
        return fully_shard(module, mesh=mesh["dp"])

    return {
        "ddp": single(Schedule1F1B, place, 2, pp, ddp, data),
        "fsdp": single(Schedule1F1B, place, 2, pp, fsdp, data),
        "fsdp gpipe": single(ScheduleGPipe, place, 2, pp, fsdp, data),
    }


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    found = wrapped(rank) if "wrapped" in sys.argv else schedules(rank, size)
    if size == 2:
        found["traced"] = [traced(rank, marked) for marked in (True, False)]
    print(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


main()
