"""Cases of DistributedDataParallel, for two ranks: prints {case: what this rank got}. Runs under both frameworks."""

import copy
import io
import json
import sys
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint

CASES = {}


def case(f):
    CASES[f.__name__] = f
    return f


class Two(nn.Module):
    """Uses a, b or both, as the call says."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 2)

    def forward(self, x, use="ab"):
        for name in use:
            x = torch.tanh(getattr(self, name)(x))
        return self.c(x)


def net(kind=Two):
    torch.manual_seed(0)
    return kind()


def batch(seed=0):
    torch.manual_seed(10 * dist.get_rank() + seed + 1)
    return torch.randn(4, 3)


def grads(module):
    return {n: None if p.grad is None else p.grad.double().sum().item() for n, p in module.named_parameters()}


def failure(call):
    try:
        call()
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None


@case
def averages():
    m = DDP(net())
    m(batch()).sum().backward()
    return grads(m)


@case
def begins_as_rank_0():
    torch.manual_seed(dist.get_rank())
    m = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    m[1].running_mean += dist.get_rank() + 1
    d = DDP(m)
    return [p.sum().item() for p in d.state_dict().values()], list(d.state_dict())


@case
def buffers_follow_rank_0():
    m = DDP(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)))
    for step in range(3):
        m(batch(step)).sum().backward()
    m.eval()
    m(batch())
    return m.module[1].running_mean.tolist(), m.broadcast_buffers


@case
def no_sync_accumulates():
    m = DDP(net())
    with m.no_sync():
        m(batch(1)).sum().backward()
        own = grads(m)
    m(batch(2)).sum().backward()
    return own, grads(m)


@case
def unused_differ():
    m = DDP(net(), find_unused_parameters=True)
    found = []
    for use in ("a", "b", "ab") if dist.get_rank() else ("b", "b", "ab"):
        m.zero_grad()
        m(batch(), use).sum().backward()
        found.append(grads(m))
    return found


@case
def unused_and_kept():
    m = DDP(net(), find_unused_parameters=True, gradient_as_bucket_view=True)
    m.module.b.weight.grad = torch.full((3, 3), 5.0)
    m(batch(), "a").sum().backward()
    return grads(m)


@case
def unused_are_not_sent():
    sent = []

    def counted(group, bucket):
        sent.append(bucket.buffer().numel())
        work = dist.all_reduce(bucket.buffer().div_(2), async_op=True)
        return work.get_future().then(lambda future: future.value()[0])

    m = DDP(
        net(),
        find_unused_parameters=True,
        skip_all_reduce_unused_params=True,
        batched_grad_copy=True,
        bucket_cap_mb=1e-5,
    )
    m.register_comm_hook(None, counted)
    m.module.b.weight.grad = torch.full((3, 3), 5.0)
    found = []
    for _ in range(2):
        m(batch(), "a").sum().backward()
        found.append(grads(m))
    return found, len(sent)


@case
def part_of_the_outputs():
    class Pair(Two):
        def forward(self, x):
            return self.a(x), self.b(x)

    m = DDP(net(Pair), find_unused_parameters=True)
    m.module.c.requires_grad_(False)
    m(batch())[dist.get_rank()].sum().backward()
    return grads(m)


@case
def unused_is_an_error():
    m = DDP(net())
    m(batch(), "a").sum().backward()
    kind, text = failure(lambda: m(batch()))
    return [
        kind,
        text.split(". ")[0],
        f"Parameter indices which did not receive grad for rank {dist.get_rank()}: 2 3" in text,
    ]


@case
def views_of_buckets():
    m, plain = DDP(net(), gradient_as_bucket_view=True), DDP(net())
    found = []
    for step in range(3):
        for d in (m, plain):
            d.zero_grad(set_to_none=step != 1)
            d(batch(step)).sum().backward()
        found.append(grads(m) == grads(plain))
    whole = {p.grad.untyped_storage().data_ptr() for p in m.parameters()}
    return found, grads(m), len(whole)


@case
def static_graph():
    class Twice(Two):
        def forward(self, x):
            x = checkpoint(self.a, checkpoint(self.a, x, use_reentrant=True), use_reentrant=True)
            return self.c(x)

    m = DDP(net(Twice), static_graph=True)
    found = []
    for step in range(3):
        m.zero_grad()
        m(batch(step).requires_grad_()).sum().backward()
        found.append(grads(m))
    return found


@case
def checkpointed():
    class Saved(Two):
        def forward(self, x):
            return self.c(checkpoint(lambda t: torch.tanh(self.b(self.a(t))), x, use_reentrant=False))

    m = DDP(net(Saved))
    for step in range(2):
        m.zero_grad()
        m(batch(step)).sum().backward()
    return grads(m)


@case
def hooks():
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks as known

    def keep(state, bucket: dist.GradBucket):
        state.append([bucket.index(), bucket.is_last(), len(bucket.gradients()), bucket.buffer().numel()])
        future = torch.futures.Future()
        future.set_result(bucket.buffer() * 2)
        return future

    found, log = {}, []
    for name, hook, state in (
        ("allreduce", known.allreduce_hook, None),
        ("bf16", lambda state, bucket: known.bf16_compress_hook(state, bucket), None),
        ("fp16", known.fp16_compress_hook, None),
        ("keep", keep, log),
        ("wrapped", known.fp16_compress_wrapper(known.allreduce_hook), None),
    ):
        m = DDP(net())
        m.register_comm_hook(state, hook)
        for step in range(2):
            m.zero_grad()
            m(batch(step)).sum().backward()
        found[name] = grads(m)
    return (
        found,
        log,
        failure(lambda: m.register_comm_hook(None, 3)),
        failure(lambda: m.register_comm_hook(None, known.allreduce_hook))[0],
    )


def joined(**options):
    torch.manual_seed(3)
    m = DDP(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)))
    opt = torch.optim.SGD(m.parameters(), lr=0.1)
    steps = 0
    with m.join(**options):
        for step in range(2 + 3 * dist.get_rank()):
            opt.zero_grad()
            m(batch(step)).pow(2).sum().backward()
            opt.step()
            steps += 1
    return steps, [t.double().sum().item() for t in m.state_dict().values()]


@case
def joins():
    return (
        joined(),
        joined(divide_by_initial_world_size=False),
        failure(lambda: joined(throw_on_early_termination=True)),
    )


@case
def refusals():
    class Other(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(1 + dist.get_rank())])

    sync = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            failure(lambda: DDP(net(), device_ids=[0])),
            failure(lambda: DDP(net(), device_ids=[0, 1])),
            failure(lambda: DDP(nn.Flatten())),
            failure(lambda: DDP(nn.LazyLinear(3))),
            failure(lambda: DDP(Other()))[0],
            failure(lambda: sync(batch())),
            failure(lambda: DDP(sync)),
            failure(lambda: DDP(net(), process_group=dist.group.WORLD, device_mesh=3)),
        ]


@case
def copies():
    m = DDP(net())
    out = io.BytesIO()
    torch.save(m.module.state_dict(), out)
    twin = copy.deepcopy(m)
    twin(batch()).sum().backward()
    return grads(twin), grads(m), len(m.state_dict()), m.module is not twin.module


@case
def autocast_and_scaler():
    m = DDP(net())
    opt = torch.optim.SGD(m.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    for step in range(3):
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = m(batch(step)).float().pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
    return [round(p.double().sum().item(), 3) for p in m.parameters()]


@case
def many_buckets():
    torch.manual_seed(0)
    layers = nn.Sequential(*[nn.Linear(40, 40) for _ in range(12)])
    m = DDP(layers, bucket_cap_mb=0.02)
    x = torch.randn(4, 40)
    for _ in range(3):
        m.zero_grad()
        (m(x) * (dist.get_rank() + 1)).sum().backward()
    return [round(p.grad.double().sum().item(), 3) for p in m.parameters()]


@case
def memory_formats():
    torch.manual_seed(0)
    m = DDP(nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last), gradient_as_bucket_view=True)
    for step in range(2):
        m.zero_grad()
        m(torch.ones(1, 3, 5, 5) * (dist.get_rank() + step)).sum().backward()
    return grads(m), list(m.module.weight.grad.stride())


if __name__ == "__main__":
    dist.init_process_group("gloo")
    chosen = sys.argv[1:] or CASES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(json.dumps({name: CASES[name]() for name in chosen}))
    dist.barrier()  # PyTorch's ranks may be aborted where the first one has gone
    dist.destroy_process_group()
