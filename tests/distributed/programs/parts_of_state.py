"""Optimizers, scalers and tensors of which each of two ranks has a part; PyTorch prints the same."""

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing
from rushlight.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from rushlight.distributed.optim import ZeroRedundancyOptimizer
from rushlight.distributed.tensor import Shard, distribute_module, full, init_device_mesh, zeros

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
apply_activation_checkpointing(model, check_fn=lambda module: isinstance(module, torch.nn.Linear))
state = model.state_dict()
print([*state], [type(module).__name__ for module in model])
model.load_state_dict(state)

model = torch.nn.parallel.DistributedDataParallel(model)
zero = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.1)
for step in range(3):
    torch.manual_seed(rank + step)
    zero.zero_grad()
    model(torch.randn(5, 4)).pow(2).sum().backward()
    zero.step()
zero.consolidate_state_dict(0)
told = [None]
if rank == 0:
    told = [zero.state_dict()]
    print([round(one["exp_avg"].sum().item(), 4) for one in told[0]["state"].values()])
else:
    try:
        zero.state_dict()
    except RuntimeError as error:
        print(error)
print(round(sum(p.sum().item() for p in model.parameters()), 4), len(zero.optim.state))
dist.broadcast_object_list(told, 0)
again = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.3)
again.load_state_dict(told[0])
print(again.optim.param_groups[0]["lr"], len(again.optim.state))

mesh = init_device_mesh("cpu", (2,))
rows = zeros(5, 3, device_mesh=mesh, placements=[Shard(0)])
columns = full((4, 2), 2.5, device_mesh=mesh, placements=[Shard(1)])
print(tuple(rows.shape), tuple(rows.to_local().shape), columns.to_local().flatten().tolist())
print(type(distribute_module(torch.nn.Linear(2, 2), mesh).weight).__name__)

scaler = ShardedGradScaler("cpu", init_scale=4.0)
param = torch.nn.Parameter(torch.ones(2))
sgd = torch.optim.SGD([param], lr=1.0)
scaler.scale((param * (float("inf") if rank == 1 else 1.0)).sum()).backward()
scaler.step(sgd)
scaler.update()
print(param.tolist(), scaler.get_scale())
dist.destroy_process_group()
