"""Models that are cast after they were wrapped, state dicts as a whole, equal parameters: what two ranks get."""

import json

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed._state_dict_utils import (
    _check_state_dict_similarity,
    _copy_state_dict,
    _create_cpu_state_dict,
    _gather_state_dict,
    _offload_state_dict_to_cpu,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, fully_shard
from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.experimental import local_map
from torch.distributed.utils import (
    _get_root_modules,
    _replace_by_prefix,
    _sync_module_states,
    _to_kwargs,
)


def base():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))


def fully():
    module = base()
    fully_shard(module[0])
    return fully_shard(module)


CPU = torch.device("cpu")
WAYS = {
    "flat": lambda: FSDP(base(), device_id=CPU),
    "named": lambda: FSDP(base(), use_orig_params=True, device_id=CPU),
    "fully": fully,
}


def trained(module, rank):
    """Three steps, in float64 after all; the losses and the dtypes."""
    module = module.double()
    optimizer, losses = torch.optim.SGD(module.parameters(), lr=0.1), []
    torch.manual_seed(rank)
    x = torch.randn(6, 4, dtype=torch.float64)
    for _ in range(3):
        loss = module(x).square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return [losses, sorted({str(p.dtype) for p in module.parameters()})]


def states(module):
    """A state dict of DTensors, gathered and copied."""
    state = module.state_dict()
    whole = _gather_state_dict({"a": state, "n": [1, "x", torch.ones(2)]})
    copied = _create_cpu_state_dict(state)
    _copy_state_dict(state, copied)
    found = {
        "gathered": [[type(v).__name__, list(v.shape), v.sum().item()] for v in whole["a"].values()],
        "items": whole["n"][:2],
        "only": repr(_gather_state_dict({"n": torch.ones(1), "k": [2]}, ranks_only=(1,))),
        "alike": [_check_state_dict_similarity(state, d) for d in (copied, {"x": 1})],
        "copied": all(copied[k].full_tensor().equal(state[k].full_tensor()) for k in state),
        "kind": type(_offload_state_dict_to_cpu(state)["0.weight"]).__name__,
    }
    try:
        _gather_state_dict({"a": object()})
    except ValueError as error:
        found["refused"] = str(error)
    return found


def mapped():
    """A product of parts, as a function of tensors."""
    mesh = init_device_mesh("cpu", (2,))
    torch.manual_seed(3)
    w = distribute_tensor(torch.randn(3, 4, requires_grad=True), mesh, [Shard(1)])
    x = distribute_tensor(torch.randn(4, 2), mesh, [Shard(0)])
    calls = {"out_placements": [Partial()], "in_placements": ([Shard(1)], [Shard(0)], None)}

    def product(w, x, factor):
        return torch.mm(w, x) * factor

    found = local_map(product, **calls)(w, x, 2.0)
    found.full_tensor().sum().backward()
    whole = [distribute_tensor(t.full_tensor().detach(), mesh, [Replicate()]) for t in (w, x)]
    refused = []
    for given in ((*whole, 2.0), (w, x, w), (2.0, x, 2.0)):
        try:
            local_map(product, **calls)(*given)
        except (ValueError, AssertionError) as error:
            refused.append(type(error).__name__)
    again = local_map(**calls, redistribute_inputs=True)(product)(*whole, 2.0)
    told = [found, again, w.grad]
    return [[str(t.placements), t.full_tensor().detach().tolist()] for t in told] + refused


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    found = {name: trained(make(), rank) for name, make in WAYS.items()}
    found["states"] = states(fully())
    found["mapped"] = mapped()
    torch.manual_seed(rank)
    layer, names, module = nn.Linear(2, 2), {"a.b": 1, "c": 2}, base()
    _sync_module_states(layer, dist.group.WORLD, 1 << 20, 0, [], True)
    _replace_by_prefix(names, "a.", "z.")
    found["equal"] = layer.weight.tolist()
    found["names"] = names
    found["roots"] = len(_get_root_modules([module, module[0]]))
    found["placed"] = repr(_to_kwargs((torch.ones(1),), {"k": torch.zeros(1)}, CPU, False))
    print(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


main()
