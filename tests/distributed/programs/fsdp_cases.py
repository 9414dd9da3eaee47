"""Cases of FullyShardedDataParallel, fully_shard and DTensor, for two or four ranks: prints {case: what this rank got}.
Runs under both frameworks.
"""

import functools
import json
import sys
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    FullStateDictConfig,
    FullyShardedDataParallel as FSDP,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    StateDictType,
    fully_shard,
)
from torch.distributed.fsdp.wrap import (
    CustomPolicy,
    ModuleWrapPolicy,
    always_wrap_policy,
    enable_wrap,
    lambda_auto_wrap_policy,
    size_based_auto_wrap_policy,
    wrap,
)
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.utils.checkpoint import checkpoint

CASES = {}
CPU = torch.device("cpu")
flatly = functools.partial(FSDP, device_id=CPU)


def case(f):
    CASES[f.__name__] = f
    return f


class Net(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.first = nn.Linear(5, width)
        self.mid = nn.Sequential(nn.Linear(width, 9), nn.ReLU(), nn.Linear(9, width))
        self.last = nn.Linear(width, 3, bias=False)

    def forward(self, x):
        return self.last(torch.tanh(self.mid(torch.tanh(self.first(x)))))


def net(kind=Net):
    torch.manual_seed(0)
    return kind()


def batch(seed=0):
    torch.manual_seed(10 * dist.get_rank() + seed + 1)
    return torch.randn(4, 5)


def failure(call):
    try:
        call()
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None


def value(t):
    t = t.full_tensor() if isinstance(t, DTensor) else t
    return [list(t.shape), round(t.double().sum().item(), 5)]


def step(model, seed=0, lr=0.1, x=None):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    opt.zero_grad()
    model(batch(seed) if x is None else x).float().pow(2).sum().backward()
    opt.step()


def whole(model):
    return {k: value(v) for k, v in sorted(model.state_dict().items())}


WAYS = {
    "flat": lambda m: flatly(m, auto_wrap_policy=ModuleWrapPolicy({nn.Sequential})),
    "orig": lambda m: flatly(m, auto_wrap_policy=ModuleWrapPolicy({nn.Linear}), use_orig_params=True),
    "none": lambda m: flatly(m, sharding_strategy=ShardingStrategy.NO_SHARD, use_orig_params=True),
    "fully": lambda m: fully_shard([fully_shard(m.mid), m][1]),
}


@case
def steps():
    found = {}
    for name, way in WAYS.items():
        m = way(net())
        for n in range(3):
            step(m, n)
        found[name] = whole(m)
    return found


@case
def forward_twice_and_evaluation():
    found = {}
    # PyTorch's fully_shard reduces only what it has after the first of the two, and leaves the root's parameters
    # whole after an evaluation, where the next optimizer finds them.
    for name in ("flat", "orig", "none"):
        m = WAYS[name](net())
        opt = torch.optim.SGD(m.parameters(), lr=0.1)
        (m(batch(0)).sum() + m(batch(1)).pow(2).sum()).backward()
        opt.step()
        m.eval()
        with torch.no_grad():
            out = m(batch(2)).sum().item()
        step(m.train())
        found[name] = out, whole(m)
    return found


def sharded_forward_twice():
    """What PyTorch does otherwise (above): fully_shard averages as DistributedDataParallel does."""
    found = []
    for m in (WAYS["fully"](net()), nn.parallel.DistributedDataParallel(net())):
        opt = torch.optim.SGD(m.parameters(), lr=0.1)
        (m(batch(0)).sum() + m(batch(1)).pow(2).sum()).backward()
        opt.step()
        m.eval()
        with torch.no_grad():
            m(batch(2))
        step(m.train(), 3)
        found.append([value(p) for p in m.parameters()])
    return found


@case
def accumulation():
    found = {}
    for name, way in WAYS.items():
        m = way(net())
        opt = torch.optim.SGD(m.parameters(), lr=0.1)
        if name == "fully":
            m.set_requires_gradient_sync(False)
            m(batch(1)).sum().backward()
            m.set_requires_gradient_sync(True)
        else:
            with m.no_sync():
                m(batch(1)).sum().backward()
        m(batch(2)).sum().backward()
        m(batch(3)).sum().backward()
        opt.step()
        found[name] = whole(m)
    return found


@case
def frozen():
    found = {}
    for name in ("orig", "fully"):
        m = net()
        m.first.requires_grad_(False)
        m.mid[0].requires_grad_(False)
        m = WAYS[name](m)
        for n in range(2):
            step(m, n)
        found[name] = whole(m)
    return found


class Saved(Net):
    def forward(self, x):
        x = checkpoint(lambda t: torch.tanh(self.first(t)), x, use_reentrant=False)
        return self.last(torch.tanh(checkpoint(self.mid, x, use_reentrant=False)))


@case
def checkpointed():
    found = {}
    for name, way in WAYS.items():
        m = way(net(Saved))
        for n in range(2):
            step(m, n)
        found[name] = whole(m)
    return found


@case
def mixed_precision():
    low = torch.bfloat16
    found = {}
    policy = MixedPrecision(param_dtype=low, reduce_dtype=torch.float32, buffer_dtype=low)
    m = flatly(net(), mixed_precision=policy, use_orig_params=True)
    step(m)
    found["grads of one"] = [str(p.grad.dtype) for p in m.parameters() if p.grad is not None]
    found["whole"] = {k: v[0] for k, v in whole(m).items()}
    found["dtype"] = str(m(batch()).dtype), str(next(m.parameters()).dtype)
    two = fully_shard(
        net(),
        mp_policy=MixedPrecisionPolicy(
            param_dtype=low, reduce_dtype=torch.float32, output_dtype=torch.float32
        ),
    )
    found["two"] = str(two(batch()).dtype)
    step(two)
    found["grads"] = [str(p.grad.dtype) for p in two.parameters()]
    return found


@case
def state_dicts():
    found = {}
    for name in ("flat", "orig"):
        m = WAYS[name](net())
        step(m)
        with FSDP.state_dict_type(m, StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=True)):
            saved = m.state_dict()
        found[name] = sorted(saved), FSDP.get_state_dict_type(m).state_dict_type.name
        kept = whole(m)
        step(m, 7)
        twin = WAYS[name](net())
        twin.load_state_dict({k: torch.ones(v[0]) for k, v in kept.items()})
        found[name] += (whole(twin),)
    m = WAYS["fully"](net())
    state = m.state_dict()
    found["fully"] = [[type(v).__name__, list(v.to_local().shape)] for v in state.values()]
    m.load_state_dict(
        {k: distribute_tensor(torch.ones(v.shape), v.device_mesh, v.placements) for k, v in state.items()}
    )
    found["loaded"] = whole(m)
    return found


@case
def summoned():
    found = {}
    for name in ("flat", "orig"):
        m = WAYS[name](net())
        with FSDP.summon_full_params(m):
            found[name] = [[n, list(p.shape)] for n, p in m.named_parameters()]
            with torch.no_grad():
                for p in m.parameters():
                    p.mul_(0.5)
        with FSDP.summon_full_params(m, writeback=False), torch.no_grad():
            m.module.last.weight.zero_() if name == "flat" else None
        found[name] += [whole(m), sum(p.numel() for p in m.parameters())]
    return found


@case
def optimizer_states():
    found = {}
    for name in ("flat", "orig"):
        m = WAYS[name](net())
        opt = torch.optim.Adam(m.parameters(), lr=0.01)
        for n in range(2):
            opt.zero_grad()
            m(batch(n)).sum().backward()
            opt.step()
        state = FSDP.optim_state_dict(m, opt)
        if name == "flat":  # PyTorch's exp_avg are exp_avg_sq of parameters with names of their own
            found[name] = {
                k: {a: value(b) for a, b in sorted(v.items())} for k, v in sorted(state["state"].items())
            }
        twin = WAYS[name](net())
        twin.load_state_dict(m.state_dict())
        again = torch.optim.Adam(twin.parameters(), lr=0.01)
        again.load_state_dict(FSDP.optim_state_dict_to_load(twin, again, state))
        for model, o in ((m, opt), (twin, again)):
            o.zero_grad()
            model(batch(5)).sum().backward()
            o.step()
        found[name + " resumed"] = whole(m) == whole(twin) or name == "orig", whole(m)
    return found


@case
def clipping():
    found = {}
    for name, way in WAYS.items():
        m = way(net())
        m(batch()).pow(2).sum().backward()
        clip = getattr(
            m, "clip_grad_norm_", functools.partial(nn.utils.clip_grad_norm_, list(m.parameters()))
        )
        found[name] = [value(clip(n)) for n in (1.0, 0.5)]
        if dist.get_world_size() == 2:  # PyTorch's shards of four ranks are empty, and have no such norm
            found[name].append(value(clip(0.1, norm_type=float("inf"))))
    return found


@case
def policies():
    def count(policy):
        m = flatly(net(), auto_wrap_policy=policy)
        return [n.replace("_fsdp_wrapped_module", "*") for n, c in m.named_modules() if isinstance(c, FSDP)]

    partial = functools.partial
    with enable_wrap(wrapper_cls=FSDP, device_id=CPU):
        inner = wrap(nn.Linear(2, 2))
    return [
        count(partial(size_based_auto_wrap_policy, min_num_params=50)),
        count(always_wrap_policy),
        count(partial(lambda_auto_wrap_policy, lambda_fn=lambda c: isinstance(c, nn.ReLU | nn.Linear))),
        count(
            CustomPolicy(
                lambda c: (
                    {"sharding_strategy": ShardingStrategy.SHARD_GRAD_OP}
                    if isinstance(c, nn.Sequential)
                    else isinstance(c, nn.Linear)
                )
            )
        ),
        type(inner).__name__,
        type(wrap(nn.Linear(2, 2))).__name__,
    ]


@case
def left_alone():
    m = net()
    m = flatly(m, ignored_modules=[m.last], use_orig_params=True)
    step(m)
    return list(m.module.last.weight.shape), {k: v for k, v in whole(m).items() if "last" not in k}


@case
def unit_by_hand():
    m = fully_shard(net(), reshard_after_forward=False)
    shard = [list(p.to_local().shape) for p in m.parameters()]
    m.unshard()
    full = [[type(p).__name__, list(p.shape)] for p in m.parameters()]
    m.reshard()
    handle = m.unshard(async_op=True)
    handle.wait()
    m.reshard()
    again = [type(p).__name__ for p in m.parameters()]
    step(m)
    return shard, full, again, type(m).__name__, whole(m)


@case
def adam_states_are_distributed():
    m = WAYS["fully"](net())
    opt = torch.optim.AdamW(m.parameters(), lr=0.01)
    m(batch()).sum().backward()
    opt.step()
    state = opt.state_dict()["state"]
    return [
        [type(s["exp_avg"]).__name__, value(s["exp_avg"]), list(s["exp_avg"].to_local().shape)]
        for s in state.values()
    ]


@case
def dtensors():
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))
    torch.manual_seed(4)
    full = torch.randn(5, 3)
    d = distribute_tensor(full, mesh, [Shard(0)])
    columns = distribute_tensor(full, mesh, [Shard(1)])
    spread = DTensor.from_local(torch.ones(2, 3) * dist.get_rank(), mesh, [Shard(0)])
    r = d.redistribute(mesh, [Replicate()])
    found = [
        value(d + 1),
        value(d * d),
        value((d * 2).to(torch.float64)),
        list(d.shape),
        d.numel(),
        list(d.to_local().shape),
        list(columns.to_local().shape),
        value(columns.full_tensor()),
        value(spread),
        list(r.to_local().shape),
        value(torch.zeros_like(d)),
        value(d.sum()),
        value(torch.linalg.vector_norm(d)),
        str(d.placements),
        d.stride(),
        d.device_mesh.mesh_dim_names,
        value(d.clone().mul_(2)),
        value(torch.stack([torch.linalg.vector_norm(d), torch.linalg.vector_norm(columns)]).norm()),
    ]
    leaf = nn.Parameter(d)
    (leaf * 3).to_local().sum().backward()
    found += [type(leaf.grad).__name__, value(leaf.grad), isinstance(leaf, nn.Parameter), leaf.is_leaf]
    found += [
        failure(lambda: d + torch.ones(5, 3))[0],
        mesh.get_local_rank(),
        mesh["dp"].size(),
        repr(mesh),
        failure(lambda: mesh["tp"])[0],
        failure(lambda: init_device_mesh("cpu", (2, 1), mesh_dim_names=("a",))),
    ]
    return found


@case
def refusals():
    class Scalar(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = nn.Parameter(torch.tensor(1.0))

    mixed = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double())
    return [
        failure(lambda: flatly(Scalar())),
        failure(lambda: fully_shard(Scalar())),
        failure(lambda: flatly(mixed))[0],
        failure(lambda: FSDP(net()))[0],
        failure(lambda: FSDP(net(), device_id=0))[0],
        failure(lambda: fully_shard(nn.ModuleList([nn.Linear(2, 2)])))[0],
        failure(lambda: flatly(net(), sharding_strategy=ShardingStrategy.HYBRID_SHARD))[0],
        failure(lambda: fully_shard(fully_shard(net())))[0],
    ]


def hybrid():
    """Of four ranks: two halves with equal shards."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    two = fully_shard(net(), mesh=mesh)
    one = flatly(
        net(), device_mesh=mesh, sharding_strategy=ShardingStrategy.HYBRID_SHARD, use_orig_params=True
    )
    for n in range(2):
        step(one, n)
        step(two, n)
    return whole(one), whole(two), [list(p.to_local().shape) for p in two.parameters()], mesh.get_coordinate()


def ragged():
    """Of four ranks: parameters with fewer rows than there are ranks."""
    return {name: CASES[name]() for name in ("steps", "optimizer_states", "clipping")}


if __name__ == "__main__":
    dist.init_process_group("gloo")
    if dist.get_world_size() == 4:
        CASES = {**CASES, "hybrid": hybrid, "ragged": ragged}
    chosen = sys.argv[1:] or list(CASES)
    CASES["sharded_forward_twice"] = sharded_forward_twice
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = {}
        for name in chosen:
            print(name, file=sys.stderr, flush=True)
            answers[name] = CASES[name]()
        print(json.dumps(answers))
    dist.barrier()  # PyTorch's ranks may be aborted where the first one has gone
    dist.destroy_process_group()
